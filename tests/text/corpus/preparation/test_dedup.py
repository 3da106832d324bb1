"""The set of lines seen so far, against Python's own set."""

import random

import pytest

from charlm.text.corpus.preparation.dedup import LEAST, N_PARTS, SHARE, SeenLines


def test_a_line_is_new_once() -> None:
    seen = SeenLines()
    lines = [b"a\n", b"b\n", b"a\n", b"", b"", b"c\n", b"b\n"]
    assert [seen.add(line) for line in lines] == [True, True, False, True, False, True, False]


@pytest.mark.parametrize("n_distinct", [50, 5_000, 100_000])
def test_it_tells_new_lines_from_old_ones_as_a_set_does(n_distinct: int) -> None:
    draw = random.Random(n_distinct)
    known: set[bytes] = set()
    seen = SeenLines()
    for number in draw.choices(range(n_distinct), k=2 * n_distinct):
        line = b"%d\n" % number
        assert seen.add(line) == (line not in known)
        known.add(line)
    n_sorted, n_latest = (sum(map(len, each)) for each in (seen._sorted, seen._latest))
    assert n_sorted + n_latest == len(known)
    assert n_latest <= N_PARTS * LEAST + n_sorted / SHARE  # 8 bytes there, 90 here
