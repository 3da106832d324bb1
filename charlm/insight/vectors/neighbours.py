"""Nearest words by cosine similarity, at any tap of a model, for words known or never seen.

What is compared are vectors of *forms*: a word outside the vocabulary is read by its spelling,
whatever `oov_input` a model was trained with. What comes out are words of the vocabulary alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.insight.vectors.cache import Tell
from charlm.insight.vectors.search import Neighbour, Search
from charlm.insight.vectors.taps import At, Reader, Reading, Vectors
from charlm.run.store import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import pick_device
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
        """As JSON."""
        return {
            "word": self.word,
            "form": self.form,
            "known": self.is_known,
            "at": self.tap,
            "nearest": [near._asdict() for near in self.nearest],
        }


def neighbours(
    words: str | Sequence[str],
    *,
    model: str | Path | None = None,
    k: int = 10,
    at: At = None,
    raw: bool = False,
    lower: bool = False,
    device: str = "auto",
    tell: Tell | None = None,
) -> tuple[Neighbourhood, ...]:
    """The `k` words of the vocabulary nearest to each of `words`; `</s>`, `<unk>`, itself left out.

    `model` is a run directory, else $CHARLM_MODEL, else the newest finished run under exp/.
    `at` names taps, several between commas: of the encoder, or `output`; `all` are all but gates,
    none is the encoder's last. The answers come tap by tap, each in the order of the words. The
    run's text normalisation is applied unless `raw`, and `lower` makes lower case of what is asked.

    Raises:
        ConfigError: no such tap, `k` < 1, what is not one word, or a word outside the vocabulary
            that cannot be read by its spelling: at no tap, or all its characters are unknown.
        DataError: a run that is not what was expected.
    """
    check_k(k)
    run = load_run(which_run(model), device=pick_device(device))
    return neighbours_in(run, words, k=k, at=at, raw=raw, lower=lower, tell=tell)


def neighbours_in(
    run: LoadedRun,
    words: str | Sequence[str],
    *,
    k: int = 10,
    at: At = None,
    raw: bool = False,
    lower: bool = False,
    tell: Tell | None = None,
) -> tuple[Neighbourhood, ...]:
    """As `neighbours`, in a run that is loaded already."""
    check_k(k)
    readings = read_words(Reader(run, raw=raw, lower=lower), words)
    vectors = Vectors(run)
    taps = vectors.taps(at, directed=True)
    found = {tap: _at_tap(vectors, readings, tap=tap, k=k, tell=tell) for tap in taps}
    for row, reading in enumerate(readings):
        if all(hood[row] is None for hood in found.values()):
            raise ConfigError(vectors.refusal(reading, taps[0]))
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
    readings = read_words(Reader(run), words)
    vectors = Vectors(run)
    (tap,) = vectors.taps(at)
    return vectors.encoded(readings, taps=[tap])[tap].numpy()


def read_words(reader: Reader, words: str | Sequence[str]) -> list[Reading]:
    """One or more words as forms.

    Raises:
        ConfigError: none, what is not one word, or what cannot be read.
    """
    asked = [words] if isinstance(words, str) else words
    if not asked:
        raise ConfigError("words: found none; expected at least one")
    return [reader.read(word) for word in asked]


def check_k(k: int) -> None:
    """Raises ConfigError for a number of neighbours that is none."""
    if k < 1:
        raise ConfigError(f"k: found {k}; expected 1 or more")


def no_answers(readings: Sequence[Reading], inventory: Inventory) -> set[int]:
    """The ids of words that are no neighbours of these forms: they themselves, `</s>`, `<unk>`."""
    return {END, UNK, *(inventory.word_ids.get(each.form, UNK) for each in readings)}


def _at_tap(
    vectors: Vectors, readings: list[Reading], *, tap: str, k: int, tell: Tell | None
) -> list[tuple[Neighbour, ...] | None]:
    """The neighbours of each form at a tap, and None for a form that it cannot read."""
    inventory = vectors.run.inventory
    rows = [row for row, each in enumerate(readings) if vectors.reads(each, tap=tap)]
    result: list[tuple[Neighbour, ...] | None] = [None] * len(readings)
    if not rows:
        return result
    asked = [readings[row] for row in rows]
    nearest = Search(vectors, tap, tell=tell).nearest(
        vectors.encoded(asked, taps=[tap])[tap],
        k=k,
        left_out=[no_answers([each], inventory) for each in asked],
    )
    for row, found in zip(rows, nearest, strict=True):
        result[row] = found
    return result
