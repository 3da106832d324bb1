"""Perplexity by position in the sentence: what a model that carries its state has at the start.

Kneser–Ney knows nothing before the first word, nor does the first run where it reads every sentence
on its own; with its state carried, it remembers the sentence before.
"""

from charlm.insight.perplexity_bands import by_position, position_systems
from charlm.insight.pictures.canvas import Drawn
from charlm.insight.pictures.lines import draw_bands
from charlm.insight.pictures.subject import Subject
from charlm.text.corpus.tokens import END_WORD


def draw(subject: Subject) -> Drawn:
    """Of all runs with the first one's words, the first also by sentence, and Kneser–Ney."""
    reading = subject.reading
    return draw_bands(
        by_position(reading),
        systems=position_systems(reading),
        reading=reading,
        title="Perplexity by position in the sentence",
        xlabel="position of the predicted word",
        hidden=END_WORD,
    )
