"""The vectors that an encoder gives to the words of the vocabulary, for composed outputs.

The encoder is only referenced and never registered as a submodule here: if it is the model's input
encoder, its weights are counted, saved, moved and trained once, as those of the input.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contract import Encoder
from charlm.model.encoders.type_dropout import TypeDropout, without_type_dropout
from charlm.model.encoders.word import WordLookup
from charlm.model.forms import FixedForms, Forms, FormTable
from charlm.text.vocabulary.vocabulary import Inventory

FORMS_AT_ONCE = 2048  # in evaluation, where memory must not grow with the vocabulary's letters


class _Kept(NamedTuple):
    """Vectors, and the weights that they were computed from, with marks that show changes."""

    vectors_VE: Tensor
    weights: list[Tensor]  # kept alive, so that no other tensor gets the id of one of them
    marks: list[tuple[int, ...]]


class VocabularyVectors:
    """v_w = encoder(w), plus a free vector per word if `free` is given.

    `type-dropout` has no effect here, as in AWD-LSTM: words that are dropped at the input can still
    be predicted.

    With gradients the vectors are computed at each call, all V at once. Without, in evaluation,
    they are computed once and kept until a weight is changed in place or replaced.
    """

    def __init__(
        self, encoder: Encoder, inventory: Inventory, *, free: nn.Embedding | None = None
    ) -> None:
        self.encoder = without_type_dropout(encoder)
        self.free = free
        self.inventory = inventory
        self._table: FormTable | None = None  # built at first use; a word table needs none
        self._forms: Forms | None = None
        self._kept: _Kept | None = None

    def of_all(self) -> Tensor:
        """The vectors of all words, shape (V, E)."""
        if isinstance(self.encoder, WordLookup):
            return self._with_free(self.encoder.table.weight)  # no copy, so as fast as a softmax
        if torch.is_grad_enabled() or self.encoder.training:
            if self.encoder.training:
                self._kept = None  # frees its memory for activations
            return self._with_free(self._all_encoded())
        marks = self._marks()
        if self._kept is None or self._kept.marks != marks:
            encoded = torch.cat([self.encoder(forms) for forms in self._in_slices()])
            self._kept = _Kept(self._with_free(encoded), self._weights(), marks)
        return self._kept.vectors_VE

    def of(self, words_K: Tensor) -> Tensor:
        """The vectors of these words, shape (K, E); each distinct word is encoded once."""
        if isinstance(self.encoder, WordLookup) or not torch.is_grad_enabled():
            return functional.embedding(words_K, self.of_all())
        distinct, where_K = words_K.unique(return_inverse=True)
        rows = distinct.cpu().numpy()
        encoded = self._encoded(self._form_table().forms(rows).to(words_K.device))
        vectors = encoded if self.free is None else encoded + self.free(distinct)
        return functional.embedding(where_K, vectors)

    def _all_encoded(self) -> Tensor:
        device = self._weights()[0].device
        if self._forms is None or self._forms.words_N.device != device:
            forms = self._form_table().forms(np.arange(self.inventory.n_words)).to(device)
            self._forms = FixedForms(*forms)
        return self._encoded(self._forms)

    def _encoded(self, forms: Forms) -> Tensor:
        """The encoder's vectors, with type dropout switched off."""
        parts = [part for part in self.encoder.modules() if isinstance(part, TypeDropout)]
        active = [part for part in parts if part.training]
        for part in active:
            part.training = False
        try:
            vectors_NE: Tensor = self.encoder(forms)
        finally:
            for part in active:
                part.training = True
        return vectors_NE

    def _in_slices(self) -> Iterator[Forms]:
        device, n_words = self._weights()[0].device, self.inventory.n_words
        for first in range(0, n_words, FORMS_AT_ONCE):
            rows = np.arange(first, min(first + FORMS_AT_ONCE, n_words))
            yield self._form_table().forms(rows).to(device)

    def _form_table(self) -> FormTable:
        if self._table is None:
            self._table = FormTable(self.inventory, self.inventory.words)
        return self._table

    def _with_free(self, vectors_VE: Tensor) -> Tensor:
        return vectors_VE if self.free is None else vectors_VE + self.free.weight

    def _weights(self) -> list[Tensor]:
        free = [] if self.free is None else [self.free.weight]
        return [*self.encoder.parameters(), *self.encoder.buffers(), *free]

    def _marks(self) -> list[tuple[int, ...]]:
        # The version counts changes in place; the address changes with `.to` or a new `.data`.
        # In-place changes of `.data` leave no mark, so weights must be changed under `no_grad`.
        weights = self._weights()
        is_autocast = torch.is_autocast_enabled(weights[0].device.type)
        return [(is_autocast,), *((id(w), w._version, w.data_ptr()) for w in weights)]
