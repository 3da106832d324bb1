"""Mixtures: a word encoder and a char encoder over the same forms, and one vector of both.

Any two encoders may stand there; the names are the papers'. While pre-training uses one side alone,
the other is not even computed: what stands for it is the mixture's choice.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contract import Encoder, Side, with_taps
from charlm.model.forms import Forms

# What stands for a side that is not used: the other one (of equal width), or a neutral number.
Absent = Literal["same", "zeros", "ones"]


class Sides(nn.Module):
    """Two encoders that run over the same forms; a part of every mixture, no encoder itself."""

    def __init__(self, word: Encoder, char: Encoder, *, absent: Absent) -> None:
        super().__init__()
        self.word = word
        self.char = char
        self.absent = absent
        self.used: Side = "both"
        self.read_spelling = word.reads_spelling or char.reads_spelling

    def forward(self, forms: Forms) -> tuple[Tensor, Tensor]:
        """The vectors of both sides in one number format, (N, E) each."""
        word_NE = None if self.used == "char" else self.word(forms)
        char_NE = None if self.used == "word" else self.char(forms)
        return self._filled(word_NE, char_NE)

    def taps(
        self, forms: Forms, mix: Callable[[Tensor, Tensor], dict[str, Tensor]]
    ) -> dict[str, Tensor]:
        """Both sides' taps, then those that `mix` makes of what `forward` returns.

        Where names clash, those of the sides become `word.…` and `char.…`.
        """
        of_word, of_char = self.word.taps(forms), self.char.taps(forms)
        word_NE = None if self.used == "char" else list(of_word.values())[-1]
        char_NE = None if self.used == "word" else list(of_char.values())[-1]
        own = mix(*self._filled(word_NE, char_NE))
        if of_word.keys() & of_char.keys() or (of_word.keys() | of_char.keys()) & own.keys():
            of_word = {f"word.{name}": vectors for name, vectors in of_word.items()}
            of_char = {f"char.{name}": vectors for name, vectors in of_char.items()}
        return with_taps({**of_word, **of_char}, own)

    def _filled(self, word_NE: Tensor | None, char_NE: Tensor | None) -> tuple[Tensor, Tensor]:
        if word_NE is None:
            assert char_NE is not None
            return self._in_place_of(self.word, char_NE), char_NE
        if char_NE is None:
            return word_NE, self._in_place_of(self.char, word_NE)
        # Under autocast a table of vectors is fp32, a product bf16.
        dtype = torch.promote_types(word_NE.dtype, char_NE.dtype)
        return word_NE.to(dtype), char_NE.to(dtype)

    def _in_place_of(self, absent: Encoder, used_NE: Tensor) -> Tensor:
        if self.absent == "same":
            return used_NE
        number = 1.0 if self.absent == "ones" else 0.0
        return used_NE.new_full((used_NE.shape[0], absent.dim), number)

    def use_side(self, side: Side) -> None:
        """Run one side alone, or both."""
        self.used = side

    def after_step(self) -> None:
        """As both sides'."""
        self.word.after_step()
        self.char.after_step()


class Mixture(Encoder):
    """One vector a form of those of two sides; a part says by `mix` how."""

    def __init__(self, word: Encoder, char: Encoder, *, dim: int, absent: Absent) -> None:
        super().__init__()
        self.sides = Sides(word, char, absent=absent)
        self.dim = dim
        self.reads_spelling = self.sides.read_spelling

    @abstractmethod
    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        """Its own taps, of which the last one is the mixed vectors, shape (N, dim)."""

    def forward(self, forms: Forms) -> Tensor:
        """The mixed vectors, shape (N, dim)."""
        return list(self.mix(*self.sides(forms)).values())[-1]

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """Both sides' taps, then its own."""
        return self.sides.taps(forms, self.mix)

    def use_side(self, side: Side) -> None:
        """One side's vectors alone, with what `absent` says in place of the other's."""
        self.sides.use_side(side)

    def after_step(self) -> None:
        """As both sides'."""
        self.sides.after_step()


def equal_width(mixture: str, word: Encoder, *, char: Encoder) -> int:
    """The width of both sides.

    Raises:
        ConfigError: they differ.
    """
    if word.dim != char.dim:
        raise ConfigError(
            f"encoder {mixture!r}: its word side is {word.dim} wide and its char side {char.dim}; "
            "expected equal widths; wrap one side in the encoder 'project'"
        )
    return word.dim
