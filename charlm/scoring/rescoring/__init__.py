"""Lists and lattices through scorers and weights to the chosen hypotheses."""
