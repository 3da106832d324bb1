"""Which lines have been seen before, at 10 to 15 bytes a distinct line.

Lines are known by a 64-bit hash alone: among n distinct lines n²/2⁶⁵ are expected to be taken for
another one and dropped (0.0003 lines of 10⁸). Python's own set would take 100 bytes a line.
"""

from array import array
from bisect import bisect_left
from hashlib import blake2b

N_PARTS = 256  # each is sorted on its own, so that a list of one part's hashes alone is made
LEAST = 64  # hashes in a set
SHARE = 16  # of the hashes in a part one may be in the set


class SeenLines:
    """A set of 64-bit hashes: most in sorted arrays, the latest in small sets."""

    def __init__(self) -> None:
        self._sorted = [array("Q") for _ in range(N_PARTS)]
        self._latest = [set[int]() for _ in range(N_PARTS)]

    def add(self, line: bytes) -> bool:
        """Add `line`; whether it is new."""
        key = int.from_bytes(blake2b(line, digest_size=8).digest())
        part = key % N_PARTS
        known, latest = self._sorted[part], self._latest[part]
        place = bisect_left(known, key)
        if key in latest or (place < len(known) and known[place] == key):
            return False
        latest.add(key)
        if len(latest) > LEAST + len(known) // SHARE:
            self._sorted[part] = array("Q", sorted([*known, *latest]))
            latest.clear()
        return True
