"""Shaping a distribution and drawing from it: hand-made distributions, counted draws."""

import math

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError
from charlm.scoring.likelihood.sampling.draw import Warper, draw_several, generator_of

FOUR = torch.tensor([[0.1, 0.2, 0.3, 0.4]])


def shares(**options: float) -> list[float]:
    """The distribution of four words, warped."""
    weights = Warper(**options).weights(FOUR.log())[0]  # type: ignore[arg-type]
    return (weights / weights.sum()).tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.1, 0.2, 0.3, 0.4]),
        ({"temperature": 0.5}, [1 / 30, 4 / 30, 9 / 30, 16 / 30]),
        ({"temperature": 1e-30}, [0, 0, 0, 1]),
        ({"temperature": 1e-45}, [0, 0, 0, 1]),  # beyond fp32
        ({"temperature": 5e-324}, [0, 0, 0, 1]),
        ({"temperature": 1e300, "no_unk": True}, [1 / 3, 0, 1 / 3, 1 / 3]),
        ({"temperature": 1e30}, [0.25, 0.25, 0.25, 0.25]),
        ({"top_k": 1}, [0, 0, 0, 1]),
        ({"top_k": 3}, [0, 2 / 9, 3 / 9, 4 / 9]),
        ({"top_k": 9}, [0.1, 0.2, 0.3, 0.4]),
        ({"top_p": 0.39}, [0, 0, 0, 1]),
        ({"top_p": 0.41}, [0, 0, 3 / 7, 4 / 7]),
        ({"top_p": 1e-9}, [0, 0, 0, 1]),
        ({"no_unk": True}, [1 / 8, 0, 3 / 8, 4 / 8]),
        ({"top_k": 3, "top_p": 0.75}, [0, 0, 3 / 7, 4 / 7]),  # of 2/9, 3/9, 4/9
        ({"temperature": 0.5, "top_p": 0.5}, [0, 0, 0, 1]),  # after the temperature 16/30
    ],
)
def test_a_distribution_is_warped_as_a_hand_calculation_warps_it(
    options: dict[str, float], expected: list[float]
) -> None:
    assert shares(**options) == pytest.approx(expected, abs=1e-6)


def test_shaping_leaves_the_log_probabilities_alone() -> None:
    log_probs = FOUR.log()
    Warper(temperature=2.0, top_k=2, top_p=0.5, no_unk=True).weights(log_probs)
    assert torch.equal(log_probs, FOUR.log())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "--temperature 0: expected a number above 0"),
        ({"temperature": -1.0}, "--temperature -1: expected a number above 0"),
        ({"temperature": math.nan}, "--temperature nan: expected a number above 0"),
        ({"top_p": 0.0}, "--top-p 0: expected more than 0 and at most 1"),
        ({"top_p": 1.5}, "--top-p 1.5: expected more than 0 and at most 1"),
        ({"top_p": math.nan}, "--top-p nan: expected more than 0 and at most 1"),
    ],
)
def test_a_number_out_of_its_range_is_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Warper(**options)  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize("n_words", [1, 2, 3, 7, 16, 17, 101])
def test_a_number_gives_the_word_whose_share_of_the_cumulative_sum_it_falls_into(
    n_words: int,
) -> None:
    rng = np.random.default_rng(n_words)
    weights = rng.random((50, n_words)).astype(np.float32) * (rng.random((50, n_words)) < 0.6)
    weights[:, rng.integers(n_words)] += 0.1  # no row of zeros
    numbers = np.concatenate([[0.0, 1 - 1e-16], rng.random(48)])
    found = draw_several(torch.from_numpy(weights), torch.from_numpy(numbers)[:, None])
    for row, number, (word,) in zip(weights.astype(float), numbers, found.tolist(), strict=True):
        sums = np.cumsum(row)
        slow = int(np.argmax(sums > number * sums[-1] * (1 - 1e-12)))
        assert word == slow
        assert row[word] > 0


def test_words_are_drawn_as_often_as_their_weights_say() -> None:
    numbers = (torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000
    words = draw_several(FOUR.expand(10_000, 4) * 7, numbers[:, None])
    assert torch.bincount(words[:, 0]).tolist() == [1000, 2000, 3000, 4000]


def test_each_row_of_a_seed_has_numbers_of_its_own() -> None:
    alone = generator_of(3, row=5).random()
    together = [generator_of(3, row=row).random() for row in (4, 5, 6)]
    assert together[1] == alone
    assert len({*together, generator_of(4, row=5).random()}) == 4
