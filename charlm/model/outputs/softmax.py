"""The full softmax: one vector and one bias per word."""

from typing import Annotated

import torch
from torch import Tensor, nn

from charlm.model.contract import Encoder
from charlm.model.outputs.table import TableOutput, WordTable
from charlm.settings import Meaning, Range
from charlm.text.vocabulary.vocabulary import Inventory

DimOrNone = Annotated[int, Range(0, 65_536)]


class Softmax(TableOutput):
    """P(w | h) ∝ exp(h·p_w + q_w), eq. 3 of Kim et al. (2016).

    `projection` first maps h to that many numbers (0: no map), for large vocabularies and for word
    vectors narrower than the context. It has no bias, which would be redundant beside q.
    """

    def __init__(
        self,
        input_dim: int,
        inventory: Inventory,
        encoder: Encoder,
        *,
        bias: Annotated[bool, Meaning("each word has a bias in the output")] = True,
        projection: Annotated[
            DimOrNone,
            Meaning("dimension that the context vector is projected to; 0: no projection"),
        ] = 0,
    ) -> None:
        super().__init__()
        self.projection = nn.Linear(input_dim, projection, bias=False) if projection else None
        self.vector_dim = projection or input_dim
        self.words = nn.Linear(self.vector_dim, inventory.n_words, bias=bias)

    def table(self) -> WordTable:
        return WordTable(self.words.weight, self.words.bias)

    @torch.no_grad()
    def start_from(self, log_probs_V: Tensor) -> None:
        if self.words.bias is not None:
            self.words.bias.copy_(log_probs_V)

    def score_parameters(self) -> list[nn.Parameter]:
        """The words' vectors and biases."""
        return list(self.words.parameters())
