"""Lattices: acyclic graphs of words that hold more hypotheses than any list could.

A lattice is read, expanded so that every node has one history, and given back as a list of its best
hypotheses or as a larger lattice. Knows no model: see `histories`.
"""
