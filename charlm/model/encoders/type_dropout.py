"""Word-type dropout: in training whole forms are dropped, each at all of its positions at once.

A batch's rows are its distinct forms, so a row is a type. This must not be used for the vectors of
an output: a word whose row is zero could not be predicted.
"""

from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional

from charlm.model.contract import Encoder, Wrapper
from charlm.model.forms import Forms
from charlm.settings import Meaning, Probability
from charlm.text.vocabulary.vocabulary import Inventory


class TypeDropout(Wrapper):
    """In training, rows are 0 with probability `p` and otherwise multiplied by 1/(1 − p).

    Gal and Ghahramani (2016) drop rows of the word table; this drops the vectors of any encoder,
    also those made from spellings. Merity et al. (2018) use 0.1.
    """

    def __init__(
        self,
        inventory: Inventory,
        *,
        encoder: Encoder,
        p: Annotated[
            Probability,
            Meaning("share of distinct words zeroed in training, each at all its positions"),
        ] = 0.1,
    ) -> None:
        super().__init__(encoder)
        self.p = p

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        """The inner encoder's taps, with dropout on the last one."""
        taps = self.encoder.taps(forms)
        last = list(taps)[-1]
        return {**taps, last: self.over(taps[last])}

    def over(self, vectors_NE: Tensor) -> Tensor:
        if not self.training:
            return vectors_NE
        ones_N1 = torch.ones_like(vectors_NE[:, :1])
        return vectors_NE * functional.dropout(ones_N1, self.p, training=True)


def without_type_dropout(encoder: Encoder) -> Encoder:
    """The encoder inside any type dropout; else the encoder itself."""
    while isinstance(encoder, TypeDropout):
        encoder = encoder.encoder
    return encoder
