"""Words as rows of a table: scores, their softmax, and the methods for unnormalised scores.

`functional.linear` and the kernel for gradients are called only here, so that all tables of word
vectors, learned or composed, get the same speed and the same bits.
"""

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contract import Output, WordSample
from charlm.model.kernels.cross_entropy import cross_entropy
from charlm.model.kernels.sparse_rows import rows_of

SCORES_AT_ONCE = 1 << 26  # without gradients, where scores are read once and not kept


class WordTable(NamedTuple):
    """Word w scores h·v_w + b_w; the methods are those of an output with `has_scores`."""

    vectors_VH: Tensor
    bias_V: Tensor | None

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """−log softmax at each word in nats, shape (N,), fp32 or wider; 0 where it is -1."""
        if torch.is_grad_enabled() and len(h_NH):
            bias_V = self.bias_V
            if bias_V is None:
                bias_V = self.vectors_VH.new_zeros(len(self.vectors_VH))
            return cross_entropy(h_NH, words_N, weight_VH=self.vectors_VH, bias_V=bias_V)
        at_once = max(1, SCORES_AT_ONCE // len(self.vectors_VH))
        parts = zip(h_NH.split(at_once), words_N.split(at_once), strict=True)
        nlls = [
            functional.cross_entropy(self.scores(h), words, ignore_index=-1, reduction="none")
            for h, words in parts
        ]
        return torch.cat(nlls)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        """Log-probabilities of all rows in nats, shape (N, V), fp32."""
        return functional.log_softmax(self.scores(h_NH), dim=-1)

    def scores(self, h_NH: Tensor) -> Tensor:
        """Scores of all rows, shape (N, V), fp32."""
        return functional.linear(h_NH, self.vectors_VH, self.bias_V).float()

    def log_z(self, h_NH: Tensor) -> Tensor:
        """log Σ_w exp(score of w), shape (N,), fp32."""
        scores_NV = self.scores(h_NH)
        if torch.is_grad_enabled():
            return scores_NV.logsumexp(dim=-1)
        most_N1 = scores_NV.amax(dim=-1, keepdim=True)  # in place, since logsumexp makes two copies
        return scores_NV.sub_(most_N1).exp_().sum(dim=-1).log_().add_(most_N1[:, 0])

    def rows(self, rows_K: Tensor) -> "WordTable":
        """The table of these rows, in this order, with repetition."""
        bias = None if self.bias_V is None else self.bias_V[rows_K]
        return WordTable(rows_of(self.vectors_VH, rows_K), bias)

    def raised(self, by_V: Tensor) -> "WordTable":
        """The table with each word's score raised by so much."""
        by_V = by_V.to(self.vectors_VH.dtype)
        return WordTable(self.vectors_VH, by_V if self.bias_V is None else self.bias_V + by_V)

    def paired_scores(self, h_NH: Tensor) -> Tensor:
        """The score of row n at position n, shape (N,), fp32; needs as many rows as positions."""
        scores_N = (h_NH.float() * self.vectors_VH.float()).sum(dim=-1)
        return scores_N if self.bias_V is None else scores_N + self.bias_V.float()


class TableOutput(Output):
    """P(w | h) ∝ exp(score of w), with words as rows of one table and h optionally projected."""

    has_scores = True
    has_table = True
    projection: nn.Linear | None  # without a bias, which would be redundant beside the words'

    @abstractmethod
    def table(self) -> WordTable:
        """The rows of all words."""

    def rows(self, words_K: Tensor) -> WordTable:
        """The rows of these words, in this order, with repetition."""
        return self.table().rows(words_K)

    def _projected(self, h_NH: Tensor) -> Tensor:
        return h_NH if self.projection is None else self.projection(h_NH)

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        return self.table().nll(self._projected(h_NH), words_N)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        return self.table().log_probs(self._projected(h_NH))

    def word_scores(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        scores_N = self.rows(words_N.clamp(min=0)).paired_scores(self._projected(h_NH))
        return scores_N.where(words_N >= 0, 0.0)

    def scores(self, h_NH: Tensor, words_K: Tensor | None = None) -> Tensor:
        table = self.table() if words_K is None else self.rows(words_K)
        return table.scores(self._projected(h_NH))

    def log_z(self, h_NH: Tensor) -> Tensor:
        return self.table().log_z(self._projected(h_NH))

    def sampled_nll(self, h_NH: Tensor, sample: WordSample) -> Tensor:
        table = self.rows(sample.words_K).raised(sample.log_weights_K)
        return table.nll(self._projected(h_NH), sample.own_N)

    def expected_vectors(self, h_NH: Tensor) -> tuple[Tensor, Tensor]:
        table = self.table()
        return table.vectors_VH, table.log_probs(self._projected(h_NH)).exp() @ table.vectors_VH
