"""The routes, one file per resource. Each converts the request, calls the manager, and converts the result."""
