"""Training criteria: the cross-entropy, or a loss that needs no sum over all words.

A criterion's loss is summed like the cross-entropy, so that rates and norms keep their meaning.
Noise words are drawn once a batch from the unigrams and shared by all its positions.
"""

import math
from abc import ABC, abstractmethod
from typing import Annotated, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contract import Output
from charlm.settings import Range

Share = Annotated[float, Range(0.0, 1e3)]
NoiseWords = Annotated[int, Range(1, 1_000_000)]
Power = Annotated[float, Range(0.0, 1.0)]


class Losses(NamedTuple):
    """What is made small, and the plain negative log-probability beside it."""

    loss_N: Tensor  # fp32; 0 where there is no word
    nll_N: Tensor | None  # None: not computed, since it would cost what the criterion saves


class Criterion(ABC):
    """A loss of context vectors and the words to predict."""

    needs_scores: bool  # whether the output must offer unnormalised scores
    is_self_normalised: bool  # whether scores are meant to be read without normalising them

    @abstractmethod
    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        """The loss of each position; `unigrams_V` are the words' probabilities, none of them 0."""

    def check(self, output: Output) -> None:
        """Raises ConfigError if an output cannot be trained so."""
        if self.needs_scores and not output.has_scores:
            name = next(name for name, each in CRITERIA.items() if each is type(self))
            raise ConfigError(
                f"criterion {name!r}: the output offers no unnormalised scores; expected one that "
                "does; use --set output.type=softmax, or criterion cross-entropy"
            )


class CrossEntropy(Criterion):
    """−log P(w | h), by whatever way the output computes it."""

    needs_scores = False
    is_self_normalised = False

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        """The negative log-probability is the loss."""
        nll_N = output.nll(h_NH, words_N)
        return Losses(nll_N, nll_N)


class SelfNormalised(Criterion):
    """−log P(w | h) + α·log² Z(h) (Devlin et al., 2014; Koehn's 4.7 has the other sign)."""

    needs_scores = True
    is_self_normalised = True

    def __init__(self, *, alpha: Share = 0.1) -> None:
        self.alpha = alpha

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        """The penalty counts where there is a word."""
        scores_NV = output.scores(h_NH, None).float()
        log_z_N = scores_NV.logsumexp(dim=-1)
        exists_N = words_N >= 0
        own_N = scores_NV.gather(1, words_N.clamp(min=0)[:, None])[:, 0]
        nll_N = torch.where(exists_N, log_z_N - own_N, 0.0)
        penalty_N = torch.where(exists_N, self.alpha * log_z_N.square(), 0.0)
        return Losses(nll_N + penalty_N, nll_N)


class NoiseContrastive(Criterion):
    """Noise-contrastive estimation (Gutmann & Hyvärinen, 2012; Mnih & Teh, 2012; Koehn's 4.8–4.9).

    −log σ(s(w) − log k·q(w)) − Σ over k noise words of log(1 − σ(s(w') − log k·q(w'))), *summed*;
    at its minimum exp(s) is the probability, so that Z is 1. Koehn prints the case k = 1.
    """

    needs_scores = True
    is_self_normalised = True

    def __init__(self, *, noise: NoiseWords = 100, power: Power = 1.0) -> None:
        self.noise = noise
        self.power = power

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        """The loss alone: a sum over all words is what it spares."""
        noise_K, log_kq_V = drawn_noise(unigrams_V, self.noise, power=self.power)
        own = words_N.clamp(min=0)
        true_N = output.word_scores(h_NH, own).float() - log_kq_V[own]
        false_NK = output.scores(h_NH, noise_K).float() - log_kq_V[noise_K]
        loss_N = functional.softplus(-true_N) + functional.softplus(false_NK).sum(dim=1)
        return Losses(torch.where(words_N >= 0, loss_N, 0.0), None)


class SampledSoftmax(Criterion):
    """The cross-entropy over the word and k noise words (Jean et al., 2015), scores less log k·q.

    A noise word that is the word itself counts for nothing there.
    """

    needs_scores = True
    is_self_normalised = False

    def __init__(self, *, noise: NoiseWords = 1000, power: Power = 1.0) -> None:
        self.noise = noise
        self.power = power

    def losses(
        self, h_NH: Tensor, words_N: Tensor, *, output: Output, unigrams_V: Tensor
    ) -> Losses:
        """The loss alone: a sum over all words is what it spares."""
        noise_K, log_kq_V = drawn_noise(unigrams_V, self.noise, power=self.power)
        own = words_N.clamp(min=0)
        true_N = output.word_scores(h_NH, own).float() - log_kq_V[own]
        false_NK = output.scores(h_NH, noise_K).float() - log_kq_V[noise_K]
        false_NK = false_NK.masked_fill(noise_K == own[:, None], -torch.inf)
        log_z_N = torch.cat([true_N[:, None], false_NK], dim=1).logsumexp(dim=1)
        return Losses(torch.where(words_N >= 0, log_z_N - true_N, 0.0), None)


def drawn_noise(unigrams_V: Tensor, n_noise: int, *, power: float) -> tuple[Tensor, Tensor]:
    """Word ids drawn with repetition from the unigrams to a power q, and log(n_noise · q_V)."""
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
