"""Pieces of words, as models of subwords and recognisers of morphs mark them, and their words."""

import re
from collections.abc import Sequence
from typing import Literal

ReadAs = Literal["words", "pieces"]  # what models read where pieces are joined to words
# As subword-nmt (bei@@), OpenNMT (￭t) and sentencepiece (▁ein) mark them.
PIECE = re.compile(".+@@|.+\uffed|\uffed.+|\u2581.*")
BOUNDARIES = ("\u2581", "<w>")  # marks of where words begin or end; others join


def is_piece(word: str) -> bool:
    """Whether a word is marked as a piece of a word, or as its beginning."""
    return PIECE.fullmatch(word) is not None


def n_pieces(text: str) -> int:
    """How many words of a sentence are marked as pieces."""
    if "@@" in text or "\uffed" in text or "\u2581" in text:  # most have none of the marks
        return sum(map(is_piece, text.split(" ")))
    return 0


def without_mark(piece: str, mark: str) -> str:
    """The letters of a piece; a mark that stands alone is a word if it joins others."""
    if mark in BOUNDARIES:
        return piece.replace(mark, "")
    return piece.removeprefix(mark).removesuffix(mark) or piece


def joined(pieces: Sequence[str], mark: str) -> list[str]:
    """The words of a sentence in pieces; a sentence without the mark stays as it is.

    A mark at a piece's end joins it with the next (`bei@@ de`), at its start with the one before
    (`play ##ing`); both may be marked (`koulu+ +ssa`). `▁` and `<w>` stand between words instead.
    A mark that stands alone, such as a plus sign, is a word.
    """
    if not any(mark in piece for piece in pieces):
        return list(pieces)
    if mark in BOUNDARIES:
        return [word for word in "".join(pieces).replace(mark, " ").split(" ") if word]
    words: list[str] = []
    joins_next = False
    for piece in pieces:
        bare = without_mark(piece, mark)
        if words and (joins_next or (bare != piece and piece.startswith(mark))):
            words[-1] += bare
        else:
            words.append(bare)
        joins_next = bare != piece and piece.endswith(mark)
    return words
