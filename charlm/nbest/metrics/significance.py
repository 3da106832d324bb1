"""Whether one choice of hypotheses is better than another by more than chance.

Test and interval are over recordings, since utterances of one speaker belong together (Bisani &
Ney, 2004), or over lists if these name no recording, all the same one, or each its own. If two
systems were equally good, each recording's difference could as well have the other sign: p is the
share of all sign assignments that make the difference on the corpus at least as large. For error
counts p is exact, since the distribution of a sum of ±whole numbers is a chain of convolutions (the
matched pairs of Gillick & Cox, 1989, with Fisher's exact distribution in place of the normal one);
for other metrics, signs are drawn (approximate randomisation, Riezler & Maxwell, 2005). The
interval comes from a bootstrap.
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
    unit: Unit  # what has one sign for p, and is drawn as a whole for the interval
    n_units: int
    samples: int
    seed: int


def groups_of(lists: Sequence[NbestList]) -> tuple[list[str], Unit]:
    """The group of each list: its recording, or itself if these are none, one, or one each."""
    recordings = [nbest.recording for nbest in lists]
    if all(recordings) and 1 < len(set(recordings)) < len(recordings):
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
    groups, unit = groups_of(lists)
    first_GK, second_GK = (_totals(counts_LK, groups) for counts_LK in (first_LK, second_LK))
    rates = metric.errors(np.stack([first_GK.sum(axis=0), second_GK.sum(axis=0)]))
    if isinstance(metric, ErrorRate):
        p, test = sign_flip_p((second_GK - first_GK)[:, :3].sum(axis=1)), "exact"
    else:
        p = _random_sign_flip_p(first_GK, second_GK, metric=metric, samples=samples)
        test = f"{samples} random"
    sums_BK = drawn_sums(np.hstack([first_GK, second_GK]), samples=samples, seed=SEED)
    first_B, second_B = map(metric.errors, np.split(sums_BK, 2, axis=1))
    low, high = interval(second_B - first_B)
    difference = float(rates[1] - rates[0])
    return Significance(difference, low, high, p, test, unit, len(first_GK), samples, SEED)


def _totals(counts_LK: Ints, groups: Sequence[str]) -> Ints:
    """Counts of each group of lists, (G, K), in the order of their first lists."""
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    totals_GK = np.zeros((len(numbers), counts_LK.shape[1]), np.int64)
    np.add.at(totals_GK, [numbers[group] for group in groups], counts_LK)
    return totals_GK


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


def _random_sign_flip_p(first_GK: Ints, second_GK: Ints, *, metric: Metric, samples: int) -> float:
    def distance(sums_2K: Ints) -> float:
        return abs(float(np.diff(metric.errors(sums_2K))[0]))

    generator = np.random.default_rng(SEED)
    gaps_GK = second_GK - first_GK
    sums_2K = np.stack([first_GK.sum(axis=0), second_GK.sum(axis=0)])
    observed, as_far = distance(sums_2K), 0
    for _ in range(samples):
        moved_K = gaps_GK[generator.random(len(gaps_GK)) < 1 / 2].sum(axis=0)
        as_far += distance(sums_2K + np.stack([moved_K, -moved_K])) >= observed - 1e-12
    return (as_far + 1) / (samples + 1)  # the observed assignment is one of them
