"""Counts of n-grams in files, a line each: `the cat sat`, TAB, `12`.

SRILM's `ngram-count -write` writes and `-read` reads such files; Google's n-grams are alike. Orders
may be mixed, or have files of their own. Counts of n-grams that stand there more than once are
added up, so the files of a text's parts make the model of the whole.
"""

import hashlib
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from charlm.errors import DataError
from charlm.ngram.ngram_counts import CountArray, Counted, rows_of, words_of_rows
from charlm.ngram.word_ids import END, START, Ids, WordIds
from charlm.text.corpus.tokens import END_WORD, START_WORD, UNK_WORD
from charlm.text.io.files import display_name, packed_write
from charlm.text.io.lines import TEXT, LineRules, read_lines, split_words

COUNT = re.compile(r"[1-9]\d{0,14}", re.ASCII)  # float64 adds up such numbers exactly
GOOGLES = {"<S>": START_WORD, "</S>": END_WORD, "<UNK>": UNK_WORD}
BLOCK = 1 << 16  # n-grams that are written at once
WANTED = "expected an n-gram and how often it occurs, as `the cat 12`"


def read_counts(
    paths: Sequence[str | Path], word_ids: WordIds, *, order: int, rules: LineRules = TEXT
) -> tuple[list[Counted], str]:
    """The counts of n-grams of orders 1 to `order` in files, and a SHA-256 of the files' lines.

    Longer n-grams are passed over.

    Raises:
        DataError: a line that is none, no n-gram of the order, a mark in the middle of an n-gram,
            an n-gram whose parts are not listed, or occur less often, counts of no sentences.
    """
    tables = [(array("i"), array("q")) for _ in range(order)]
    for other, mark in GOOGLES.items():
        word_ids.setdefault(other, word_ids[mark])
    digest, lookup = hashlib.sha256(), word_ids.__getitem__
    for path in paths:
        for number, line in read_lines(path, rules=rules):
            digest.update(line.encode() + b"\n")
            fields = split_words(line)
            if not fields:
                continue
            *words, count = fields
            if not (words and COUNT.fullmatch(count)):
                raise DataError(f"{display_name(path)}:{number}: found {line!r:.60}; {WANTED}")
            if len(words) <= order:
                ids, counts = tables[len(words) - 1]
                ids.extend(map(lookup, words))
                counts.append(int(count))
    listing = _Listing(", ".join(map(display_name, paths)), tuple(word_ids.words))
    orders: list[Counted] = []
    while tables:  # an order's is let go when it has been sorted
        numbers, occurrences = map(np.asarray, tables.pop(0))
        orders.append(listing.counted(orders, ids=numbers, counts=occurrences))
        listing.require_frequent_parts(orders)
    listing.require_sentences(orders)
    return orders, digest.hexdigest()


