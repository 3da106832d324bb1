"""The set of lines seen so far, against Python's own set."""

import random

import pytest

from charlm.text.corpus.dedup import N_TABLES, SeenLines


def test_a_line_is_new_once() -> None:
    seen = SeenLines()
    lines = [b"a\n", b"b\n", b"a\n", b"", b"", b"c\n", b"b\n"]
    assert [seen.add(line) for line in lines] == [True, True, False, True, False, True, False]


@pytest.mark.parametrize("n_distinct", [50, 5_000, 100_000])
def test_it_tells_new_hashes_from_old_ones_as_a_set_does(n_distinct: int) -> None:
    draw = random.Random(n_distinct)
    pool = [draw.getrandbits(64) for _ in range(n_distinct)]
    known: set[int] = set()
    seen = SeenLines()
    for key in draw.choices(pool, k=2 * n_distinct):
        assert seen.add_hash(key) == (key not in known)
        known.add(key)


def test_hashes_that_want_the_same_place_are_told_apart() -> None:
    seen = SeenLines()
    keys = [5 + 16 * 24 * 36 * n for n in range(200)]  # all in the first table
    assert all(seen.add_hash(key) for key in keys)
    assert not any(seen.add_hash(key) for key in keys)


def test_the_hash_0_is_a_hash_like_others() -> None:
    seen = SeenLines()
    assert [seen.add_hash(0), seen.add_hash(0)] == [True, False]


def test_a_distinct_line_costs_at_most_16_bytes() -> None:
    draw = random.Random(1)
    seen = SeenLines()
    for n_lines in range(1, 100_001):
        seen.add_hash(draw.getrandbits(64))
        if n_lines % 20_000 == 0:
            n_places = sum(len(table) for table in seen._tables)
            assert 8 * n_places <= 16 * n_lines + 8 * 16 * N_TABLES
