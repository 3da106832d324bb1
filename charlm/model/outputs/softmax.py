"""The full softmax: one vector and one bias a word."""

from typing import Annotated

import torch
from torch import Tensor, nn

from charlm.model.contract import Encoder, Output
from charlm.model.outputs.table import WordTable
from charlm.settings import Range
from charlm.text.vocabulary.vocabulary import Inventory

DimOrNone = Annotated[int, Range(0, 65_536)]


class Softmax(Output):
    """P(w | h) ∝ exp(h·p_w + q_w), eq. 4 of Kim et al. (2016).

    With `projection`, h is first mapped to that many numbers (0: not), without a bias, which q
    would only repeat: for large vocabularies, and for word vectors narrower than the context.
    """

    has_scores = True

    def __init__(
        self,
        input_dim: int,
        inventory: Inventory,
        encoder: Encoder,
        *,
        bias: bool = True,
        projection: DimOrNone = 0,
    ) -> None:
        super().__init__()
        self.projection = nn.Linear(input_dim, projection, bias=False) if projection else None
        self.vector_dim = projection or input_dim
        self.words = nn.Linear(self.vector_dim, inventory.n_words, bias=bias)

    def _projected(self, h_NH: Tensor) -> Tensor:
        return h_NH if self.projection is None else self.projection(h_NH)

    def _table(self) -> WordTable:
        return WordTable(self.words.weight, self.words.bias)

    @torch.no_grad()
    def start_from(self, log_probs_V: Tensor) -> None:
        """Set the words' biases, if there are any."""
        if self.words.bias is not None:
            self.words.bias.copy_(log_probs_V)

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """Negative log-probability of each word in nats, shape (N,), fp32; 0 where it is -1."""
        return self._table().nll(self._projected(h_NH), words_N)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        """Log-probabilities of all words in nats, shape (N, V), fp32."""
        return self._table().log_probs(self._projected(h_NH))

    def word_scores(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """h·p_w + q_w of each position's own word, shape (N,), fp32; 0 where it is -1."""
        return self._table().scores_of(self._projected(h_NH), words_N)

    def scores(self, h_NH: Tensor, words_K: Tensor | None = None) -> Tensor:
        """The scores of these words (None: of all) at every position, shape (N, K), fp32."""
        table = self._table() if words_K is None else self._table().rows(words_K)
        return table.scores(self._projected(h_NH))

    def log_z(self, h_NH: Tensor) -> Tensor:
        """log Σ_w exp(score of w), shape (N,), fp32."""
        return self._table().log_z(self._projected(h_NH))

    def expected_vectors(self, h_NH: Tensor) -> tuple[Tensor, Tensor]:
        """The words' vectors, shape (V, E), and their mean under P(w | h), shape (N, E)."""
        table = self._table()
        return table.vectors_VH, table.expected_vector(self._projected(h_NH))

    def score_parameters(self) -> list[nn.Parameter]:
        """The words' vectors and biases."""
        return list(self.words.parameters())
