"""Rescoring lists and lattices: scorers, weights, and the chosen hypotheses."""
