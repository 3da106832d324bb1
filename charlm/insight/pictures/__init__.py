"""Pictures of runs, by name: each draws, and gives its numbers as a table.

A picture of one model is of the first run. One that a run cannot give raises ConfigError.
"""

from collections.abc import Callable

from charlm.errors import ConfigError
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


def draw(name: str, subject: Subject) -> Drawn:
    """The picture of that name, one of PICTURES.

    Raises:
        ConfigError: not of this run; no text where one is needed.
    """
    return PICTURES[name](subject)


def require_picture(name: str) -> None:
    """Raises ConfigError for a picture that does not exist."""
    if name not in PICTURES:
        raise ConfigError(f"--picture {name!r}: expected one of {', '.join(PICTURES)}")
