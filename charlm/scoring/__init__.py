"""Probabilities to answers: evaluation of texts, with state carried or sentence by sentence."""
