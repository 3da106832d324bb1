"""The cache against a loop over positions, and where there is no cache."""

import math

import pytest
import torch
from torch import Tensor

from charlm.scoring.adaptation.adapt_options import Rates
from charlm.scoring.adaptation.neural_cache import Positions, mixed, with_cache

WORDS = [3, 1, 3, 2, 1, 3, 3, 0, 1, 2]


def positions() -> tuple[Tensor, Tensor, Tensor]:
    """nll, contexts and words of ten positions."""
    generator = torch.Generator().manual_seed(7)
    nll_N = torch.rand(len(WORDS), generator=generator) * 3
    return nll_N, torch.randn(len(WORDS), 4, generator=generator), torch.tensor(WORDS)


def slow_nll(rates: Rates) -> list[float]:
    """Grave et al.'s equations, position by position."""
    nll_N, h_NH, _ = positions()
    found = []
    for here, word in enumerate(WORDS):
        p = math.exp(-float(nll_N[here]))
        weights = [0.0] * 4
        for there in range(max(0, here - rates.size), here):
            alike = sum(float(a) * float(b) for a, b in zip(h_NH[here], h_NH[there], strict=True))
            weights[WORDS[there]] += math.exp(rates.theta * alike)
        if here:
            p = (1 - rates.share) * p + rates.share * weights[word] / sum(weights)
        found.append(-math.log(p))
    return found


@pytest.mark.parametrize("theta", [0.0, 0.7], ids=["unigram", "neural"])
@pytest.mark.parametrize("chunk", [1, 4, 10])
def test_the_cache_is_what_a_loop_over_positions_gives(theta: float, chunk: int) -> None:
    rates = Rates(size=3, theta=theta, share=0.3)
    found, before = [], None
    for nll_N, *own in zip(*(each.split(chunk) for each in positions()), strict=True):
        mixed_N, before = with_cache(nll_N, Positions(*own), before=before, rates=rates)
        found += mixed_N.tolist()
    assert found == pytest.approx(slow_nll(rates), rel=1e-6)
    assert before is not None and before.words_N.tolist() == WORDS[-3:]


def test_a_cache_that_stays_is_seen_whole_by_every_position() -> None:
    nll_N, h_NH, words_N = positions()
    rates = Rates(theta=0.0, share=0.5)
    seen = Positions(h_NH[:4], torch.tensor([3, 3, 3, 1]))
    own = Positions(h_NH[4:6], torch.tensor([3, 2]))
    found = mixed(nll_N[:2], own, seen=seen, rates=rates)
    p = (-nll_N[:2].double()).exp()
    expected = [-math.log(0.5 * float(p[0]) + 0.5 * 0.75), -math.log(0.5 * float(p[1]))]
    assert found.tolist() == pytest.approx(expected)
