"""How far a model's scores are from probabilities: mean and variance of log Z over a text.

A model trained by noise contrast, or to be self-normalised, is meant to be read without the sum
over all words (Koehn, 4.3). Where log Z is near 0 everywhere, that costs nothing.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from charlm.model.contract import Output


@dataclass(frozen=True)
class LogZ:
    """log Z in nats over the tokens of a text."""

    mean: float
    variance: float


class MeteredOutput(Output):
    """An output that remembers log Z of each position that it gave a probability to."""

    has_scores = True

    def __init__(self, output: Output) -> None:
        super().__init__()
        self.output = output
        self.n_tokens, self.total, self.squares = 0, 0.0, 0.0

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """As the output's own."""
        log_z_N = self.output.log_z(h_NH)
        exists_N = words_N >= 0
        metered = log_z_N[exists_N].double()
        self.n_tokens += len(metered)
        self.total += float(metered.sum())
        self.squares += float(metered.square().sum())
        return torch.where(exists_N, log_z_N - self.output.word_scores(h_NH, words_N), 0.0)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        """As the output's own."""
        return self.output.log_probs(h_NH)

    def read_off(self) -> LogZ:
        """What was measured since the last time, which begins anew."""
        n_tokens, mean = self.n_tokens, self.total / max(1, self.n_tokens)
        variance = max(0.0, self.squares / max(1, n_tokens) - mean**2)
        self.n_tokens, self.total, self.squares = 0, 0.0, 0.0
        return LogZ(mean, variance)
