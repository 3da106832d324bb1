"""How far a model's scores are from probabilities: mean and variance of log Z over a text.

A model that is trained with noise-contrastive estimation, or to be self-normalised, is meant to be
used without the sum over all words (Koehn, 4.3). If log Z is near 0 everywhere, nothing is lost.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from charlm.model.contract import Output
from charlm.text.perplexity.spelled_words import Additive


@dataclass(frozen=True)
class LogZ(Additive):
    """log Z in nats, and its square, summed over tokens."""

    n_tokens: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def mean(self) -> float:
        """Mean of log Z; 0 without tokens."""
        return self.total / max(1, self.n_tokens)

    @property
    def variance(self) -> float:
        """Variance of log Z; 0 without tokens."""
        return max(0.0, self.squares / max(1, self.n_tokens) - self.mean**2)


class MeteredOutput(Output):
    """An output that adds up log Z of every position for which it gives a probability."""

    has_scores = True

    def __init__(self, output: Output) -> None:
        super().__init__()
        self.output = output
        self.sums = LogZ()

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        log_z_N = self.output.log_z(h_NH)
        exists_N = words_N >= 0
        metered = log_z_N[exists_N].double()
        self.sums += LogZ(len(metered), float(metered.sum()), float(metered.square().sum()))
        return torch.where(exists_N, log_z_N - self.output.word_scores(h_NH, words_N), 0.0)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        return self.output.log_probs(h_NH)

    def read_off(self) -> LogZ:
        """The sums since the last call; they start again from 0."""
        sums, self.sums = self.sums, LogZ()
        return sums
