"""Writing ARPA files: log10, TAB after the probability and before the back-off, blanks in between.

Numbers have seven decimals, so none is off by more than 5e-8. They are assembled from tables of
digits: formatting them one by one would take longer than the estimation.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.errors import DataError
from charlm.ngram.backoff import BackoffModel, Log10s
from charlm.ngram.ngram_options import Start
from charlm.ngram.word_ids import START
from charlm.text.corpus.tokens import CAPITAL_UNK
from charlm.text.io.files import packed_write

STARTS: dict[str, float] = {"lmplz": 0.0, "srilm": -np.inf}  # how they write the log10 of p(<s>)

LOG10_ZERO = -99.0  # how ARPA writes the logarithm of 0
BLOCK = 1 << 13  # n-grams formatted at once: more would leave the processor's cache
DECIMALS = 7
LEAST = 10.0**-DECIMALS / 2  # what is nearer to 0 is written as 0
# KenLM's reader cuts words here, too; charlm cuts at space and TAB alone.
BLANKS = " \t\n\r\v\f\0"

Pieces = npt.NDArray[np.object_]


def write_arpa(model: BackoffModel, path: str | Path, *, start: Start = "lmplz") -> None:
    """Write a model, atomically; gz, bz2 or xz by the suffix.

    Raises:
        DataError: a word that ARPA cannot hold.
    """
    require_arpa_words(model.words, source=model.source)
    with packed_write(path, through_links=True) as file:
        file.writelines(arpa_blocks(model, start=start))


def arpa_bytes(model: BackoffModel) -> int:
    """The length of a model's ARPA file, not compressed."""
    return sum(map(len, arpa_blocks(model)))


def arpa_blocks(model: BackoffModel, *, start: Start = "lmplz") -> Iterator[bytes]:
    """The content of the file, piece by piece; the words are not checked."""
    sizes = "".join(f"ngram {n}={len(grams)}\n" for n, grams in enumerate(model.orders, 1))
    yield f"\\data\\\n{sizes}".encode()
    words = [word.encode() for word in model.words]
    first_texts = np.array([b"\t" + word for word in words], dtype=object)
    texts = np.array([b" " + word for word in words], dtype=object)
    for n in range(1, model.order + 1):
        yield f"\n\\{n}-grams:\n".encode()
        for first in range(0, len(model.orders[n - 1]), BLOCK):
            rows = slice(first, first + BLOCK)
            yield _lines(model, (first_texts, texts), n=n, rows=rows, start=start)
    yield b"\n\\end\\\n"


def require_arpa_words(words: Sequence[str], *, source: str) -> None:
    """Refuse words that readers of ARPA would cut, or take for others.

    Raises:
        DataError: such a word; `source` is the text or the model that has it.
    """
    for word in words:
        if not word or any(blank in word for blank in BLANKS):
            raise DataError(
                f"{source}: word {word!r} holds white space or nothing, and ARPA files part words "
                "there; expected words without; clean the text with `charlm prep`"
            )
    if CAPITAL_UNK in words:
        raise DataError(capital_unk(source))


def capital_unk(where: str) -> str:
    """The message about a word that an ARPA file cannot list beside `<unk>`."""
    return (
        f"{where}: word {CAPITAL_UNK!r}, which readers of ARPA take for <unk>; expected another "
        f"word; rename it, as `sed 's/{CAPITAL_UNK}/<unk>/g'` does"
    )


def _lines(
    model: BackoffModel, texts: tuple[Pieces, Pieces], *, n: int, rows: slice, start: Start
) -> bytes:
    first_texts, further_texts = texts
    grams = model.orders[n - 1]
    log10_probs = grams.log10_probs[rows]
    if n == 1 and rows.start == 0:
        log10_probs = log10_probs.copy()
        log10_probs[START] = STARTS[start]
    columns = _number_pieces(log10_probs)
    first, *further = model.ngram_words(n, rows)
    columns += [first_texts[first], *(further_texts[word_ids] for word_ids in further)]
    if n < model.order:
        columns += [b"\t", *_number_pieces(grams.log10_backoffs[rows])]
    columns.append(b"\n")
    table = np.empty((len(log10_probs), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        table[:, place] = column
    return b"".join(table.ravel().tolist())


def _digits(n_digits: int) -> Pieces:
    return np.array([f"{i:0{n_digits}d}".encode() for i in range(10**n_digits)], dtype=object)


# -0. to -99., then 0. to 99.; four and three decimals behind the point.
HEADS = np.array([f"{sign}{i}.".encode() for sign in ("-", "") for i in range(100)], dtype=object)
FOUR, THREE = _digits(4), _digits(3)


def _number_pieces(values: Log10s) -> list[Pieces | bytes]:
    """Each value as three pieces that make `-1.2345678` together; 0 is `0`, −inf is `-99`."""
    is_large = values >= len(HEADS) // 2 - 1  # or would be, rounded
    is_zero = np.abs(values) < LEAST
    is_small = values <= LOG10_ZERO
    scaled = np.rint(np.abs(np.where(is_small | is_large, 0.0, values)) * 10**DECIMALS).astype(
        np.int64
    )
    whole, rest = np.divmod(scaled, 10**DECIMALS)
    heads = HEADS[whole + 100 * (values > 0)]
    four, three = FOUR[rest // 1000], THREE[rest % 1000]
    for pieces, zero, small in ((heads, b"0", b"-99"), (four, b"", b""), (three, b"", b"")):
        pieces[is_zero] = zero
        pieces[is_small] = small
        pieces[is_large] = b""
    heads[is_large] = [b"%.*f" % (DECIMALS, value) for value in values[is_large].tolist()]
    return [heads, four, three]
