"""Perplexity by frequency band: where a character model wins against a word model and KN.

A line's points do not average to its perplexity; their logarithms do, by share of tokens.
"""

from charlm.insight.perplexity_bands import by_frequency
from charlm.insight.pictures.canvas import Drawn
from charlm.insight.pictures.lines import draw_bands
from charlm.insight.pictures.subject import Subject


def draw(subject: Subject) -> Drawn:
    """Of all runs with the first one's words, and Kneser–Ney."""
    reading = subject.reading
    return draw_bands(
        by_frequency(reading),
        systems=reading.systems,
        reading=reading,
        title="Perplexity by how frequent the predicted word is",
        xlabel="occurrences in the training text",
    )
