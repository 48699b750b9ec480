"""The demo: stores a long conversation, restarts, and asks about it. Run it with `python -m memoranda.demo`."""
