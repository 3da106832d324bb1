"""A convex combination of two encoders' vectors with one learned weight.

The weight is the same for all forms; one that depends on the word is `gate`.
"""

import torch
from torch import Tensor, nn

from charlm.model.contract import Encoder
from charlm.model.encoders.sides import Mixture, equal_width
from charlm.text.vocabulary.vocabulary import Inventory


class ConvexEncoder(Mixture):
    """x = (1 − λ)·x_word + λ·x_char with λ = σ(a), a learned number a.

    "Adaptive weighting schemes whereby the model learns a convex combination" (Kim et al., 2016,
    footnote 14, without an equation). A small a, as every initialisation draws, is λ near a half.

    Raises:
        ConfigError: sides of unequal width.
    """

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        dim = equal_width("convex", word, char=char)
        super().__init__(word, char, dim=dim, absent="same")
        self.weight = nn.Parameter(torch.zeros(1))

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        """The combined vectors."""
        weight = torch.sigmoid(self.weight).to(word_NE.dtype)
        return {"convex": torch.lerp(word_NE, char_NE, weight)}
