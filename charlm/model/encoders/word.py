"""Word vectors: one row per word; a form outside the vocabulary is `<unk>`."""

from typing import Annotated

from torch import Tensor, nn

from charlm.model.contract import Encoder
from charlm.model.forms import Forms
from charlm.model.kernels.sparse_rows import rows_of
from charlm.settings import Dim, Meaning
from charlm.text.vocabulary.vocabulary import Inventory


class WordLookup(Encoder):
    """One learned vector per word (Bengio et al., 2003; the word models of Kim et al., 2016)."""

    reads_spelling = False
    tap = "word"

    def __init__(
        self,
        inventory: Inventory,
        *,
        dim: Annotated[Dim, Meaning("dimension of the word vectors")] = 200,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.table = nn.Embedding(inventory.n_words, dim)

    def forward(self, forms: Forms) -> Tensor:
        return rows_of(self.table.weight, forms.words_N)
