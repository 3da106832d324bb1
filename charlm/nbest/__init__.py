"""N-best lists and lattices: hypotheses with named features, whatever tool they came from.

Nothing here knows a model: a scorer is anything that gives sentences their log-probabilities.
"""
