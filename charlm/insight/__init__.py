"""Answers to pictures: what a trained model has learned about words.

Everything here looks at an encoder's taps; nothing changes a model.
"""
