"""Perplexities of texts, mixtures of models, and the comparison with Kneser–Ney."""
