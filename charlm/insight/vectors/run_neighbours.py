"""Nearest words by cosine similarity, at any tap of a run's model, for words known or never seen.

The vectors of *forms* are compared: a word outside the vocabulary is read by its spelling, whatever
`oov_input` a model was trained with. Answers are words of the vocabulary.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.insight.vectors.inputs import OpenVectors, open_vectors
from charlm.insight.vectors.neighbourhood import Neighbour, Neighbourhood, asked_words
from charlm.insight.vectors.nn_options import VectorsOptions
from charlm.insight.vectors.taps import ReadWord, Vectors
from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.vocabulary import Inventory


def neighbours_in(
    opened: OpenVectors, words: str | Sequence[str], *, k: int = 10
) -> tuple[Neighbourhood, ...]:
    """As `neighbours`, in vectors that are open already."""
    vectors = opened.vectors
    readings = [opened.reader.read(word) for word in asked_words(words)]
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
    vectors: Vectors, words: Sequence[str], *, at: str | None = None
) -> npt.NDArray[np.float32]:
    """The vectors of `words` at a tap of the run's model, a row each.

    If a tap does not read spellings, a form outside the vocabulary has the vector of `<unk>`.
    """
    opened = open_vectors(VectorsOptions(at=at), vectors=vectors, directed=False).at_one_tap()
    readings = [opened.reader.read(word) for word in asked_words(words)]
    (tap,) = opened.taps
    return vectors.encoded(readings, taps=[tap])[tap].numpy()


def no_answers(readings: Sequence[ReadWord | None], inventory: Inventory) -> set[int]:
    """The ids of words that are no neighbours of these forms: they themselves, `</s>`, `<unk>`."""
    forms = [each.form for each in readings if each is not None]
    return {END, UNK, *(inventory.word_ids.get(form, UNK) for form in forms)}


def _at_tap(
    opened: OpenVectors, readings: list[ReadWord], *, tap: str, k: int
) -> list[tuple[Neighbour, ...] | None]:
    """The neighbours of each form at a tap, and None for a form that it cannot read."""
    vectors = opened.vectors
    asked = [each for each in readings if vectors.reads(each, tap=tap)]
    if not asked:
        return [None] * len(readings)
    nearest = opened.search(tap).nearest(
        vectors.encoded(asked, taps=[tap])[tap],
        k=k,
        left_out=[no_answers([each], vectors.run.inventory) for each in asked],
    )
    return [next(nearest) if vectors.reads(each, tap=tap) else None for each in readings]
