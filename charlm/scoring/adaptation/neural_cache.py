"""A cache of the words that followed similar contexts (Grave et al., 2017).

In "Improving neural language models with a continuous cache", they mix
P(w) = (1 − λ) P_model(w) + λ P_cache(w), where P_cache(w) is the share of w in Σ exp(θ h·hᵢ) over
the last positions i, and hᵢ is the vector from which the output predicted the word at i. With θ = 0
it is the share of w among the last words. Before the first word the cache is empty, and P is the
model's.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from charlm.scoring.adaptation.adapt_options import Rates


class Positions(NamedTuple):
    """Consecutive positions of a text: their words, and the vectors these were predicted from."""

    h_NH: Tensor
    words_N: Tensor


def with_cache(
    nll_N: Tensor, own: Positions, *, before: Positions | None, rates: Rates
) -> tuple[Tensor, Positions]:
    """nll_N in nats of the mixture, and the positions that the next chunk will see.

    Each position sees the `rates.size` positions before it, whether in `before` or in its own
    chunk.
    """
    seen = own if before is None else Positions(*map(torch.cat, zip(before, own, strict=True)))
    n_before = len(seen.words_N) - len(own.words_N)
    others_M = torch.arange(len(seen.words_N), device=own.words_N.device)
    own_N1 = others_M[n_before:, None]
    is_seen_NM = (others_M < own_N1) & (others_M >= own_N1 - rates.size)
    mixed_N = mixed(nll_N, own, seen=seen, is_seen_NM=is_seen_NM, rates=rates)
    return mixed_N, Positions(*(each[-rates.size :] for each in seen))


def mixed(
    nll_N: Tensor,
    own: Positions,
    *,
    seen: Positions,
    rates: Rates,
    is_seen_NM: Tensor | None = None,
) -> Tensor:
    """nll_N in nats of the mixture, float64; `is_seen_NM`: what each position sees (None: all)."""
    scores_NM = (rates.theta * (own.h_NH @ seen.h_NH.t())).double()
    if is_seen_NM is not None:
        scores_NM = scores_NM.masked_fill(~is_seen_NM, -math.inf)
    all_N = scores_NM.logsumexp(dim=1)
    is_other_NM = own.words_N[:, None] != seen.words_N
    own_N = scores_NM.masked_fill(is_other_NM, -math.inf).logsumexp(dim=1)
    log_share = math.log(rates.share) if rates.share else -math.inf
    log_rest = math.log1p(-rates.share)
    mixed_N = -torch.logaddexp(log_rest - nll_N.double(), log_share + own_N - all_N)
    return torch.where(all_N == -math.inf, nll_N.double(), mixed_N)
