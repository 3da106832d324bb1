"""The gate of Miyamoto and Cho (2016): how much of a form's vector comes from its spelling.

The gate is computed from the word's own vector, so it is one number per word, the same in every
context; all forms outside the vocabulary share the gate of `<unk>`.
"""

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.model.contract import Encoder
from charlm.model.encoders.sides import EqualSides
from charlm.settings import Meaning, Range
from charlm.text.vocabulary.vocabulary import Inventory


class GateEncoder(EqualSides):
    """x = (1 − g)·x_word + g·x_char; `adaptive`: g = σ(v·x_word + b), eq. 3; `fixed`: g = `value`.

    `value` (eq. 7: 0.25, 0.5 or 0.75) applies only to `fixed`, which has no parameters of its own.

    Raises:
        ConfigError: the sides have different widths, or the word side reads spelling: the gate
            would then weigh a spelling against itself, and could not tell rare words from
            frequent ones.
    """

    name = "gate"

    def __init__(
        self,
        inventory: Inventory,
        *,
        word: Encoder,
        char: Encoder,
        kind: Annotated[
            Literal["adaptive", "fixed"],
            Meaning("a gate computed for each word, or one value for all words"),
        ] = "adaptive",
        value: Annotated[
            float,
            Range(0.0, 1.0),
            Meaning("value of the fixed gate: weight of the character vector"),
        ] = 0.5,
    ) -> None:
        if word.reads_spelling:
            raise ConfigError(
                "encoder 'gate': its word side reads spelling; expected an encoder that does not; "
                "use --set encoder.word.type=word"
            )
        super().__init__(inventory, word=word, char=char)
        self.gate = nn.Linear(self.dim, 1) if kind == "adaptive" else None
        self.value = value

    def mix(self, word_NE: Tensor, char_NE: Tensor) -> dict[str, Tensor]:
        """`gate`, (N, 1), and the mixed vectors, `gated`."""
        if self.gate is None:
            gate_N1 = word_NE.new_full((word_NE.shape[0], 1), self.value)
        else:
            gate_N1 = torch.sigmoid(self.gate(word_NE)).to(word_NE.dtype)
        return {"gate": gate_N1, "gated": torch.lerp(word_NE, char_NE, gate_N1)}
