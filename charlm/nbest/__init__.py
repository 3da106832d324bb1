"""n-best lists and lattices: hypotheses with named features, whatever tool they came from.

Knows no model: a scorer is anything that gives sentences their log-probabilities.
"""
