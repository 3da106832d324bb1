"""Models that adapt to the text they read, by moving their weights or caching its words."""
