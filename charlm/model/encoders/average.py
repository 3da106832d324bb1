"""The mean of two encoders' vectors.

Half of the sum is not the same model as the sum: one uniform initialisation draws both, and the
vectors' scale decides how fast a plain gradient descent moves them.
"""

import torch
from torch import Tensor

from charlm.model.contract import Encoder, Side
from charlm.model.encoders.sides import Sides, equal_width
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import Inventory


class AverageEncoder(Encoder):
    """x = (x_word + x_char) / 2, tried in Kim et al. (2016), footnote 14.

    Raises:
        ConfigError: sides of unequal width.
    """

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        super().__init__()
        self.sides = Sides(word, char, absent="same")
        self.dim = equal_width("average", word, char=char)
        self.reads_spelling = self.sides.read_spelling

    def forward(self, forms: Forms) -> Tensor:
        """The means, shape (N, dim)."""
        return _mean(*self.sides(forms))

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """Both sides' taps, then `average`."""
        return self.sides.taps(forms, lambda *both: {"average": _mean(*both)})

    def use_side(self, side: Side) -> None:
        """One side's vectors alone, not halved."""
        self.sides.use_side(side)

    def after_step(self) -> None:
        """As both sides'."""
        self.sides.after_step()


def _mean(word_NE: Tensor, char_NE: Tensor) -> Tensor:
    return torch.lerp(word_NE, char_NE, 0.5)
