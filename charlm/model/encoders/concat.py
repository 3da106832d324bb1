"""Concatenation of two encoders' vectors.

Kim et al.'s combination is `highway` over this one; Miyamoto and Cho's is this one of halved sides
or, in their code, `project` over this one of full ones.
"""

from torch import Tensor, cat

from charlm.model.contract import Encoder
from charlm.model.encoders.sides import Mixture
from charlm.text.vocabulary.vocabulary import Inventory


class ConcatEncoder(Mixture):
    """x = [x_word; x_char], eq. 6 of Miyamoto and Cho (2016), who put the characters first.

    A side that is not used is zeros. Differs from their code, where it is the linear map behind
    the concatenation that is left out.
    """

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        super().__init__(word, char, dim=word.dim + char.dim, absent="zeros")

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        """The vectors side by side, the word side first."""
        return {"concat": cat((word_NE, char_NE), dim=1)}
