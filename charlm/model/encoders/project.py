"""A linear map over the vectors of any encoder: to another width, or of a concatenation.

No activation follows it (that would be `mlp`), so without a bias it adds nothing except a narrower
width to what a context's first layer can do.
"""

from typing import Annotated

from torch import Tensor, nn

from charlm.model.contract import Encoder, Wrapper
from charlm.settings import Dim, Meaning
from charlm.text.vocabulary.vocabulary import Inventory


class ProjectEncoder(Wrapper):
    """z = W y + b; over `concat` it is the concatenation of Miyamoto and Cho's (2016) code."""

    tap = "project"

    def __init__(
        self,
        inventory: Inventory,
        *,
        encoder: Encoder,
        dim: Annotated[Dim, Meaning("dimension of the word vectors")] = 200,
        bias: Annotated[bool, Meaning("the linear map has a bias")] = True,
    ) -> None:
        super().__init__(encoder, dim=dim)
        self.map = nn.Linear(encoder.dim, dim, bias=bias)

    def over(self, vectors_NE: Tensor) -> Tensor:
        mapped_NE: Tensor = self.map(vectors_NE)
        return mapped_NE
