"""Kneser–Ney against neural models: who is better, by how much, how surely, and on which words."""
