"""The dashboard: what its pages read beyond the REST API, the sessions of browsers, and the static files."""
