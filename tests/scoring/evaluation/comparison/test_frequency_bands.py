"""Perplexity by how often a word occurs in the training text: bands and figures by hand."""

import math

import numpy as np
import pytest

from charlm.scoring.evaluation.comparison.frequency_bands import frequency_bands


def test_words_fall_into_bands_by_the_digits_of_their_count() -> None:
    #                 <unk> <s> </s>
    counts = np.array([7, 5, 5, 0, 1, 9, 10, 99, 100, 100_000, 99_999])
    log10s = np.zeros((1, 11))
    ids = np.array([*range(3, 11), 0, 2, 2], np.int32)
    found = frequency_bands(ids, train_counts_V=counts, log10_probs_KN=log10s)
    assert [(band.name, band.n_tokens) for band in found] == [
        ("</s>", 2),
        ("<unk>", 1),
        ("0", 1),
        ("1-9", 2),
        ("10-99", 2),
        ("100-999", 1),
        ("10000-99999", 1),
        ("100000-999999", 1),
    ]
    assert sum(band.share for band in found) == pytest.approx(1)


def test_a_band_has_the_perplexity_of_its_tokens_alone_under_each_system() -> None:
    counts = np.array([0, 0, 3, 2, 20])
    ids = np.array([3, 4, 3, 2], np.int32)
    log10s = np.array([[-1.0, -5.0, -2.0, -0.5], [-2.0, -4.0, -2.0, -0.25]])
    ends, rare, frequent = frequency_bands(ids, train_counts_V=counts, log10_probs_KN=log10s)
    assert ends.ppls == pytest.approx((10**0.5, 10**0.25))
    assert rare.ppls == pytest.approx((10**1.5, 10**2))
    assert frequent.ppls == pytest.approx((10**5, 10**4))
    assert (rare.name, rare.n_tokens, rare.share, rare.best) == ("1-9", 2, 0.5, rare.ppls[0])
    assert frequent.best == frequent.ppls[1]


def test_log_perplexities_of_bands_average_to_that_of_the_text() -> None:
    generator = np.random.default_rng(1)
    counts = generator.integers(0, 2000, size=50)
    ids = generator.integers(2, 50, size=400).astype(np.int32)
    log10s = -generator.exponential(2, size=(1, 400))
    found = frequency_bands(ids, train_counts_V=counts, log10_probs_KN=log10s)
    together = sum(band.share * math.log10(band.ppls[0] or 0) for band in found)
    assert together == pytest.approx(-log10s.mean())


def test_a_perplexity_beyond_numbers_is_none_and_never_the_best() -> None:
    log10s = np.array([[-4000.0], [-1.0]])
    (band,) = frequency_bands(
        np.array([3], np.int32), train_counts_V=np.array([0, 0, 0, 1]), log10_probs_KN=log10s
    )
    assert band.ppls == (None, pytest.approx(10))
    assert band.best == pytest.approx(10)
    (band,) = frequency_bands(
        np.array([3], np.int32), train_counts_V=np.array([0, 0, 0, 1]), log10_probs_KN=log10s[:1]
    )
    assert band.best is None
