"""Sums of morph vectors: words that share a stem or an ending share a part of their vectors.

The morphs of a form are a *set*: a morph that occurs twice counts once. `Forms` provides such sets.
"""

from typing import Annotated

from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contract import Encoder
from charlm.model.forms import Forms
from charlm.settings import Dim, Meaning
from charlm.text.vocabulary.morphs import PAD_MORPH
from charlm.text.vocabulary.vocabulary import Inventory


class MorphEncoder(Encoder):
    """x_k + Σ_{j ∈ M_k} m_j, eq. 11 of Kim et al. (2016), after Botha & Blunsom (2014).

    `word=False` leaves x_k out. A form outside the vocabulary has the x of `<unk>` and its own
    morphs; morphs that occur in no word of the vocabulary are one unknown morph, that of `<unk>`.
    """

    reads_spelling = True

    def __init__(
        self,
        inventory: Inventory,
        *,
        dim: Annotated[Dim, Meaning("dimension of the vectors of morphs and words")] = 200,
        word: Annotated[bool, Meaning("each word also has a vector of its own")] = True,
    ) -> None:
        super().__init__()
        if inventory.morphs is None:
            raise ConfigError(
                "encoder 'morph': the vocabulary has no morphs; expected one made by `charlm vocab "
                "--data DIR --morphs sentencepiece:N --out FILE`; train with --vocab FILE"
            )
        self.dim = dim
        self.words = nn.Embedding(inventory.n_words, dim) if word else None
        # EmbeddingBag needs no tensor of all vectors, and leaves padding out of sum and gradient.
        self.morphs = nn.EmbeddingBag(
            inventory.morphs.n_rows, dim, mode="sum", padding_idx=PAD_MORPH
        )

    def forward(self, forms: Forms) -> Tensor:
        return self.taps(forms)["morph"]

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """`morphs`: the sum over the morphs; `morph`: with the word's vector."""
        if forms.morphs_NM is None:
            raise ValueError("forms without morphs; their FormTable has another inventory")
        morphs_NE: Tensor = self.morphs(forms.morphs_NM)
        both_NE = morphs_NE if self.words is None else self.words(forms.words_N) + morphs_NE
        return {"morphs": morphs_NE, "morph": both_NE}
