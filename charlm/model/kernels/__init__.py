"""Faster implementations of parts of a model, each for one kind of processor."""
