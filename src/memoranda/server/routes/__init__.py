"""The routes, one file a resource. Each translates, calls the manager, and translates back."""
