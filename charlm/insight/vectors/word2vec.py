"""Word vectors as word2vec's text format, which gensim's `load_word2vec_format` reads.

The first line is the number of words and of numbers a word; then a word and its numbers a line,
between blanks. `</s>` and `<unk>` stand first and second, as word2vec itself writes `</s>`: row i
is word i of the vocabulary. The vectors are as the model has them, not of length 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from charlm.errors import ConfigError
from charlm.insight.vectors.inputs import open_vectors
from charlm.insight.vectors.nn_options import WriteVectorsOptions
from charlm.insight.vectors.run_neighbours import read_words
from charlm.insight.vectors.taps import ReadWord, Vectors
from charlm.options import keywords
from charlm.text.io.files import atomic_write
from charlm.text.io.overwrite import keeps_inputs
from charlm.text.io.paths import require_place

DIGITS = 9  # give back every fp32 number
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class WrittenVectors:
    """What a file of vectors holds."""

    file: str
    tap: str
    n_words: int
    dim: int

    def to_dict(self) -> dict[str, object]:
        return {"file": self.file, "at": self.tap, "n_words": self.n_words, "dim": self.dim}


@keeps_inputs("path")
@keywords(WriteVectorsOptions)
def write_vectors(options: WriteVectorsOptions) -> WrittenVectors:
    """Write the vectors of the vocabulary at one tap, or of `words` alone, known or spelled.

    Raises:
        ConfigError: as `neighbours`; several taps; a word twice; a place that takes no file.
        DataError: a run that is not what was expected.
    """
    path = options.path
    require_place(path, option="--vectors")
    opened = open_vectors(options, directed=False)
    vectors = opened.vectors
    if len(opened.taps) != 1:
        found = len(opened.taps)
        raise ConfigError(f"at: found {found} taps; expected one, which a file of vectors has")
    (tap,) = opened.taps
    readings = read_words(opened.reader, options.words) if options.words else None
    _check(readings or [], vectors, tap=tap)
    n_words, dim = len(readings or vectors.run.inventory.words), vectors.widths[tap]
    with atomic_write(path, through_links=True) as file:
        file.write(f"{n_words} {dim}\n".encode())
        for forms, vectors_NE in _blocks(vectors, readings, tap=tap):
            for form, row in zip(forms, vectors_NE.tolist(), strict=True):
                numbers = " ".join([f"{value:.{DIGITS}g}" for value in row])
                file.write(f"{form} {numbers}\n".encode())
    return WrittenVectors(str(path), tap, n_words, dim)


def _check(readings: Sequence[ReadWord], vectors: Vectors, *, tap: str) -> None:
    seen: set[str] = set()
    for each in readings:
        if each.form in seen:
            raise ConfigError(f"word {each.form!r}: found twice; expected each word once in a file")
        seen.add(each.form)
        if not vectors.reads(each, tap=tap):
            raise ConfigError(vectors.refusal(each, tap))


def _blocks(
    vectors: Vectors, readings: Sequence[ReadWord] | None, *, tap: str
) -> Iterator[tuple[Sequence[str], Tensor]]:
    """Forms and their vectors: of these readings, or of the whole vocabulary."""
    words = vectors.run.inventory.words
    for first in range(0, len(words if readings is None else readings), ROWS_AT_ONCE):
        last = first + ROWS_AT_ONCE
        if readings is None:
            numbers = np.arange(first, min(last, len(words)))
            yield words[first:last], vectors.of_words(numbers, tap=tap)
        else:
            part = readings[first:last]
            yield [each.form for each in part], vectors.encoded(part, taps=[tap])[tap]
