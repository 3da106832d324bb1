"""Files: packed or not, their lines, written whole or not at all, never over what is read."""
