"""Concatenation of two encoders' vectors.

Kim et al.'s combination is `highway` over this one; Miyamoto and Cho's is this one of halved sides
or, in their code, `project` over this one of full ones.
"""

from torch import Tensor, cat

from charlm.model.contract import Encoder, Side
from charlm.model.encoders.sides import Sides
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import Inventory


class ConcatEncoder(Encoder):
    """x = [x_word; x_char], eq. 6 of Miyamoto and Cho (2016), who put the characters first.

    A side that is not used is zeros. Differs from their code, where it is the linear map behind
    the concatenation that is left out.
    """

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        super().__init__()
        self.sides = Sides(word, char, absent="zeros")
        self.dim = word.dim + char.dim
        self.reads_spelling = self.sides.read_spelling

    def forward(self, forms: Forms) -> Tensor:
        """The vectors side by side, shape (N, dim), the word side first."""
        return cat(self.sides(forms), dim=1)

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """Both sides' taps, then `concat`."""
        return self.sides.taps(forms, lambda *both: {"concat": cat(both, dim=1)})

    def use_side(self, side: Side) -> None:
        """Zeros in place of the other side's vectors."""
        self.sides.use_side(side)

    def after_step(self) -> None:
        """As both sides'."""
        self.sides.after_step()
