"""Texts and tables word by word: one row for each word as it was written; and minimal pairs."""
