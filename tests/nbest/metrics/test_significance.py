"""Significance against all assignments of signs, and intervals draw by draw."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.special import bdtr

from charlm.nbest.hypotheses import NbestList
from charlm.nbest.metrics import resampling
from charlm.nbest.metrics.bleu import Bleu
from charlm.nbest.metrics.error_rates import Ints, Metric, WordErrorRate
from charlm.nbest.metrics.significance import Significance, compare, groups_of, sign_flip_p


def all_signs_p(differences: list[int]) -> float:
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    return sum(each >= observed for each in sums) / len(sums)


@pytest.mark.parametrize(
    "differences",
    [[], [0, 0], [2], [-1, -1, -1, -1, -1], [1, -1], [-3, 1, 0, -2, -2, 1, 0, -1, 4, -5, -1]],
)
def test_p_is_the_share_of_all_settings_of_signs(differences: list[int]) -> None:
    assert sign_flip_p(np.array(differences, np.int64)) == pytest.approx(all_signs_p(differences))


def test_p_of_100_000_lists_takes_no_square_of_time() -> None:
    differences = np.repeat([-1, 1], [50_400, 49_600])
    expected = 2 * bdtr(49_600, 100_000, 1 / 2)  # of the binomial distribution, both tails
    assert sign_flip_p(differences) == pytest.approx(expected, rel=1e-9)


def test_a_p_far_out_keeps_its_digits() -> None:
    differences = np.repeat([-1, 1], [180, 20])
    ways = sum(comb(200, n) for n in range(180, 201))
    assert sign_flip_p(differences) == pytest.approx(2 * ways / 2**200, rel=1e-12)


def test_a_p_is_exact_where_the_farthest_sums_are_too_rare_to_be_kept() -> None:
    differences = np.repeat([-1, 1, -2, 2], [380, 320, 360, 340])
    shares = np.ones(1)  # of sums -reach ... reach, one difference after another
    for size in np.abs(differences):
        apart = np.zeros(2 * size)
        shares = (np.append(shares, apart) + np.append(apart, shares)) / 2
    reach = len(shares) // 2
    is_as_far = np.abs(np.arange(-reach, reach + 1)) >= abs(differences.sum())
    assert sign_flip_p(differences) == pytest.approx(shares[is_as_far].sum(), rel=1e-9)


def counts(errors: Ints) -> Ints:
    zeros = np.zeros_like(errors)
    return np.stack([errors, zeros, zeros, zeros + 10], axis=1)


def lists_of(recordings: list[str]) -> list[NbestList]:
    return [NbestList(f"u{n}", (), recording=each) for n, each in enumerate(recordings)]


def compared(first: Ints, second: Ints, *, per_recording: int = 1) -> Significance:
    recordings = [f"r{number // per_recording}" for number in range(len(first))]
    return compare(
        counts(first), counts(second), metric=WordErrorRate(), lists=lists_of(recordings)
    )


def test_p_of_two_systems_adds_the_errors_of_every_kind_list_by_list() -> None:
    first = np.array([[1, 0, 0, 9], [0, 1, 2, 9], [2, 2, 0, 9], [0, 0, 0, 9], [1, 1, 1, 9]])
    second = np.array([[0, 1, 1, 9], [0, 0, 0, 9], [1, 0, 1, 9], [0, 1, 0, 9], [0, 0, 1, 9]])
    lists = lists_of(["", "", "", "", ""])
    result = compare(first, second, metric=WordErrorRate(), lists=lists)
    assert result.p == all_signs_p([1, -3, -2, 1, -2])
    assert result.difference == pytest.approx(-5 / 45)


def test_lists_of_one_recording_are_drawn_together() -> None:
    gains = np.repeat(np.random.default_rng(4).integers(0, 3, 40), 25)  # 25 lists alike each
    alone = compared(np.full(1000, 2), 2 - gains)
    together = compared(np.full(1000, 2), 2 - gains, per_recording=25)
    assert (together.unit, together.n_units) == ("recording", 40)
    assert (together.high - together.low) / (alone.high - alone.low) == pytest.approx(5, rel=0.2)


@pytest.mark.parametrize("metric", [WordErrorRate(), Bleu()], ids=["wer", "bleu"])
def test_lists_of_one_recording_have_one_sign(metric: Metric) -> None:
    good, bad = ([10, 10, n, n - 1, n - 2, n - 3, 10, 9, 8, 7] for n in (9, 5))
    rows = ([0, 1, 2, 10], [2, 1, 2, 10]) if isinstance(metric, WordErrorRate) else (good, bad)
    first, second = (np.tile(row, (60, 1)) for row in rows)
    lists = lists_of(["a", "b", "c", "d"] * 15)
    found = compare(first, second, metric=metric, lists=lists)
    assert found.p == pytest.approx(2 / 2**4, abs=0 if found.test == "exact" else 0.03)


@pytest.mark.parametrize("recordings", [["a"] * 4, [""] * 4, ["a", "a", "", "b"], [*"abcd"]])
def test_lists_are_drawn_where_recordings_keep_none_together(recordings: list[str]) -> None:
    assert groups_of(lists_of(recordings)) == (["u0", "u1", "u2", "u3"], "list")
    assert groups_of(lists_of(["a", "a", "b", "b"])) == (["a", "a", "b", "b"], "recording")


@pytest.mark.parametrize("block", [8, 22, 1 << 22])
def test_the_interval_is_that_of_each_draw_on_its_own(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(resampling, "BLOCK", block)  # numbers in memory at a time
    first, second = np.random.default_rng(5).integers(0, 1000, (2, 7))
    generator = np.random.default_rng(0)
    drawn = []
    for _ in range(1000):
        chosen = generator.integers(7, size=7)
        drawn.append((second[chosen].sum() - first[chosen].sum()) / 70)
    result = compared(first, second)
    assert [result.low, result.high] == pytest.approx(np.percentile(drawn, [2.5, 97.5]))


def test_two_systems_that_choose_alike_do_not_differ() -> None:
    result = compared(np.array([1, 2, 0]), np.array([1, 2, 0]))
    assert (result.difference, result.low, result.high, result.p) == (0.0, 0.0, 0.0, 1.0)
    alike = np.tile([10, 10, 8, 7, 6, 5, 10, 9, 8, 7], (3, 1))
    bleu = compare(alike, alike, metric=Bleu(), lists=lists_of(["a", "b", "c"]), samples=100)
    assert (bleu.difference, bleu.p) == (0.0, 1.0)


def test_the_observed_signs_count_among_the_random_ones() -> None:
    good, bad = (np.tile([10, 10, n, n - 1, n - 2, n - 3, 10, 9, 8, 7], (40, 1)) for n in (9, 5))
    lists = lists_of([f"r{number}" for number in range(40)])
    assert compare(bad, good, metric=Bleu(), lists=lists, samples=999).p == 1 / 1000


def test_p_of_bleu_comes_near_that_of_all_settings_of_signs() -> None:
    generator = np.random.default_rng(9)
    metric, lengths = Bleu(), np.full((7, 2), 10)
    totals = np.tile([10, 9, 8, 7], (7, 1))
    first, second = (
        np.hstack([lengths, generator.integers(low, 8, (7, 1)) - np.arange(4) + 1, totals])
        for low in (3, 4)
    )
    observed = abs(np.diff(metric.errors(np.stack([first.sum(0), second.sum(0)])))[0])
    as_far = 0
    for signs in product((False, True), repeat=7):
        swap = np.array(signs)[:, None]
        pair = [np.where(swap, second, first).sum(0), np.where(swap, first, second).sum(0)]
        as_far += abs(np.diff(metric.errors(np.stack(pair)))[0]) >= observed - 1e-12
    result = compare(first, second, metric=metric, lists=lists_of(list("abcdefg")), samples=4000)
    assert result.p == pytest.approx(as_far / 2**7, abs=0.03)
    assert result.test == "4000 random"
    assert result.difference == pytest.approx(
        metric.errors(second.sum(0)[None])[0] - metric.errors(first.sum(0)[None])[0]
    )
