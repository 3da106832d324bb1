"""A table with one row per written word: its surprisal under one or several models.

A word's surprisal is the sum over its tokens, so that the words of a sentence and its end together
have its log-probability, whatever the tokeniser did. A word that a model does not know gets the
surprisal of `<unk>`, which is not the surprisal of any word: it is marked, and counted in a note.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from charlm.interface.short_repr import ShortRepr

OWN = ("item", "position", "word", "tokens", "known", "length", "count", "zipf", "surprisal")
MEASURES = (*OWN[3:], "entropy")
BY_MODEL = ("surprisal", "entropy")  # one column per model, even if all models read alike
NOT_BEFORE = ("tokens", "count")  # not repeated for the words before

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class WordUnderModel:
    """One model's values for a written word; None where the word left no token, or is unknown."""

    tokens: tuple[str, ...]
    known: bool | None  # whether all its tokens are in the vocabulary
    count: int | None  # in the training text, of its rarest token
    zipf: float | None  # log10 of occurrences per billion words, after adding 1 to every count
    surprisal: float | None  # bits
    entropy: float | None  # bits, of the distribution before its first token


@dataclass(frozen=True)
class SentenceUnderModel:
    """One model's values for a sentence."""

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
    """The table: `rows` yields its rows, `header` names its columns."""

    models: tuple[str, ...]
    columns: tuple[str, ...]  # the user's, by the names they have in the table
    items: tuple[ScoredItem, ...]
    notes: tuple[str, ...]  # remarks for the reader, in sentences
    read_alike: bool  # by all models: columns that depend on the words alone stand once
    has_entropy: bool
    n_previous: int

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*OWN[:1], *self.columns, *OWN[1:3], *(each[0] for each in self._measures()))

    def rows(self) -> Iterator[tuple[Cell, ...]]:
        """One row per written word, in order; None is a missing value."""
        measures = self._measures()
        for item in self.items:
            for place, word in enumerate(item.words):
                values = (
                    _measure(item, place - back, name=name, model=model)
                    for _, name, model, back in measures
                )
                yield (item.number, *item.values, place + 1, word, *values)

    def _measures(self) -> list[tuple[str, str, int, int]]:
        """For each column its name, its measure, its model, and how many words back it looks."""
        found = []
        for back in range(self.n_previous + 1):
            before = f"_prev{back}" if back else ""
            for measure in MEASURES:
                if (measure == "entropy" and not self.has_entropy) or (
                    back and measure in NOT_BEFORE
                ):
                    continue
                is_shared = measure == "length" or (self.read_alike and measure not in BY_MODEL)
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
        # The same for é and e with ´: both look alike, and the model reads them alike.
        return len(unicodedata.normalize("NFC", item.words[place]))
    word = item.by_model[model].words[place]
    if name == "tokens":
        return len(word.tokens)
    value: Cell = getattr(word, name)
    return value
