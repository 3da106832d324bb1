"""EM weights against grids, against a bound that proves them, and against compute-best-mix."""

import itertools
import math
import re
import tracemalloc
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from charlm.scoring.evaluation.em_weights import em_weights, mixed_log10

Log10s = npt.NDArray[np.float64]


def streams(n_streams: int, *, n_tokens: int = 400, seed: int = 1) -> Log10s:
    """log10 probabilities of models each of which is the best of all at some tokens."""
    scales_K1 = np.linspace(0.6, 0.8, n_streams)[:, None]
    return -np.random.default_rng(seed).gamma(2.0, scales_K1, (n_streams, n_tokens))


def log_likelihood(log10_probs_KN: Log10s, weights: npt.ArrayLike) -> float:
    """Of a text in nats, straight from the definition."""
    return float(np.log(np.asarray(weights) @ 10.0**log10_probs_KN).sum())


def test_the_weights_are_those_of_a_calculation_by_hand() -> None:
    # λ/2 + (1−λ)/4 = (1+λ)/4 once, (1−λ)/2 + λ/4 = (2−λ)/4 three times:
    # 1/(1+λ) = 3/(2−λ), which is at its best at λ = −1/4, outside: the other has everything.
    log10s = np.log10([[0.5, 0.25, 0.25, 0.25], [0.25, 0.5, 0.5, 0.5]])
    assert em_weights(log10s).weights == pytest.approx([0.0, 1.0], abs=1e-4)
    # With probabilities 1 and 0: λ·(1−λ)³ is at its best at λ = 1/4.
    with np.errstate(divide="ignore"):
        log10s = np.log10([[1.0, 0, 0, 0], [0, 1, 1, 1]])
    assert em_weights(log10s).weights == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("n_streams", [1, 2, 3, 7])
def test_the_likelihood_is_its_maximum_by_the_bound_of_concave_functions(n_streams: int) -> None:
    log10s = streams(n_streams, seed=n_streams)
    weights = em_weights(log10s).weights
    # No weights are better by more than the largest derivative towards a corner.
    probs = 10.0**log10s
    gains = (probs / (weights @ probs)).mean(axis=1) - 1
    assert gains.max() < 1e-7
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert (weights >= 0).all()


def best_share(log10_probs_2N: Log10s) -> float:
    """The weight of the first of two streams, by thirds of where it must lie."""
    low, high = 0.0, 1.0
    for _ in range(80):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        likelihoods = [log_likelihood(log10_probs_2N, (x, 1 - x)) for x in (left, right)]
        low, high = (low, right) if likelihoods[0] > likelihoods[1] else (left, high)
    return (low + high) / 2


@pytest.mark.parametrize(("spread", "lag"), [(0.03, 0.0), (0.03, 5e-4), (0.001, 1e-4), (1.0, 0.0)])
def test_streams_that_are_much_alike_get_the_best_weights_as_well(
    spread: float, lag: float
) -> None:
    """As n-gram models of orders 5 and 6 are: EM alone is not there after 1,000 iterations."""
    generator = np.random.default_rng(5)
    first_N = streams(1, n_tokens=2000)[0] - 0.2
    log10s = np.stack([first_N, first_N + generator.normal(-lag, spread, first_N.shape)])
    found = em_weights(log10s)
    assert found.weights[0] == pytest.approx(best_share(log10s), abs=1e-4)
    assert found.n_iterations < 100


def test_no_iteration_lowers_the_likelihood() -> None:
    log10s = streams(4, seed=4)
    likelihoods = [
        log_likelihood(log10s, em_weights(log10s, max_iterations=n).weights) for n in range(30)
    ]
    assert likelihoods[0] == pytest.approx(log_likelihood(log10s, [0.25] * 4))
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(likelihoods))
    assert likelihoods[-1] > likelihoods[0] + 1


def test_it_stops_when_it_is_told_to() -> None:
    assert em_weights(streams(2), max_iterations=3).n_iterations == 3
    assert em_weights(streams(2), tolerance=1.0).n_iterations == 0  # no weights gain so much


def test_a_token_that_nobody_gives_anything_is_left_out() -> None:
    log10s = streams(2)
    with_zeros = np.concatenate([log10s, np.full((2, 5), -np.inf)], axis=1)
    found = em_weights(with_zeros)
    assert found.n_left_out == 5
    assert found.weights == pytest.approx(em_weights(log10s).weights)


def test_a_text_that_nobody_gives_anything_leaves_the_weights_as_they_were() -> None:
    found = em_weights(np.full((4, 3), -np.inf))
    assert (found.weights.tolist(), found.n_iterations, found.n_left_out) == ([0.25] * 4, 0, 3)


