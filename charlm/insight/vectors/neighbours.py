"""Nearest words by cosine similarity, at any tap of a model, for words known or never seen.

What is compared are vectors of *forms*: a word outside the vocabulary is read by its spelling,
whatever `oov_input` a model was trained with. What comes out are words of the vocabulary alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.insight.vectors.inputs import OpenVectors, open_vectors
from charlm.insight.vectors.nn_options import NeighboursOptions, VectorsOptions
from charlm.insight.vectors.search import Neighbour
from charlm.insight.vectors.taps import Reader, ReadWord
from charlm.options import keywords
from charlm.run.stored_weights import LoadedRun
from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class Neighbourhood:
    """The words nearest to one form at one tap, the most similar first."""

    word: str  # as asked
    form: str  # as read: normalised
    is_known: bool  # whether the form is a word of the vocabulary
    tap: str
    nearest: tuple[Neighbour, ...]  # none where the tap cannot read the form

    def to_dict(self) -> dict[str, object]:
        return {
            "word": self.word,
            "form": self.form,
            "known": self.is_known,
            "at": self.tap,
            "nearest": [near._asdict() for near in self.nearest],
        }


@keywords(NeighboursOptions)
def neighbours(options: NeighboursOptions) -> tuple[Neighbourhood, ...]:
    """The `k` words of the vocabulary nearest to each of `words`; `</s>`, `<unk>`, itself left out.

    The model is else $CHARLM_MODEL, else the newest finished run under exp/. Of taps several stand
    in a list or between commas; the answers come tap by tap, each in the order of the words.

    Raises:
        ConfigError: no such tap, `k` < 1, what is not one word, or a word outside the vocabulary
            that cannot be read by its spelling: at no tap, or all its characters are unknown.
        DataError: a run that is not what was expected.
    """
    return neighbours_in(open_vectors(options), options.words, k=options.k)


def neighbours_in(
    opened: OpenVectors, words: str | Sequence[str], *, k: int = 10
) -> tuple[Neighbourhood, ...]:
    """As `neighbours`, in vectors that are open already."""
    vectors = opened.vectors
    readings = read_words(opened.reader, words)
    found = {tap: _at_tap(opened, readings, tap=tap, k=k) for tap in opened.taps}
    for row, reading in enumerate(readings):
        if all(hood[row] is None for hood in found.values()):
            raise ConfigError(vectors.refusal(reading, opened.taps[0]))
    return tuple(
        Neighbourhood(each.word, each.form, each.is_known, tap, nearest or ())
        for tap, hood in found.items()
        for each, nearest in zip(readings, hood, strict=True)
    )


def vectors_in(
    run: LoadedRun, words: Sequence[str], *, at: str | None = None
) -> npt.NDArray[np.float32]:
    """The vectors of `words` at a tap of the run's model, a row each.

    Where a tap does not read spellings, a form outside the vocabulary has the vector of `<unk>`.

    Raises:
        ConfigError: as `neighbours`.
    """
    opened = open_vectors(VectorsOptions(at=at), run=run, directed=False)
    readings = read_words(opened.reader, words)
    (tap,) = opened.taps
    return opened.vectors.encoded(readings, taps=[tap])[tap].numpy()


def read_words(reader: Reader, words: str | Sequence[str]) -> list[ReadWord]:
    """One or more words as forms.

    Raises:
        ConfigError: none, what is not one word, or what cannot be read.
    """
    asked = [words] if isinstance(words, str) else words
    if not asked:
        raise ConfigError("words: found none; expected at least one")
    return [reader.read(word) for word in asked]


def no_answers(readings: Sequence[ReadWord], inventory: Inventory) -> set[int]:
    """The ids of words that are no neighbours of these forms: they themselves, `</s>`, `<unk>`."""
    return {END, UNK, *(inventory.word_ids.get(each.form, UNK) for each in readings)}


def _at_tap(
    opened: OpenVectors, readings: list[ReadWord], *, tap: str, k: int
) -> list[tuple[Neighbour, ...] | None]:
    """The neighbours of each form at a tap, and None for a form that it cannot read."""
    vectors, inventory = opened.vectors, opened.vectors.run.inventory
    rows = [row for row, each in enumerate(readings) if vectors.reads(each, tap=tap)]
    result: list[tuple[Neighbour, ...] | None] = [None] * len(readings)
    if not rows:
        return result
    asked = [readings[row] for row in rows]
    nearest = opened.search(tap).nearest(
        vectors.encoded(asked, taps=[tap])[tap],
        k=k,
        left_out=[no_answers([each], inventory) for each in asked],
    )
    for row, found in zip(rows, nearest, strict=True):
        result[row] = found
    return result
