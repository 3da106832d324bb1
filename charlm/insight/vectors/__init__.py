"""Vectors of words and of any spelling: neighbours, analogies, similarity, files of vectors."""
