"""A model's probabilities of texts, sentences and trees, and sentences sampled from it."""
