"""The systems that are measured side by side, each behind the same four verbs."""
