"""Which lines have been seen before, at 10 to 15 bytes a distinct line.

Lines are known by a 64-bit hash alone: among n distinct lines n²/2⁶⁵ are expected to be taken for
another one and dropped (0.0003 lines of 10⁸). Python's own set would take 100 bytes a line.
"""

from array import array
from hashlib import blake2b

N_TABLES = 256  # each grows on its own, so that old and new stand side by side for 1/256 only
FULL = 0.8
GROWTH = 1.5
FREE = 0  # no hash: 0 itself is stored as 1
TO_SLOT = 56  # the first 8 of the 64 bits choose the table, the rest the place in it


class SeenLines:
    """A set of 64-bit hashes: 256 tables with open addressing and linear probing."""

    def __init__(self) -> None:
        self._tables = [array("Q", bytes(8 * 16)) for _ in range(N_TABLES)]
        self._n_used = [0] * N_TABLES

    def add(self, line: bytes) -> bool:
        """Add `line`; whether it is new."""
        return self.add_hash(int.from_bytes(blake2b(line, digest_size=8).digest()))

    def add_hash(self, key: int) -> bool:
        """Add a 64-bit hash; whether it is new."""
        key = key or 1
        number = key >> TO_SLOT
        table = self._tables[number]
        if not _insert(table, key):
            return False
        self._n_used[number] += 1
        if self._n_used[number] > FULL * len(table):
            self._tables[number] = _grown(table)
        return True


def _insert(table: "array[int]", key: int) -> bool:
    size = len(table)
    place = key % size
    while (held := table[place]) != FREE:
        if held == key:
            return False
        place += 1
        if place == size:
            place = 0
    table[place] = key
    return True


def _grown(table: "array[int]") -> "array[int]":
    larger = array("Q", bytes(8 * int(GROWTH * len(table))))
    for key in table:
        if key != FREE:
            _insert(larger, key)
    return larger
