"""Whether one choice of hypotheses is better than another by more than chance.

Both tests compare lists in pairs. If two systems were equally good, each list's difference could as
well have the other sign: p is the share of all sign assignments that make the difference on the
corpus at least as large. For error counts p is exact, since the distribution of a sum of ±whole
numbers is a chain of convolutions (the matched pairs of Gillick & Cox, 1989, with Fisher's exact
distribution in place of the normal one); for BLEU, signs are drawn (approximate randomisation,
Riezler & Maxwell, 2005). The interval comes from a bootstrap over recordings, since utterances of
one speaker belong together (Bisani & Ney, 2004), or over lists if these name no recording, or all
the same one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from charlm.nbest.hypotheses import NbestList
from charlm.nbest.metrics.error_rates import ErrorRate, Ints, Metric
from charlm.nbest.metrics.resampling import drawn_sums, interval

SAMPLES = 1000
SEED = 0
LEAST = 1e-300  # smallest share of sign assignments kept; others take much time and change no p


Unit = Literal["recording", "list"]


@dataclass(frozen=True)
class Significance:
    """The difference of two rates, as shares: below 0 where the second system is better."""

    difference: float
    low: float  # 95 % of the draws lie between `low` and `high`
    high: float
    p: float  # two-sided
    test: str  # exact, or the number of random sign flips
    unit: Unit  # what is drawn for the interval
    n_units: int  # few of them make a poor interval
    samples: int
    seed: int


def groups_of(lists: Sequence[NbestList]) -> tuple[list[str], Unit]:
    """The group of each list: its recording, or itself if there are not several recordings."""
    recordings = [nbest.recording for nbest in lists]
    if all(recordings) and len(set(recordings)) > 1:
        return recordings, "recording"
    return [nbest.id for nbest in lists], "list"


def compare(
    first_LK: Ints,
    second_LK: Ints,
    *,
    metric: Metric,
    lists: Sequence[NbestList],
    samples: int = SAMPLES,
) -> Significance:
    """The significance of the difference of two systems, by the counts of their choices."""
    pair = np.stack([first_LK.sum(axis=0), second_LK.sum(axis=0)])
    rates = metric.errors(pair)
    groups, unit = groups_of(lists)
    low, high = _interval(first_LK, second_LK, metric=metric, groups=groups, samples=samples)
    if isinstance(metric, ErrorRate):
        errors_L = (second_LK - first_LK)[:, :3].sum(axis=1)
        p, test = sign_flip_p(errors_L), "exact"
    else:
        p = _random_sign_flip_p(first_LK, second_LK, metric=metric, samples=samples)
        test = f"{samples} random"
    difference = float(rates[1] - rates[0])
    n_units = len(set(groups))
    return Significance(difference, low, high, p, test, unit, n_units, samples, SEED)


def sign_flip_p(differences_L: Ints) -> float:
    """The exact share of all 2^n sign assignments whose sum is at least as far from 0.

    Differences of one size have a binomial distribution, and only distinct sizes are convolved, so
    time grows with the number of differences, not with its square.
    """
    sizes, numbers = np.unique(np.abs(differences_L[differences_L != 0]), return_counts=True)
    shares = np.ones(1)  # of sums −reach … reach
    for size, number in zip(sizes.tolist(), numbers.tolist(), strict=True):
        settings = _shares_of_signs(number)
        wider = np.zeros(len(shares) + 2 * size * (len(settings) - 1))
        for first, share in enumerate(settings):
            wider[2 * size * first :][: len(shares)] += share * shares
        cut = int(np.argmax(wider >= LEAST))
        shares = wider[cut : len(wider) - cut]
    reach = len(shares) // 2
    sums = np.arange(-reach, reach + 1)
    return min(1.0, float(shares[np.abs(sums) >= abs(int(differences_L.sum()))].sum()))


def _shares_of_signs(n: int) -> list[float]:
    """Shares of the assignments of n signs by their number of minuses; those below LEAST are cut.

    Computed in whole numbers, so that each share is rounded once.
    """
    half: list[float] = []
    ways = math.comb(n, n // 2)
    for n_minus in range(n // 2, -1, -1):
        share = ways / (1 << n)
        if share < LEAST:
            break
        half.append(share)
        ways = ways * n_minus // (n - n_minus + 1)
    return [*reversed(half), *half[1 - n % 2 :]]


def _random_sign_flip_p(first_LK: Ints, second_LK: Ints, *, metric: Metric, samples: int) -> float:
    generator = np.random.default_rng(SEED)
    gaps_LK = second_LK - first_LK
    observed = abs(float(np.diff(metric.errors(np.stack([first_LK.sum(0), second_LK.sum(0)])))[0]))
    as_far = 0
    for _ in range(samples):
        moved_K = gaps_LK[generator.random(len(gaps_LK)) < 1 / 2].sum(axis=0)
        pair = np.stack([first_LK.sum(axis=0) + moved_K, second_LK.sum(axis=0) - moved_K])
        as_far += abs(float(np.diff(metric.errors(pair))[0])) >= observed - 1e-12
    return (as_far + 1) / (samples + 1)  # the observed assignment is one of them


def _interval(
    first_LK: Ints, second_LK: Ints, *, metric: Metric, groups: Sequence[str], samples: int
) -> tuple[float, float]:
    """Percentiles of the difference over draws of groups."""
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    totals_GC = np.zeros((len(numbers), 2 * first_LK.shape[1]), np.int64)
    np.add.at(totals_GC, [numbers[group] for group in groups], np.hstack([first_LK, second_LK]))
    halves = np.split(drawn_sums(totals_GC, samples=samples, seed=SEED), 2, axis=1)
    first_B, second_B = map(metric.errors, halves)
    return interval(second_B - first_B)
