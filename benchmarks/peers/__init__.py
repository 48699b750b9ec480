"""The systems that are compared, each behind the same four methods."""
