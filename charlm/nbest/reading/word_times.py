"""The times of a hypothesis' words, out of those of the pieces that its source has.

Pieces and words are matched by their letters, never by their number, so that marks, punctuation
and pieces that were joined cannot shift a time to another word.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from charlm.errors import DataError
from charlm.text.corpus.tokens import END_WORD, START_WORD

FRAME_SHIFT = 0.01  # seconds; what Kaldi takes if not told otherwise, and SRILM always
MARKS = ("", START_WORD, END_WORD)  # what words do not hold


class Span(NamedTuple):
    """When something was said, in seconds from where its source counts."""

    start: float
    end: float


Timed = tuple[str, Span | None]  # a piece of text; None: said at no time of its own, as a comma


def aligned(words: Sequence[str], timed: Iterable[Timed], *, place: str) -> list[Span]:
    """The time of each word: from the start of its first piece to the end of its last.

    Raises:
        DataError: pieces that do not make up these words, or a word without any time.
    """
    pieces = [each for each in timed if each[0] not in MARKS]
    spans, at = [], 0
    for word in words:
        begin, text = at, ""
        while at < len(pieces) and len(text) < len(word):
            text += pieces[at][0]
            at += 1
        found = [span for _, span in pieces[begin:at] if span is not None]
        if text != word or not found:
            raise _misaligned(f"found {text!r:.40} for the word {word!r:.40}", place)
        spans.append(Span(found[0].start, found[-1].end))
    if at < len(pieces):
        raise _misaligned(f"found {pieces[at][0]!r:.40} after the last word", place)
    return spans


def _misaligned(found: str, place: str) -> DataError:
    return DataError(
        f"{place}: times of words: {found}; expected one for each word of the text, in its order"
    )
