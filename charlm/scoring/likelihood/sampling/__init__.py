"""Text drawn from a model."""
