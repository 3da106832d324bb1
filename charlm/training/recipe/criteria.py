"""Training criteria: the cross-entropy, or a loss that needs no sum over all words.

Every criterion is summed like the cross-entropy, so that learning rates and gradient norms keep
their meaning. Noise words are drawn by their unigrams once per batch and shared by all positions.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contract import Output, WordSample
from charlm.model.kernels.cross_entropy import NO_WORD
from charlm.model.kernels.tiles import rounded_up
from charlm.settings import Meaning, Range

NoiseWords = Annotated[int, Range(1, 1_000_000), Meaning("number of noise words drawn per step")]
Power = Annotated[
    float, Range(0.0, 1.0), Meaning("noise words are drawn by unigram probability to this power")
]


LACKING = {
    "has_scores": "offers no unnormalised scores; expected one that does",
    "has_table": "has no table of all words; expected one that has",
}
# A sample is padded to a multiple, since oneDNN keeps a compiled kernel of megabytes for every
# number of rows that it meets.
SAMPLE_SIZES = 256


class Losses(NamedTuple):
    """The loss to minimise, and the plain negative log-probability."""

    loss_N: Tensor  # fp32; 0 where there is no word
    nll_N: Tensor | None  # None: not computed, since that would cost what the criterion saves


class Criterion(ABC):
    """A loss as a function of context vectors and the words to predict."""

    needs: Literal["has_scores", "has_table", ""] = ""  # what the output must have
    is_self_normalised = False  # whether scores are meant to be read without normalising them
    is_sampled = False  # whether a step computes the scores of some words only

    @abstractmethod
    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        """The loss of each position; `unigrams_V` are the words' probabilities, none of them 0."""

    def check(self, output: Output) -> None:
        """Raise ConfigError if an output cannot be trained with this criterion."""
        if self.needs and not getattr(output, self.needs):
            name = next(name for name, each in CRITERIA.items() if each is type(self))
            raise ConfigError(
                f"criterion {name!r}: the output {LACKING[self.needs]}; use --set "
                "output.type=softmax, or criterion cross-entropy"
            )


class CrossEntropy(Criterion):
    """−log P(w | h), in whatever way the output computes it."""

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        nll_N = output.nll(h_NH, words_N)
        return Losses(nll_N, nll_N)


@dataclass(frozen=True, kw_only=True)
class SelfNormalised(Criterion):
    """−log P(w | h) + α·log² Z(h) (Devlin et al., 2014; Koehn's 4.7 has the other sign)."""

    needs = "has_scores"
    is_self_normalised = True
    alpha: Annotated[
        float, Range(0.0, 1e3), Meaning("weight of the penalty on the squared log Z")
    ] = 0.1

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        scores_NV = output.scores(h_NH)
        log_z_N = scores_NV.logsumexp(dim=-1)
        exists_N = words_N >= 0
        own_N = scores_NV.gather(1, words_N.clamp(min=0)[:, None])[:, 0]
        nll_N = torch.where(exists_N, log_z_N - own_N, 0.0)
        penalty_N = torch.where(exists_N, self.alpha * log_z_N.square(), 0.0)
        return Losses(nll_N + penalty_N, nll_N)


@dataclass(frozen=True, kw_only=True)
class NoiseContrastive(Criterion):
    """Noise-contrastive estimation (Gutmann & Hyvärinen, 2012; Mnih & Teh, 2012; Koehn's 4.8–4.9).

    −log σ(s(w) − log k·q(w)) − Σ over k noise words of log(1 − σ(s(w') − log k·q(w'))), *summed*.
    At its minimum exp(s) is the probability, so that Z is 1. Koehn prints the case k = 1.
    """

    needs = "has_scores"
    is_self_normalised = True
    is_sampled = True
    noise: NoiseWords = 100
    power: Power = 1.0

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        noise_K, log_kq_V = drawn_noise(unigrams_V, self.noise, power=self.power)
        own_N = words_N.clamp(min=0)
        true_N = output.word_scores(h_NH, own_N) - log_kq_V[own_N]
        false_NK = output.scores(h_NH, noise_K) - log_kq_V[noise_K]
        loss_N = functional.softplus(-true_N) + functional.softplus(false_NK).sum(dim=1)
        return Losses(torch.where(words_N >= 0, loss_N, 0.0), None)


@dataclass(frozen=True, kw_only=True)
class SampledSoftmax(Criterion):
    """The cross-entropy, with Z estimated from a sample of the vocabulary.

    The sample has all words of the batch and about `noise` of the vocabulary, each word once. A
    word with probability p of being drawn counts 1/p times, so that Z is right on average (Bengio &
    Senécal, 2003); if `noise` is the number of words, it is right. Kaldi's RNNLM samples so, too.
    """

    needs = "has_table"
    is_sampled = True
    noise: NoiseWords = 1000
    power: Power = 1.0

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        chances_V = inclusion_chances(unigrams_V, self.noise, power=self.power)
        return Losses(output.sampled_nll(h_NH, drawn_sample(chances_V, words_N)), None)


def drawn_noise(unigrams_V: Tensor, n_noise: int, *, power: float) -> tuple[Tensor, Tensor]:
    """Word ids drawn with repetition from q, the unigrams to `power`, and log(n_noise · q_V)."""
    q_V = unigrams_V**power
    q_V = q_V / q_V.sum()
    noise_K = torch.multinomial(q_V, n_noise, replacement=True)
    return noise_K, q_V.log() + math.log(n_noise)


@lru_cache(maxsize=1)  # every step of a training asks for the same
def inclusion_chances(unigrams_V: Tensor, n_noise: int, *, power: float) -> Tensor:
    """Each word's probability of being drawn: in proportion to its unigram to `power`, at most 1.

    Their sum is `n_noise`, or the number of words if that is smaller.
    """
    q_V = unigrams_V**power
    is_certain_V = torch.full_like(q_V, n_noise >= len(q_V), dtype=torch.bool)
    while True:  # what words lose that reach 1 goes to the others, of which some may then reach it
        left_V = q_V.where(~is_certain_V, 0.0)
        chances_V = left_V * ((n_noise - is_certain_V.sum()) / left_V.sum())
        if not bool((chances_V >= 1).any()):
            return chances_V.where(~is_certain_V, 1.0)
        is_certain_V |= chances_V >= 1


def drawn_sample(chances_V: Tensor, words_N: Tensor) -> WordSample:
    """The words of a batch, and others that are drawn, each with its probability."""
    exists_N = words_N >= 0
    chances_V = chances_V.index_fill(0, words_N[exists_N], 1.0)
    drawn_K = (torch.rand_like(chances_V) < chances_V).nonzero()[:, 0]
    where_V = torch.full_like(chances_V, -1, dtype=torch.long)
    where_V[drawn_K] = torch.arange(len(drawn_K), device=drawn_K.device)
    n_more = rounded_up(max(1, len(drawn_K)), SAMPLE_SIZES) - len(drawn_K)
    return WordSample(
        functional.pad(drawn_K, (0, n_more)),
        functional.pad(-chances_V[drawn_K].log(), (0, n_more), value=NO_WORD),
        where_V[words_N.clamp(min=0)].where(exists_N, -1),
    )


CRITERIA: dict[str, type[Criterion]] = {
    "cross-entropy": CrossEntropy,
    "self-normalised": SelfNormalised,
    "nce": NoiseContrastive,
    "sampled-softmax": SampledSoftmax,
}
