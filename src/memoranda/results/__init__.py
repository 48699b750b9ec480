"""What public methods return."""
