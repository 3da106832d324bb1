"""Pictures of runs, by name: each is drawn, and returns its numbers as a table.

A picture of a single model shows the first run. One that the run does not allow is a ConfigError.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain

from charlm.insight.pictures import (
    bands,
    curves,
    filter,
    gate,
    ngrams,
    sentences,
    transform,
    words,
)
from charlm.insight.pictures.canvas import Drawn
from charlm.insight.pictures.subject import Subject
from charlm.run.fonts import fonts_for

PICTURES: dict[str, Callable[[Subject], Drawn]] = {
    "ngrams": ngrams.draw,
    "words": words.draw,
    "filter": filter.draw,
    "transform": transform.draw,
    "gate": gate.draw,
    "curves": curves.draw,
    "bands": bands.draw_by_frequency,
    "positions": bands.draw_by_position,
    "sentences": sentences.draw,
}
OF_A_TEXT = ("bands", "positions", "sentences")  # the others look into the run alone


# What is written in a picture beside the names of the runs.
WORDS_OF: dict[str, Callable[[Subject], Iterable[str]]] = {
    "words": lambda subject: subject.words.words,
    "filter": lambda subject: subject.filter.substrings,
    "sentences": lambda subject: chain(sentences.text_of(subject), *subject.reading.sentences),
}


def draw(name: str, subject: Subject) -> Drawn:
    """The picture of that name, one of PICTURES.

    Raises:
        ConfigError: a picture that this run does not allow; no text if one is needed.
    """
    words = WORDS_OF[name](subject) if name in WORDS_OF else ()
    with fonts_for(chain(subject.names, words)) as lacking:
        drawn = PICTURES[name](subject)
    written = {c for row in drawn.rows for cell in row if isinstance(cell, str) for c in cell}
    written.update(sentences.text_of(subject) if name == "sentences" else "")
    return replace(drawn, lacking="".join(c for c in lacking if c in written))
