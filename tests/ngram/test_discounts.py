"""Discounts by hand, and when there are none."""

import numpy as np
import pytest

from charlm.ngram.discounts import FALLBACK, discounts_of


def counts_of_counts(*sizes: int) -> np.ndarray:
    """So many counts of 1, of 2, …"""
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def test_the_discounts_are_those_of_the_formula() -> None:
    # Y = 8 / (8 + 2 · 4) = 1/2; 1 − 2 · Y · 4/8, 2 − 3 · Y · 2/4, 3 − 4 · Y · 1/2
    found = discounts_of(counts_of_counts(8, 4, 2, 1, 7))
    assert (found.values, found.are_fallback) == ((0.5, 1.25, 2.0), False)


def test_counts_of_zero_do_not_matter() -> None:
    counts = counts_of_counts(8, 4, 2, 1)
    assert discounts_of(np.concatenate([np.zeros(9, int), counts])) == discounts_of(counts)


def test_no_count_of_four_leaves_the_third_discount_whole() -> None:
    assert discounts_of(counts_of_counts(8, 4, 2)).values == (0.5, 1.25, 3.0)


@pytest.mark.parametrize(
    "sizes",
    [
        (0, 4, 2, 1),
        (8, 0, 2, 1),
        (8, 4, 0, 1),
        (),
    ],
)
def test_an_order_without_counts_of_1_2_and_3_takes_the_fallback(sizes: tuple[int, ...]) -> None:
    found = discounts_of(counts_of_counts(*sizes))
    assert (found.values, found.are_fallback) == (FALLBACK, True)


@pytest.mark.parametrize(
    "sizes",
    [
        (2, 1, 2, 1),  # Y = 1/2; the second is 2 − 3 · Y · 2 = −1
        (8, 4, 2, 7),  # Y = 1/2; the third is 3 − 4 · Y · 7/2 = −4
    ],
)
def test_an_order_with_a_discount_below_zero_takes_the_fallback(sizes: tuple[int, ...]) -> None:
    assert discounts_of(counts_of_counts(*sizes)).values == FALLBACK


def test_a_discount_of_zero_is_one() -> None:
    # Y = 1/2; the third is 3 − 4 · Y · 3/2 = 0
    assert discounts_of(counts_of_counts(8, 4, 2, 3)).values == (0.5, 1.25, 0.0)


def test_three_and_more_share_a_discount_and_zero_has_none() -> None:
    found = discounts_of(counts_of_counts(8, 4, 2, 1))
    assert found.of(np.array([0, 1, 2, 3, 4, 900])).tolist() == [0.0, 0.5, 1.25, 2.0, 2.0, 2.0]
