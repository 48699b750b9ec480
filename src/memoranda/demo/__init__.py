"""A long conversation, a restart, and a dozen questions: `python -m memoranda.demo`."""
