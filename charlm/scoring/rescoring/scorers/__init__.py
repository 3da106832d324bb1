"""Scorers, which give hypotheses their features: charlm's models in all ways of reading."""
