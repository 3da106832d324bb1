"""Lattices: acyclic graphs of words that hold more hypotheses than any list could.

A lattice is read, expanded so that every node has one history, and returned as a list of its best
hypotheses or as a larger lattice. Nothing here depends on a model; see `histories`.
"""
