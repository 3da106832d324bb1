"""Intervals from draws of sentences: against a slow loop, by hand, and their coverage."""

import math
from dataclasses import asdict

import numpy as np
import pytest

from charlm.nbest.metrics import resampling
from charlm.nbest.metrics.error_rates import Ints
from charlm.nbest.ranking.features import Floats
from charlm.scoring.evaluation.comparison.bootstrap import PairedBootstrap


def bootstrap(
    sums: Floats, n_tokens: Ints, *, samples: int, seed: int, block: int = 1
) -> PairedBootstrap:
    """Of sentences with these sums and so many tokens that count, and one more that does not."""
    sizes = n_tokens + 1
    ends = np.cumsum(sizes) - 1
    counts, is_end = np.ones((2, sizes.sum()), bool)
    counts[ends] = False
    is_end[:-1] = ~counts[:-1]
    log10_probs = np.repeat(np.where(n_tokens, sums / np.maximum(n_tokens, 1), sums), sizes, axis=1)
    asked = {"samples": samples, "seed": seed, "block": block}
    return PairedBootstrap(log10_probs, counts, is_end_N=is_end, **asked)


def slow_differences(
    sums: list[list[float]], n_tokens: list[int], *, samples: int, seed: int
) -> list[float]:
    """Differences of perplexities of two systems, one draw and one sentence at a time."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(samples):
        drawn = generator.integers(len(n_tokens), size=len(n_tokens)).tolist()
        tokens = sum(n_tokens[s] for s in drawn)
        ppls = [10 ** (-math.fsum(system[s] for s in drawn) / tokens) for system in sums]
        found.append(ppls[0] - ppls[1])
    return found


def slow_percentile(values: list[float], percent: float) -> float:
    """Between the two order statistics around it, linearly."""
    ordered = sorted(values)
    place = percent / 100 * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def test_a_block_of_sentences_is_drawn_as_one_sentence_of_all_their_tokens() -> None:
    generator = np.random.default_rng(5)
    n_tokens = generator.integers(1, 20, size=8)
    sums = -generator.uniform(1, 3, size=(2, 8)) * n_tokens
    drawn = bootstrap(sums, n_tokens, samples=100, seed=2, block=3)
    joined_sums, joined_n = (np.add.reduceat(each, [0, 3, 6], axis=-1) for each in (sums, n_tokens))
    joined = bootstrap(joined_sums, joined_n, samples=100, seed=2)
    one, other = asdict(drawn.difference(0, 1)), asdict(joined.difference(0, 1))
    assert one == pytest.approx(other, rel=1e-12)
    single = bootstrap(sums, n_tokens, samples=100, seed=2).difference(0, 1)
    assert one["low"] != pytest.approx(single.low)


@pytest.mark.parametrize("block", [1 << 22, 1, 40])
def test_an_interval_is_what_a_loop_over_draws_and_sentences_gives(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resampling, "BLOCK", block)
    generator = np.random.default_rng(3)
    n_tokens = generator.integers(1, 20, size=17)
    sums = -generator.uniform(1, 3, size=(3, 17)) * n_tokens
    drawn = bootstrap(sums, n_tokens, samples=101, seed=9)
    for first, second in ((0, 1), (2, 0)):
        differences = slow_differences(
            [sums[first].tolist(), sums[second].tolist()], n_tokens.tolist(), samples=101, seed=9
        )
        found = drawn.difference(first, second)
        means = -sums.sum(axis=1) / n_tokens.sum()
        assert found.ppl == pytest.approx(10 ** means[first] - 10 ** means[second])
        assert found.low == pytest.approx(slow_percentile(differences, 2.5))
        assert found.high == pytest.approx(slow_percentile(differences, 97.5))
        assert found.first_better == pytest.approx(np.mean([d < 0 for d in differences]))


def test_two_sentences_of_a_token_each_give_the_interval_that_can_be_worked_out() -> None:
    # The draws are AA (1/4), AB or BA (1/2) and BB (1/4): ppl 100 - 10, 10 - 10 and 1 - 10.
    sums = np.array([[-2.0, 0.0], [-1.0, -1.0]])
    drawn = bootstrap(sums, np.array([1, 1]), samples=4000, seed=1)
    found = drawn.difference(0, 1)
    assert (found.ppl, found.low, found.high) == pytest.approx((0, -9, 90))
    assert found.first_better == pytest.approx(1 / 4, abs=0.03)
    assert drawn.difference(1, 0).first_better == pytest.approx(1 / 4, abs=0.03)  # not ties


def test_95_of_100_intervals_hold_the_true_difference() -> None:
    generator = np.random.default_rng(2)
    n_texts, n_sentences, n_tokens = 300, 60, 5
    truth = 10**1.1 - 10**1.0  # for means of -1.1 and -1.0
    n_hits = 0
    for _ in range(n_texts):
        hard = generator.normal(0, 0.2, size=n_sentences)  # hard for both systems
        noise = generator.normal(0, 0.1, size=(2, n_sentences))
        sums = n_tokens * (np.array([[-1.1], [-1.0]]) + hard + noise)
        text = bootstrap(sums, np.full(n_sentences, n_tokens), samples=200, seed=1)
        found = text.difference(0, 1)
        assert found.low is not None and found.high is not None
        n_hits += found.low <= truth <= found.high
    assert 0.90 <= n_hits / n_texts <= 0.98


def test_a_system_does_not_differ_from_itself() -> None:
    sums = np.array([[-3.0, -1.0], [-3.0, -1.0]])
    found = bootstrap(sums, np.array([2, 1]), samples=100, seed=1).difference(0, 1)
    assert asdict(found) == {
        **{"ppl": 0, "low": 0, "high": 0},
        **{"ratio_low": 1, "ratio_high": 1, "first_better": 0},
    }


def test_a_system_that_differs_by_rounding_is_better_in_no_draw() -> None:
    sums, n_tokens = np.array([[-10.0, -20, -30]] * 2), np.array([4, 9, 16])
    sums[0] += 1e-12
    drawn = bootstrap(sums, n_tokens, samples=20, seed=1)
    assert (drawn.difference(0, 1).first_better, drawn.difference(1, 0).first_better) == (0, 0)


def test_a_system_that_halves_every_sentences_perplexity_halves_that_of_every_draw() -> None:
    second = np.array([-1.0, -3.0] * 10)
    sums = np.stack([second + math.log10(2), second])
    found = bootstrap(sums, np.ones(20, np.int64), samples=100, seed=1).difference(0, 1)
    assert (found.ratio_low, found.ratio_high) == pytest.approx((0.5, 0.5))
    assert found.low is not None and found.high is not None and found.low < 2 * found.high


def test_draws_without_a_token_of_the_part_leave_no_interval() -> None:
    sums = np.array([[-3.0, 0.0], [-1.0, 0.0]])
    found = bootstrap(sums, np.array([2, 0]), samples=100, seed=1).difference(0, 1)
    assert (found.ppl, found.low, found.high) == (None, None, None)
    assert found.first_better == 0
    # A quarter of the draws has no token, and none in which a system is the better one.
    other = bootstrap(sums[::-1], np.array([2, 0]), samples=100, seed=1).difference(0, 1)
    assert other.first_better == 1


@pytest.mark.parametrize(("first", "second", "better"), [(0, 1, 0.0), (1, 0, 1.0), (0, 0, 0.0)])
def test_a_perplexity_beyond_numbers_has_no_difference(
    first: int, second: int, better: float
) -> None:
    sums = np.array([[-4000.0, -4000.0], [-1.0, -1.0]])
    drawn = bootstrap(sums, np.array([1, 1]), samples=100, seed=1)
    found = drawn.difference(first, second)
    assert (found.ppl, found.low, found.high, found.first_better) == (None, None, None, better)


def test_a_draw_without_the_sentence_to_which_a_system_gives_nothing_is_a_draw() -> None:
    # Of the draws AA (1/4), AB or BA (1/2) and BB (1/4) the second is better in AA alone.
    sums = np.array([[-2.0, -2.0], [-1.0, -np.inf]])
    found = bootstrap(sums, np.array([1, 1]), samples=4000, seed=1).difference(0, 1)
    assert (found.ppl, found.low, found.high) == (None, None, None)
    assert found.first_better == pytest.approx(3 / 4, abs=0.03)
