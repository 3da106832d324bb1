"""The tensor product of two encoders' vectors: every pair of their numbers has a weight.

The full tensor of two usual widths is larger than any model here, so it is only for small sides.
Products of small numbers are tiny: drawn from ±0.05 it learns almost nothing for many epochs. On
1,500 sentences of PTB the validation perplexity was then 311 after 9 epochs, and from ±0.2 it was
219 after 6; unigrams alone give 330.
"""

from typing import Annotated

from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contract import Encoder
from charlm.model.encoders.sides import Mixture
from charlm.settings import Dim, Meaning, Range
from charlm.text.vocabulary.vocabulary import Inventory

MAX_FULL = 2**24  # weights of a full tensor: 64 MB


class TensorEncoder(Mixture):
    """x_o = Σ_ab T_oab·word_a·char_b, of low rank: x = W((U·x_word) ⊙ (V·x_char)).

    `rank` 0 is the full tensor. Kim et al. (2016), footnote 14, mention a tensor product without an
    equation. There is no bias, as in a tensor product.

    Raises:
        ConfigError: a full tensor would have more than 2²⁴ weights.
    """

    filler = 1.0  # then it is a linear map of the side that is used

    def __init__(
        self,
        inventory: Inventory,
        *,
        word: Encoder,
        char: Encoder,
        dim: Annotated[Dim, Meaning("dimension of the word vectors")] = 200,
        rank: Annotated[
            int, Range(0, 65_536), Meaning("rank of the tensor; 0: a full tensor")
        ] = 200,
    ) -> None:
        super().__init__(word, char, dim=dim)
        self.rank = rank
        if rank:
            self.of_word = nn.Linear(word.dim, rank, bias=False)
            self.of_char = nn.Linear(char.dim, rank, bias=False)
            self.out = nn.Linear(rank, dim, bias=False)
            return
        if word.dim * char.dim * dim > MAX_FULL:
            raise ConfigError(
                f"encoder 'tensor': rank 0 makes {word.dim} x {char.dim} x {dim} weights; expected "
                f"at most {MAX_FULL}; set its rank, as 200"
            )
        # A matrix, which every initialisation can draw: row o·B + b holds T_oab over a.
        self.full = nn.Linear(word.dim, dim * char.dim, bias=False)

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        if self.rank:
            return {"tensor": self.out(self.of_word(word_NE) * self.of_char(char_NE))}
        by_char_NEE = self.full(word_NE).unflatten(1, (self.dim, -1))
        return {"tensor": (by_char_NEE * char_NE[:, None]).sum(dim=2)}
