"""Batches that are made ahead."""

from collections.abc import Iterator
from typing import Any

import pytest

from charlm.training.loop.loading import made_ahead


class Maker:
    """Makes numbers, and says how many it has made."""

    def __init__(self, n: int, *, broken: int = -1) -> None:
        self.n, self.broken, self.n_made = n, broken, 0

    def __iter__(self) -> Iterator[Any]:
        for number in range(self.n):
            if number == self.broken:
                raise ValueError("broken")
            self.n_made += 1
            yield number


@pytest.mark.parametrize("n", [0, 1, 5])
def test_they_are_the_same_ones_in_order(n: int) -> None:
    assert list(made_ahead(iter(Maker(n)))) == list(range(n))


def test_one_is_made_ahead_and_no_more() -> None:
    maker = Maker(5)
    batches = made_ahead(iter(maker))
    assert next(batches) == 0
    assert next(batches) == 1
    batches.close()  # waits for the thread
    assert maker.n_made == 3


def test_what_a_maker_raises_arrives_in_its_turn() -> None:
    batches = made_ahead(iter(Maker(5, broken=2)))
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(ValueError, match="broken"):
        next(batches)
