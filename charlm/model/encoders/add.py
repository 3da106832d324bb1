"""The sum of two encoders' vectors.

With `word` and `char-ngram` on its sides it is fastText's vector of a word of the vocabulary.
"""

from torch import Tensor

from charlm.model.contract import Encoder, Side
from charlm.model.encoders.sides import Sides, equal_width
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import Inventory


class AddEncoder(Encoder):
    """x = x_word + x_char.

    Raises:
        ConfigError: sides of unequal width.
    """

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        super().__init__()
        self.sides = Sides(word, char, absent="zeros")
        self.dim = equal_width("add", word, char=char)
        self.reads_spelling = self.sides.read_spelling

    def forward(self, forms: Forms) -> Tensor:
        """The sums, shape (N, dim)."""
        word_NE, char_NE = self.sides(forms)
        sum_NE: Tensor = word_NE + char_NE
        return sum_NE

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """Both sides' taps, then `add`."""
        return self.sides.taps(forms, lambda word_NE, char_NE: {"add": word_NE + char_NE})

    def use_side(self, side: Side) -> None:
        """One side's vectors alone."""
        self.sides.use_side(side)

    def after_step(self) -> None:
        """As both sides'."""
        self.sides.after_step()