@dataclass(frozen=True)
class _Listing:
    """What messages say of the files, and the words of their n-grams."""

    name: str
    words: tuple[str, ...]

    def counted(self, below: Sequence[Counted], *, ids: Ids, counts: CountArray) -> Counted:
        """The n-grams of the order above `below`, whose words stand one after another in `ids`."""
        n, n_words = len(below) + 1, len(self.words)
        ids = ids.reshape(-1, n)
        self._require_marks_outside(ids)
        if n == 1:
            unigrams = np.arange(n_words, dtype=np.int64)
            summed = np.bincount(ids[:, 0], counts, minlength=n_words).astype(np.int64)
            return Counted(unigrams, summed, np.empty(0, np.int32), unigrams == START)
        contexts = self._rows(below, ids, ids[:, :-1])
        keys = contexts * n_words + ids[:, -1]
        distinct, firsts, places = np.unique(keys, return_index=True, return_inverse=True)
        return Counted(
            keys=distinct,
            counts=np.bincount(places, counts, minlength=len(distinct)).astype(np.int64),
            suffixes=self._rows(below, ids, ids[:, 1:])[firsts].astype(np.int32),
            opens=ids[firsts, 0] == START,
        )

    def _rows(self, below: Sequence[Counted], ids: Ids, part: Ids) -> CountArray:
        """The indices of the n-grams' parts in the order below."""
        rows = rows_of(below, ids=part, n_words=len(self.words))
        if (rows < 0).any():
            first = int(np.argmax(rows < 0))
            raise DataError(
                f"{self.name}: {self._text(ids[first])!r} is listed and {self._text(part[first])!r}"
                " is not; expected the counts of all orders, as `ngram-count -write` has them"
            )
        return rows

    def _require_marks_outside(self, ids: Ids) -> None:
        is_inside = (ids[:, 1:] == START).any(axis=1) | (ids[:, :-1] == END).any(axis=1)
        if is_inside.any():
            raise DataError(
                f"{self.name}: found the n-gram {self._text(ids[int(np.argmax(is_inside))])!r}; "
                f"expected {START_WORD} at an n-gram's start alone, {END_WORD} at its end alone"
            )

    def require_sentences(self, orders: Sequence[Counted]) -> None:
        """Raise DataError if an order is empty, or no sentence begins or ends."""
        longest = sum(len(each) > 0 and each.counts.any() for each in orders)
        if longest < len(orders):
            found = f"n-grams of {longest} words at most" if longest else "no n-gram"
            advice = f"; say --order {longest}" if longest else ""
            raise DataError(f"{self.name}: found {found}; expected {len(orders)} words{advice}")
        begins = len(orders) == 1 or orders[1].opens.any()
        if not (begins and orders[0].counts[END]):
            mark, where = (END_WORD, "ends") if begins else (START_WORD, "begins")
            raise DataError(
                f"{self.name}: no n-gram {where} with {mark}; expected counts of sentences between "
                f"{START_WORD} and {END_WORD}, as `ngram-count -write` has them"
            )

    def require_frequent_parts(self, orders: Sequence[Counted]) -> None:
        """Raise DataError if an n-gram of the last order occurs more often than one of its parts.

        Pruning, which keeps what is frequent, would leave it without its context.
        """
        *below, grams = orders
        if not below:
            return
        counts_below = below[-1].counts
        if len(below) == 1:  # many lists of words have no `<s>`
            counts_below = np.where(below[0].opens, np.iinfo(np.int64).max, counts_below)
        for parts in (grams.keys // len(self.words), grams.suffixes):
            is_rare = counts_below[parts] < grams.counts
            if is_rare.any():
                row = int(np.argmax(is_rare))
                ngram, part = self._row_text(orders, row), self._row_text(below, int(parts[row]))
                raise DataError(
                    f"{self.name}: {ngram!r} occurs {grams.counts[row]} times and {part!r} "
                    f"{counts_below[parts[row]]}; expected the counts of a text, where an n-gram's "
                    "parts occur at least as often, not Kneser-Ney's counts of neighbours"
                )

    def _row_text(self, orders: Sequence[Counted], row: int) -> str:
        columns = words_of_rows(orders, slice(row, row + 1), n_words=len(self.words))
        return self._text(np.concatenate(columns))

    def _text(self, ids: Ids) -> str:
        return " ".join(self.words[number] for number in ids)


def write_counts(orders: Sequence[Counted], path: str | Path, *, words: Sequence[str]) -> None:
    """Write the n-grams that occur, order by order, atomically; packed by the suffix."""
    with packed_write(path, through_links=True) as file:
        for n in range(1, len(orders) + 1):
            for first in range(0, len(orders[n - 1]), BLOCK):
                block = _lines(orders[:n], words, slice(first, first + BLOCK))
                file.write("".join(block).encode())


def _lines(orders: Sequence[Counted], words: Sequence[str], rows: slice) -> Iterator[str]:
    columns = words_of_rows(orders, rows, n_words=len(words))
    counts = orders[-1].counts[rows].tolist()
    for ids, count in zip(np.column_stack(columns).tolist(), counts, strict=True):
        if count:
            yield f"{' '.join([words[number] for number in ids])}\t{count}\n"
