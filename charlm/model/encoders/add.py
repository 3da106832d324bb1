"""The sum of two encoders' vectors.

With `word` and `char-ngram` on its sides it is fastText's vector of a word of the vocabulary.
"""

from torch import Tensor

from charlm.model.contract import Encoder
from charlm.model.encoders.sides import Mixture, equal_width
from charlm.text.vocabulary.vocabulary import Inventory


class AddEncoder(Mixture):
    """x = x_word + x_char.

    Raises:
        ConfigError: sides of unequal width.
    """

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        dim = equal_width("add", word, char=char)
        super().__init__(word, char, dim=dim, absent="zeros")

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        """The sums."""
        return {"add": word_NE + char_NE}
