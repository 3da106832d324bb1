"""A convex combination of two encoders' vectors with one learned weight.

The weight is the same for all forms; one that depends on the word is `gate`.
"""

import torch
from torch import Tensor, nn

from charlm.model.contract import Encoder, Side
from charlm.model.encoders.sides import Sides, equal_width
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import Inventory


class ConvexEncoder(Encoder):
    """x = (1 − λ)·x_word + λ·x_char with λ = σ(a), a learned number a.

    "Adaptive weighting schemes whereby the model learns a convex combination" (Kim et al., 2016,
    footnote 14, without an equation). A small a, as every initialisation draws, is λ near a half.

    Raises:
        ConfigError: sides of unequal width.
    """

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        super().__init__()
        self.sides = Sides(word, char, absent="same")
        self.weight = nn.Parameter(torch.zeros(1))
        self.dim = equal_width("convex", word, char=char)
        self.reads_spelling = self.sides.read_spelling

    def forward(self, forms: Forms) -> Tensor:
        """The combined vectors, shape (N, dim)."""
        return self._mixed(*self.sides(forms))

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """Both sides' taps, then `convex`."""
        return self.sides.taps(forms, lambda *both: {"convex": self._mixed(*both)})

    def _mixed(self, word_NE: Tensor, char_NE: Tensor) -> Tensor:
        return torch.lerp(word_NE, char_NE, torch.sigmoid(self.weight).to(word_NE.dtype))

    def use_side(self, side: Side) -> None:
        """One side's vectors alone, whatever the weight."""
        self.sides.use_side(side)

    def after_step(self) -> None:
        """As both sides'."""
        self.sides.after_step()
