"""Models that adapt to the text that they read: by moving weights, by remembering words."""
