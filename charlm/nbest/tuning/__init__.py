"""Weights of features for lists with references."""
