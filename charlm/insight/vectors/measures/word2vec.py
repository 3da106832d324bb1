"""Word vectors as word2vec's text format, which gensim's `load_word2vec_format` reads.

The first line has the number of words and the dimension; every further line a word and its numbers,
separated by blanks. `</s>` and `<unk>` come first, as word2vec itself writes `</s>`: row i is word
i of the vocabulary. The vectors are as in the model, not of length 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from charlm.errors import ConfigError
from charlm.insight.vectors.inputs import open_vectors
from charlm.insight.vectors.neighbourhood import asked_words
from charlm.insight.vectors.nn_options import WriteVectorsOptions
from charlm.insight.vectors.taps import ReadWord, Vectors
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords
from charlm.text.io.files import packed_write
from charlm.text.io.overwrite import refuse_overwrite
from charlm.text.io.paths import require_place

DIGITS = 9  # give back every fp32 number
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class WrittenVectors(JsonResult):
    """What a file of vectors holds."""

    file: str
    tap: str
    n_words: int
    dim: int


@keywords(WriteVectorsOptions)
@refuse_overwrite("path")
def write_vectors(options: WriteVectorsOptions) -> WrittenVectors:
    """Write the vectors of the vocabulary at one tap, or of `words` alone, known or spelled.

    Raises:
        ConfigError: as `neighbours`; several taps; a repeated word; a place that takes no file.
        DataError: a run that is not what was expected.
    """
    path = options.path
    require_place(path, option="--vectors")
    opened = open_vectors(options, directed=False).at_one_tap()
    vectors, (tap,) = opened.vectors, opened.taps
    if options.words:
        readings = [opened.reader.read(word) for word in asked_words(options.words)]
    else:
        words = enumerate(vectors.run.inventory.words)
        readings = [ReadWord(word, word, number, is_known=True) for number, word in words]
    _check(readings, vectors, tap=tap)
    dim = vectors.widths[tap]
    with packed_write(path, through_links=True) as file:
        file.write(f"{len(readings)} {dim}\n".encode())
        for first in range(0, len(readings), ROWS_AT_ONCE):
            part = readings[first : first + ROWS_AT_ONCE]
            vectors_NE = vectors.encoded(part, taps=[tap])[tap]
            for each, row in zip(part, vectors_NE.tolist(), strict=True):
                numbers = " ".join([f"{value:.{DIGITS}g}" for value in row])
                file.write(f"{each.form} {numbers}\n".encode(errors="backslashreplace"))
    return WrittenVectors(str(path), tap, len(readings), dim)


def _check(readings: Sequence[ReadWord], vectors: Vectors, *, tap: str) -> None:
    seen: set[str] = set()
    for each in readings:
        if each.form in seen:
            raise ConfigError(f"word {each.form!r}: found twice; expected each word once in a file")
        seen.add(each.form)
        if not vectors.reads(each, tap=tap):
            raise ConfigError(vectors.refusal(each, tap))
