"""A table with one row for each word as it was written: its surprisal under one or several models.

A word's surprisal is the sum over its tokens, so that the words of a sentence and its end sum to
its log-probability, whatever the tokeniser did. An unknown word has the surprisal of `<unk>`, which
says nothing about the word: it is marked, and counted in a note.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from charlm.short_repr import ShortRepr

OWN = ("item", "position", "word", "tokens", "known", "length", "count", "zipf", "surprisal")
MEASURES = (*OWN[3:], "entropy")
HEARD = ("surprisal", "entropy")  # each model's own, though all read alike
NOT_BEFORE = ("tokens", "count")  # not told of the words before

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class WordUnderModel:
    """What a model makes of one written word; None where nothing was left of it, or is known."""

    tokens: tuple[str, ...]
    known: bool | None  # whether all its tokens are words of the vocabulary
    count: int | None  # in the training text, of its rarest token
    zipf: float | None  # log10 of its occurrences in a billion words, one added to every count
    surprisal: float | None  # bits
    entropy: float | None  # bits, of what was expected before its first token


@dataclass(frozen=True)
class SentenceUnderModel:
    """What a model makes of a sentence."""

    words: tuple[WordUnderModel, ...]
    end: float | None  # bits


@dataclass(frozen=True)
class ScoredItem:
    """A sentence under all models, in their order."""

    number: int  # from 1
    values: tuple[str | None, ...]  # of the user's columns
    words: tuple[str, ...]  # as they were written
    by_model: tuple[SentenceUnderModel, ...]


@dataclass(frozen=True)
class SurprisalTable(ShortRepr):
    """What `rows` gives, with a name for each column."""

    models: tuple[str, ...]
    columns: tuple[str, ...]  # the user's, as they are called here
    items: tuple[ScoredItem, ...]
    notes: tuple[str, ...]  # what to mind, in sentences
    read_alike: bool  # by all models: what they make of a word's spelling stands once
    has_entropy: bool
    n_previous: int

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*OWN[:1], *self.columns, *OWN[1:3], *(each[0] for each in self._measures()))

    def rows(self) -> Iterator[tuple[Cell, ...]]:
        """A row for each written word, in order; None: missing."""
        measures = self._measures()
        for item in self.items:
            for place, word in enumerate(item.words):
                values = (
                    _measure(item, place - back, name=name, model=model)
                    for _, name, model, back in measures
                )
                yield (item.number, *item.values, place + 1, word, *values)

    def _measures(self) -> list[tuple[str, str, int, int]]:
        """Name of a column, what it measures by which model, and how many words before."""
        found = []
        for back in range(self.n_previous + 1):
            before = f"_prev{back}" if back else ""
            for measure in MEASURES:
                if (measure == "entropy" and not self.has_entropy) or (
                    back and measure in NOT_BEFORE
                ):
                    continue
                is_shared = measure == "length" or (self.read_alike and measure not in HEARD)
                names = [""] if is_shared or len(self.models) == 1 else self.models
                for model, name in enumerate(names):
                    found.append((f"{measure}{name and f'_{name}'}{before}", measure, model, back))
        return found

    def to_dict(self) -> dict[str, object]:
        return {
            "models": list(self.models),
            "notes": list(self.notes),
            "columns": list(self.header),
            "rows": [list(row) for row in self.rows()],
            "ends": {
                name: [item.by_model[k].end for item in self.items]
                for k, name in enumerate(self.models)
            },
        }


def _measure(item: ScoredItem, place: int, *, name: str, model: int) -> Cell:
    if place < 0:
        return None
    if name == "length":
        return len(item.words[place])
    word = item.by_model[model].words[place]
    if name == "tokens":
        return len(word.tokens)
    value: Cell = getattr(word, name)
    return value
