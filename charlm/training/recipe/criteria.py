"""Training criteria: the cross-entropy, or a loss that needs no sum over all words.

Every criterion is summed like the cross-entropy, so that learning rates and gradient norms keep
their meaning. Noise words are drawn from the unigrams once per batch and shared by all positions.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contract import Output
from charlm.settings import Meaning, Range

NoiseWords = Annotated[int, Range(1, 1_000_000), Meaning("number of noise words drawn per step")]
Power = Annotated[
    float, Range(0.0, 1.0), Meaning("noise words are drawn by unigram probability to this power")
]


class Losses(NamedTuple):
    """The loss to minimise, and the plain negative log-probability."""

    loss_N: Tensor  # fp32; 0 where there is no word
    nll_N: Tensor | None  # None: not computed, since that would cost what the criterion saves


class Criterion(ABC):
    """A loss as a function of context vectors and the words to predict."""

    needs_scores = False  # whether the output must offer unnormalised scores
    is_self_normalised = False  # whether scores are meant to be read without normalising them

    @abstractmethod
    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        """The loss of each position; `unigrams_V` are the words' probabilities, none of them 0."""

    def check(self, output: Output) -> None:
        """Raise ConfigError if an output cannot be trained with this criterion."""
        if self.needs_scores and not output.has_scores:
            name = next(name for name, each in CRITERIA.items() if each is type(self))
            raise ConfigError(
                f"criterion {name!r}: the output offers no unnormalised scores; expected one that "
                "does; use --set output.type=softmax, or criterion cross-entropy"
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

    needs_scores = True
    is_self_normalised = True
    alpha: Annotated[
        float, Range(0.0, 1e3), Meaning("weight of the penalty on the squared log Z")
    ] = 0.1

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        scores_NV = output.scores(h_NH, None).float()
        log_z_N = scores_NV.logsumexp(dim=-1)
        exists_N = words_N >= 0
        own_N = scores_NV.gather(1, words_N.clamp(min=0)[:, None])[:, 0]
        nll_N = torch.where(exists_N, log_z_N - own_N, 0.0)
        penalty_N = torch.where(exists_N, self.alpha * log_z_N.square(), 0.0)
        return Losses(nll_N + penalty_N, nll_N)


@dataclass(frozen=True, kw_only=True)
class Sampled(Criterion):
    """A loss of the scores of the word and of k noise words, each less its word's log k·q.

    It does not give the nll, whose sum over all words is what it avoids.
    """

    needs_scores = True
    noise: NoiseWords
    power: Power = 1.0

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        noise_K, log_kq_V = drawn_noise(unigrams_V, self.noise, power=self.power)
        own_N = words_N.clamp(min=0)
        true_N = output.word_scores(h_NH, own_N).float() - log_kq_V[own_N]
        false_NK = output.scores(h_NH, noise_K).float() - log_kq_V[noise_K]
        loss_N = self.loss(true_N, false_NK)
        return Losses(torch.where(words_N >= 0, loss_N, 0.0), None)

    @abstractmethod
    def loss(self, true_N: Tensor, false_NK: Tensor) -> Tensor:
        """The loss of each position."""


@dataclass(frozen=True, kw_only=True)
class NoiseContrastive(Sampled):
    """Noise-contrastive estimation (Gutmann & Hyvärinen, 2012; Mnih & Teh, 2012; Koehn's 4.8–4.9).

    −log σ(s(w) − log k·q(w)) − Σ over k noise words of log(1 − σ(s(w') − log k·q(w'))), *summed*.
    At its minimum exp(s) is the probability, so that Z is 1. Koehn prints the case k = 1.
    """

    is_self_normalised = True
    noise: NoiseWords = 100

    def loss(self, true_N: Tensor, false_NK: Tensor) -> Tensor:
        return functional.softplus(-true_N) + functional.softplus(false_NK).sum(dim=1)


@dataclass(frozen=True, kw_only=True)
class SampledSoftmax(Sampled):
    """The cross-entropy over the word and k noise words (Jean et al., 2015), scores less log k·q.

    A noise word that equals the word itself counts, too, so that at the minimum exp(s) is in
    proportion to the probability, whatever k is; else a frequent word would lack its share.
    """

    noise: NoiseWords = 1000

    def loss(self, true_N: Tensor, false_NK: Tensor) -> Tensor:
        return torch.cat([true_N[:, None], false_NK], dim=1).logsumexp(dim=1) - true_N


def drawn_noise(unigrams_V: Tensor, n_noise: int, *, power: float) -> tuple[Tensor, Tensor]:
    """Word ids drawn with repetition from q, the unigrams to `power`, and log(n_noise · q_V)."""
    q_V = unigrams_V**power
    q_V = q_V / q_V.sum()
    noise_K = torch.multinomial(q_V, n_noise, replacement=True)
    return noise_K, q_V.log() + math.log(n_noise)


CRITERIA: dict[str, type[Criterion]] = {
    "cross-entropy": CrossEntropy,
    "self-normalised": SelfNormalised,
    "nce": NoiseContrastive,
    "sampled-softmax": SampledSoftmax,
}
