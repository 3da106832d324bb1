"""A linear map over the vectors of any encoder: to another width, or of a concatenation.

No activation follows it (that would be `mlp`), so without a bias it adds nothing except a narrower
width to what a context's first layer can do.
"""

from typing import Annotated

from torch import Tensor, nn

from charlm.model.contract import Encoder, with_taps
from charlm.model.forms import Forms
from charlm.settings import Dim, Meaning
from charlm.text.vocabulary.vocabulary import Inventory


class ProjectEncoder(Encoder):
    """z = W y + b; over `concat` it is the concatenation of Miyamoto and Cho's (2016) code."""

    def __init__(
        self,
        inventory: Inventory,
        *,
        encoder: Encoder,
        dim: Annotated[Dim, Meaning("dimension of the word vectors")] = 200,
        bias: Annotated[bool, Meaning("the linear map has a bias")] = True,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.dim = dim
        self.reads_spelling = encoder.reads_spelling
        self.map = nn.Linear(encoder.dim, dim, bias=bias)

    def forward(self, forms: Forms) -> Tensor:
        vectors_NE: Tensor = self.map(self.encoder(forms))
        return vectors_NE

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """The inner encoder's taps, then `project`."""
        taps = self.encoder.taps(forms)
        return with_taps(taps, {"project": self.map(list(taps.values())[-1])})