def test_probabilities_below_every_number_neither_overflow_nor_vanish() -> None:
    log10s = np.array([[-400.0, -400.0, -900.0], [-401.0, -399.0, -np.inf]])
    shifted = np.array([[-1.0, -1.0, -1.0], [-2.0, 0.0, -np.inf]])
    assert em_weights(log10s).weights == pytest.approx(em_weights(shifted).weights)
    mixed = mixed_log10(log10s, [0.5, 0.5])
    # The means of 1 and 1/10, and of 1 and 10, over the first.
    assert mixed == pytest.approx([-400 + math.log10(0.55), -400 + math.log10(5.5), -900.30103])


def test_weights_and_a_mixture_take_little_more_than_their_probabilities() -> None:
    log10_probs_KN = streams(10, n_tokens=20_000)
    tracemalloc.start()
    mixed_log10(log10_probs_KN, em_weights(log10_probs_KN).weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2.5 * log10_probs_KN.nbytes


def test_a_mixture_is_the_weighted_sum_of_probabilities() -> None:
    log10s = np.log10([[0.5, 0.1], [0.25, 0.2]])
    assert 10.0 ** mixed_log10(log10s, [0.2, 0.8]) == pytest.approx([0.3, 0.18])


def test_a_stream_without_a_weight_has_no_say() -> None:
    log10s = np.array([[-1.0, -np.inf, -0.1], [-2.0, -3.0, -np.inf]])
    assert mixed_log10(log10s, [1.0, 0.0]).tolist() == [-1.0, -np.inf, -0.1]
    assert mixed_log10(log10s, [0.0, 1.0]).tolist() == [-2.0, -3.0, -np.inf]


# The rule of SRILM's compute-best-mix, which reads by field number and knows no layout.


def fields_of(path: Path) -> list[float]:
    """Field 10 of each line whose first field is `p(`; −320 stands for the logarithm of 0."""
    log10s = []
    for line in path.read_text().split("\n"):
        fields = re.split("[ \t]+", line.strip(" \t"))
        if fields[0] == "p(":
            log10s.append(-320.0 if re.search(r"\[ -inf", line) else float(fields[9]))
    return log10s


def best_mix(paths: list[Path], *, precision: float) -> tuple[list[float], float]:
    """Its weights, and the perplexity that it tells with the last iteration."""
    samples = list(zip(*map(fields_of, paths), strict=True))
    priors = [1 / len(paths)] * len(paths)
    while True:
        totals = [0.0] * len(paths)
        log_like, n_words = 0.0, 0
        for sample in samples:
            if all(log10 == -320 for log10 in sample):
                continue
            joint = [prior * 10.0**log10 for prior, log10 in zip(priors, sample, strict=True)]
            log_like += math.log10(sum(joint))
            n_words += 1
            totals = [t + each / sum(joint) for t, each in zip(totals, joint, strict=True)]
        before, priors = priors, [total / n_words for total in totals]
        if all(abs(a - b) <= precision for a, b in zip(before, priors, strict=True)):
            return priors, 10 ** (-log_like / n_words)


def write_srilm(path: Path, log10s: list[float]) -> None:
    lines = [
        f"\tp( w{n} | <s> ) \t= " + ("[OOV] 0 [ -inf ]" if p == -np.inf else f"[2gram] 9 [ {p} ]")
        if n % 7 == 0
        else f"\tp( w{n} | x ...) \t= [3gram] 9 [ {p} ]"
        for n, p in enumerate(log10s)
    ]
    path.write_text("\n".join(["some text", *lines, "1 sentences, 2 words, 0 OOVs"]))


@pytest.mark.parametrize("n_streams", [2, 3, 4])
def test_weights_and_perplexity_are_those_of_compute_best_mix(
    n_streams: int, tmp_path: Path
) -> None:
    log10s = np.round(streams(n_streams, n_tokens=350, seed=10 + n_streams), 5)
    log10s[:, ::49] = -np.inf  # OOVs of all streams, and of one
    log10s[0, ::35] = -np.inf
    paths = [tmp_path / f"{number}.ppl" for number in range(n_streams)]
    for path, stream in zip(paths, log10s.tolist(), strict=True):
        write_srilm(path, stream)
    theirs, _ = best_mix(paths, precision=1e-6)
    ours = em_weights(log10s).weights
    assert ours == pytest.approx(theirs, abs=1e-3)
    _, their_ppl = best_mix(paths, precision=1e-3)
    mixed = mixed_log10(log10s, ours)
    ours_ppl = 10 ** -mixed[np.isfinite(mixed)].mean()
    assert ours_ppl == pytest.approx(their_ppl, rel=1e-3)
