"""Models that follow the text that they read: its weights moved, its words remembered."""
