"""Drawing words from distributions, by inverting their cumulative sums at given numbers.

The same number in [0, 1) gives the same word in any batch, up to the rounding of the probabilities:
a number within 1e-7 of a border may fall on either side.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.text.corpus.tokens import UNK


@dataclass(frozen=True)
class Warper:
    """How a distribution is changed before a word is drawn; the defaults change nothing."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    no_unk: bool = False

    def __post_init__(self) -> None:
        """Raises ConfigError for a number out of a range that `SampleOptions` cannot express."""
        if not 0 < self.temperature < math.inf:
            raise ConfigError(f"--temperature {self.temperature:g}: expected a number above 0")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"--top-p {self.top_p:g}: expected more than 0 and at most 1")

    def weights(self, log_probs_NV: Tensor) -> Tensor:
        """Weights for drawing words in proportion, shape (N, V); the argument does not change."""
        scores_NV = log_probs_NV
        if self.no_unk:
            scores_NV = scores_NV.clone()
            scores_NV[:, UNK] = -math.inf
        if self.temperature != 1.0:
            # The best words are moved to 0 first, so that a small temperature divides the others
            # to -inf. Beyond the range of the number format, 0 / 0 or -inf / inf would give NaN.
            limits = torch.finfo(scores_NV.dtype)
            temperature = min(max(self.temperature, limits.tiny), limits.max)
            scores_NV = (scores_NV - scores_NV.amax(dim=-1, keepdim=True)) / temperature
        weights_NV = scores_NV.exp()
        if self.top_k is not None and self.top_k < weights_NV.shape[1]:
            kept_NK, words_NK = weights_NV.topk(self.top_k, dim=-1)
            weights_NV = torch.zeros_like(weights_NV).scatter_(1, words_NK, kept_NK)
        return weights_NV if self.top_p == 1.0 else _nucleus(weights_NV, self.top_p)


def _nucleus(weights_NV: Tensor, top_p: float) -> Tensor:
    """The fewest most probable words that hold this share of the total (Holtzman et al., 2020)."""
    sorted_NV, words_NV = weights_NV.sort(dim=-1, descending=True, stable=True)
    sums_NV = sorted_NV.cumsum(dim=-1, dtype=torch.float64)
    before_NV = sums_NV - sorted_NV
    kept_NV = torch.where(before_NV < top_p * sums_NV[:, -1:], sorted_NV, 0.0)
    return torch.zeros_like(weights_NV).scatter_(1, words_NV, kept_NV)


def draw_several(weights_NV: Tensor, uniforms_NK: Tensor) -> Tensor:
    """K words per row in proportion to its weights, shape (N, K), for numbers in [0, 1).

    The sums of blocks of about sqrt(V) words are searched first, then one block. Cumulative sums
    over all words would take as long as the softmax.
    """
    n_rows, n_words = weights_NV.shape
    size = math.isqrt(n_words - 1) + 1
    n_blocks = -(-n_words // size)
    blocks = functional.pad(weights_NV, (0, n_blocks * size - n_words)).view(n_rows, n_blocks, size)
    sums = blocks.sum(dim=-1, dtype=torch.float64).cumsum(dim=-1)
    targets_NK = uniforms_NK.double() * sums[:, -1:]
    block_NK = _first_above(sums, targets_NK)
    before_NK = torch.where(block_NK > 0, sums.gather(1, (block_NK - 1).clamp(min=0)), 0.0)
    inner = blocks.gather(1, block_NK[:, :, None].expand(-1, -1, size))
    inner = inner.cumsum(dim=-1, dtype=torch.float64)
    word_NK = _first_above(inner, (targets_NK - before_NK)[:, :, None])[:, :, 0]
    return block_NK * size + word_NK


def _first_above(sums: Tensor, targets: Tensor) -> Tensor:
    """The first place whose cumulative sum exceeds each target; else the last with any weight."""
    last = (sums < sums[..., -1:]).sum(dim=-1, keepdim=True)
    return torch.minimum(torch.searchsorted(sums, targets, right=True), last)


def generator_of(seed: int, *, row: int) -> np.random.Generator:
    """The random numbers of one sentence or stream, independent of all others."""
    return np.random.Generator(np.random.Philox(key=np.array([seed, row], np.uint64)))
