"""Cutting one cleaned text into contiguous blocks, and copying a block while counting it.

A block ends with the first line that reaches its share of the *bytes*. Blocks are contiguous
because neighbouring lines are often about the same thing: test lines drawn at random would have
their neighbours in the training set.
"""

import hashlib
import io
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import BinaryIO

from charlm.errors import ConfigError

SPLITS = ("train", "valid", "test")
SUMMARY = "corpus.json"  # beside them: how they were made
BLOCK_BYTES = 1 << 20
CONTINUATION_BYTES = bytes(range(0x80, 0xC0))  # all of a character's bytes in UTF-8 but the first


@dataclass(frozen=True)
class ByteRange:
    """The bytes of an open file from `start` to `end`."""

    file: BinaryIO
    start: int
    end: int

    def lines(self) -> Iterator[bytes]:
        """Its lines, without their ends."""
        self.file.seek(self.start)
        left = self.end - self.start
        while left > 0:
            line = self.file.readline()
            left -= len(line)
            yield line.rstrip(b"\n")


@dataclass(frozen=True)
class SplitCounts:
    """Lines, words, characters (blanks between words count, line ends do not) and SHA-256."""

    lines: int
    words: int
    characters: int
    sha256: str

    def to_dict(self) -> dict[str, int]:
        return {"lines": self.lines, "words": self.words, "characters": self.characters}


def parse_shares(text: str | Sequence[float], *, given: Collection[str] = ()) -> dict[str, float]:
    """The shares of train, valid and test, in any unit; that of a split in `given` may be 0.

    Raises:
        ConfigError: not three positive numbers between commas.
    """
    parts = text.split(",") if isinstance(text, str) else text
    try:
        shares = dict(zip(SPLITS, map(float, parts), strict=True))
    except ValueError:
        shares = dict.fromkeys(SPLITS, 0.0)
    are_shares = all(n > 0 or (n == 0 and split in given) for split, n in shares.items())
    if not (are_shares and sum(shares.values()) < float("inf")):
        raise ConfigError(
            f"split: found {text!r}; expected three positive shares of train, valid and test, "
            "such as 90,5,5; or give --valid and --test"
        )
    return shares


def whole(file: BinaryIO) -> ByteRange:
    """All that was written to a file."""
    return ByteRange(file, 0, file.seek(0, os.SEEK_END))


def cut(text: ByteRange, shares: Sequence[float]) -> list[ByteRange]:
    """Blocks, one a share, each but the last ending with the line that reaches its share.

    Each holds at least one line if there are as many lines as shares; otherwise some are empty.
    """
    reached = [share / sum(shares) for share in accumulate(shares[:-1])]
    latest = _last_lines(text, len(reached))
    edges = [text.start]
    for share, limit in zip(reached, latest, strict=True):
        wanted = text.start + round((text.end - text.start) * share)
        edges.append(max(edges[-1], min(_line_end(text, max(wanted, edges[-1] + 1)), limit)))
    return [ByteRange(text.file, start, end) for start, end in pairwise([*edges, text.end])]


def _line_end(text: ByteRange, position: int) -> int:
    """The end of the line that holds the byte before `position`."""
    text.file.seek(position - 1)
    text.file.readline()
    return min(text.file.tell(), text.end)


def _last_lines(text: ByteRange, n_lines: int) -> list[int]:
    """Where the last `n_lines` lines start; a text of fewer lines starts several times."""
    n_bytes = BLOCK_BYTES
    while True:
        start = max(text.start, text.end - n_bytes)
        text.file.seek(start)
        lines = io.BytesIO(text.file.read(text.end - start)).readlines()
        if start == text.start or len(lines) > n_lines:
            break
        n_bytes *= 2  # one of them is cut at its start
    return [text.end - sum(map(len, lines[-n:])) for n in range(n_lines, 0, -1)]


def copy_block(block: ByteRange, target: BinaryIO) -> SplitCounts:
    """Append a block of lines, with one blank between words, to `target`."""
    digest = hashlib.sha256()
    lines = blanks = characters = 0
    block.file.seek(block.start)
    left = block.end - block.start
    while left:
        piece = block.file.read(min(left, BLOCK_BYTES))
        left -= len(piece)
        target.write(piece)
        digest.update(piece)
        lines += piece.count(b"\n")
        blanks += piece.count(b" ")
        characters += len(piece.translate(None, CONTINUATION_BYTES))
    return SplitCounts(lines, lines + blanks, characters - lines, digest.hexdigest())


def shares_of_train(blocks: Mapping[str, ByteRange]) -> dict[str, float]:
    """The share of valid's and of test's words that stand in lines which train has, too.

    Lines are compared by 64-bit hashes: among 10⁸ lines two share one with probability 0.0003.
    """
    n_words = {split: _words_by_line(blocks[split]) for split in SPLITS[1:]}
    totals = {split: counts.total() for split, counts in n_words.items()}
    found = Counter[str]()
    for line in blocks[SPLITS[0]].lines():
        key = hash(line)
        for split, counts in n_words.items():
            found[split] += counts.pop(key, 0)
    return {split: found[split] / totals[split] for split in n_words}


def _words_by_line(block: ByteRange) -> Counter[int]:
    counts = Counter[int]()
    for line in block.lines():
        counts[hash(line)] += line.count(b" ") + 1
    return counts
