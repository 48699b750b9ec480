"""The routes, by the themes of the manager. Each converts the request, calls the manager, and converts the result."""
