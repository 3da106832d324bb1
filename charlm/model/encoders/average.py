"""The mean of two encoders' vectors.

Half of the sum is not the same model as the sum: one uniform initialisation draws both, and the
vectors' scale decides how fast a plain gradient descent moves them.
"""

import torch
from torch import Tensor

from charlm.model.contract import Encoder
from charlm.model.encoders.sides import Mixture, equal_width
from charlm.text.vocabulary.vocabulary import Inventory


class AverageEncoder(Mixture):
    """x = (x_word + x_char) / 2, tried in Kim et al. (2016), footnote 14.

    Raises:
        ConfigError: sides of unequal width.
    """

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        dim = equal_width("average", word, char=char)
        super().__init__(word, char, dim=dim, absent="same")

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        """The means."""
        return {"average": torch.lerp(word_NE, char_NE, 0.5)}
