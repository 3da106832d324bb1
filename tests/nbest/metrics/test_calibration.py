"""Normalised cross-entropy against a slow loop, and the table of reliability by hand."""

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest

from charlm.nbest.metrics.calibration import calibration, normalised_cross_entropy


def slow_nce(confidences: Sequence[float], correct: Sequence[bool]) -> float:
    """NIST's formula as sclite computes it, word by word."""
    n, n_right = len(correct), sum(correct)
    share = n_right / n
    entropy = -(n_right * math.log2(share) + (n - n_right) * math.log2(1 - share))
    total = 0.0
    for confidence, is_right in zip(confidences, correct, strict=True):
        kept = min(max(confidence, 0.0000001), 0.9999999)
        total += math.log2(kept) if is_right else math.log2(1 - kept)
    return (entropy + total) / entropy


@pytest.mark.parametrize("seed", range(5))
def test_nce_is_that_of_a_loop_over_the_words(seed: int) -> None:
    generator = np.random.default_rng(seed)
    confidences = generator.random(50).round(1)  # some are 0, some are 1
    correct = generator.random(50) < 0.7
    expected = slow_nce(confidences.tolist(), correct.tolist())
    assert normalised_cross_entropy(confidences, correct) == pytest.approx(expected)


def test_nce_by_hand() -> None:
    # Half are right: H = 4 bits. log2 of 1/2, 1/2, 1 - 1/2 and 1 - 3/4 are -1, -1, -1, -2.
    found = normalised_cross_entropy(
        np.array([0.5, 0.5, 0.5, 0.75]), np.array([True, True, False, False])
    )
    assert found == pytest.approx((4 - 5) / 4)


def test_the_share_of_right_words_as_every_confidence_has_the_nce_0_and_certainty_1() -> None:
    correct = np.array([True, True, True, False])
    assert normalised_cross_entropy(np.full(4, 0.75), correct) == pytest.approx(0.0)
    assert normalised_cross_entropy(correct.astype(float), correct) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("correct", [[], [True, True], [False]])
def test_there_is_no_nce_where_all_words_are_alike(correct: list[bool]) -> None:
    confidences = np.full(len(correct), 0.5)
    assert normalised_cross_entropy(confidences, np.array(correct, bool)) is None


def test_words_are_counted_by_how_sure_they_are() -> None:
    confidences = [np.array([0.1, 1.0]), np.array([]), np.array([0.95, 0.9, 0.5])]
    correct = [np.array([False, True]), np.array([], bool), np.array([True, False, True])]
    agreed = [np.array([False, True]), np.array([], bool), np.array([False, False, False])]
    found = calibration(confidences, correct, agreed=agreed)
    assert (found.n_words, found.n_correct, found.n_contested) == (5, 3, 4)
    assert found.mean == pytest.approx((0.1 + 1.0 + 0.95 + 0.9 + 0.5) / 5)
    rows = [(each.low, each.n_words, each.mean, each.correct) for each in found.bins]
    assert rows == [
        (0.0, 1, 0.1, 0.0),
        (0.3, 0, None, None),
        (0.5, 1, 0.5, 1.0),
        (0.7, 0, None, None),
        (0.9, 2, pytest.approx(0.925), 0.5),
        (0.99, 0, None, None),
        (1 - 1e-7, 1, 1.0, 1.0),
    ]
    assert found.nce == pytest.approx(
        slow_nce([0.1, 1.0, 0.95, 0.9, 0.5], [False, True, True, False, True])
    )
    assert found.nce_contested == pytest.approx(
        slow_nce([0.1, 0.95, 0.9, 0.5], [False, True, False, True])
    )
    assert json.loads(json.dumps(found.to_dict()))["bins"][0] == {
        "low": 0.0,
        "n_words": 1,
        "mean": 0.1,
        "correct": 0.0,
    }


def test_without_words_there_is_nothing_to_tell() -> None:
    found = calibration([], [], agreed=[])
    assert (found.n_words, found.mean, found.nce, found.nce_contested) == (0, None, None, None)
