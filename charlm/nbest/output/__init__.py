"""Lists, and what was found in them, written."""
