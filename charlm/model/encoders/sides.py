"""Mixtures: a word encoder and a char encoder over the same forms, combined into one vector.

Any two encoders can be the sides; the names are those of the papers. While pre-training uses only
one side, the other is not computed; each mixture decides what replaces it. This file has the
mixtures without options: concatenation, sum, mean, and a learned weight between the two.
"""

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contract import Encoder, Side, with_taps
from charlm.model.forms import Forms
from charlm.text.vocabulary.vocabulary import Inventory


class Mixture(Encoder):
    """One vector per form from the vectors of two sides; subclasses define `mix`."""

    # A side that is not used has vectors of this number, or (None) those of the other side.
    filler: ClassVar[float | None] = None

    def __init__(self, word: Encoder, char: Encoder, *, dim: int) -> None:
        super().__init__()
        self.sides = nn.ModuleDict({"word": word, "char": char})
        self.dim = dim
        self.used: Side = "both"
        self.reads_spelling = word.reads_spelling or char.reads_spelling

    @abstractmethod
    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        """The mixture's own taps; the last one is the mixed vectors, shape (N, dim)."""

    def vectors_of_sides(self, forms: Forms) -> tuple[Tensor, Tensor]:
        """The vectors of both sides in a common number format, (N, E) each."""
        computed = [name for name in self.sides if self.used in ("both", name)]
        return self._filled({name: self.sides[name](forms) for name in computed})

    def forward(self, forms: Forms) -> Tensor:
        return list(self.mix(*self.vectors_of_sides(forms)).values())[-1]

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """Both sides' taps, then its own; if names clash, the sides' become `word.…`, `char.…`."""
        of_word, of_char = (side.taps(forms) for side in self.inner())
        last = {"word": list(of_word.values())[-1], "char": list(of_char.values())[-1]}
        own = self.mix(*self._filled(last))
        if of_word.keys() & of_char.keys() or (of_word.keys() | of_char.keys()) & own.keys():
            of_word = {f"word.{name}": vectors for name, vectors in of_word.items()}
            of_char = {f"char.{name}": vectors for name, vectors in of_char.items()}
        return with_taps({**of_word, **of_char}, own)

    def _filled(self, computed: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        word_NE, char_NE = (
            computed[name] if self.used in ("both", name) else self._in_place_of(side, computed)
            for name, side in self.sides.items()
        )
        # Under autocast rows of a table are fp32 and products bf16.
        dtype = torch.promote_types(word_NE.dtype, char_NE.dtype)
        return word_NE.to(dtype), char_NE.to(dtype)

    def _in_place_of(self, side: nn.Module, computed: dict[str, Tensor]) -> Tensor:
        used_NE = computed[self.used]
        if self.filler is None:
            return used_NE
        assert isinstance(side, Encoder)
        return used_NE.new_full((used_NE.shape[0], side.dim), self.filler)

    def inner(self) -> list[Encoder]:
        return [side for side in self.sides.values() if isinstance(side, Encoder)]

    def use_side(self, side: Side) -> None:
        """Use only one side's vectors, with the filler in place of the other's."""
        self.used = side


class ConcatEncoder(Mixture):
    """x = [x_word; x_char], eq. 6 of Miyamoto and Cho (2016), who put the characters first.

    A side that is not used is zeros. Differs from their code, where the linear map after the
    concatenation is left out instead. Their models are `project` over this encoder with full sides,
    or this encoder with halved ones. Kim et al.'s combination is `highway` over it.
    """

    filler = 0.0

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        super().__init__(word, char, dim=word.dim + char.dim)

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        return {"concat": torch.cat((word_NE, char_NE), dim=1)}


class EqualSides(Mixture):
    """A mixture of sides of equal width.

    Raises:
        ConfigError: the widths differ.
    """

    name: ClassVar[str]  # as in ENCODERS

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        if word.dim != char.dim:
            raise ConfigError(
                f"encoder {self.name!r}: its word side is {word.dim} wide and its char side "
                f"{char.dim}; expected equal widths; wrap one side in the encoder 'project'"
            )
        super().__init__(word, char, dim=word.dim)


class AddEncoder(EqualSides):
    """x = x_word + x_char; with `word` and `char-ngram` it is fastText's vector of a known word."""

    name, filler = "add", 0.0

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        return {"add": word_NE + char_NE}


class AverageEncoder(EqualSides):
    """x = (x_word + x_char) / 2, tried in Kim et al. (2016), footnote 14.

    Half of the sum is another model than the sum: one uniform initialisation is used for both, and
    the scale of the vectors decides how fast plain gradient descent changes them.
    """

    name = "average"

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        return {"average": torch.lerp(word_NE, char_NE, 0.5)}


class ConvexEncoder(EqualSides):
    """x = (1 − λ)·x_word + λ·x_char with λ = σ(a), a learned number a, the same for all forms.

    "Adaptive weighting schemes whereby the model learns a convex combination" (Kim et al., 2016,
    footnote 14, without an equation). Every initialisation draws a small a, so λ starts near a
    half. For a weight that depends on the word see `gate`.
    """

    name = "convex"

    def __init__(self, inventory: Inventory, *, word: Encoder, char: Encoder) -> None:
        super().__init__(inventory, word=word, char=char)
        self.weight = nn.Parameter(torch.zeros(1))

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        weight = torch.sigmoid(self.weight).to(word_NE.dtype)
        return {"convex": torch.lerp(word_NE, char_NE, weight)}
