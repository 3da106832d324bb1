"""Chunks of streams as batches: the distinct forms, where each stands, and the words to predict."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from charlm.model.forms import Forms, FormTable
from charlm.scoring.streams import Streams, as_words
from charlm.text.corpus import EncodedText
from charlm.text.inventory import UNK, Inventory


class Batch(NamedTuple):
    """One chunk of all streams."""

    forms: Forms  # the distinct ones, N
    where_TB: Tensor  # rows of `forms`: what is fed in
    words_TB: Tensor  # what is to be predicted; -1: nothing
    n_tokens: int

    def to(self, device: torch.device) -> "Batch":
        return Batch(
            self.forms.to(device),
            self.where_TB.to(device),
            self.words_TB.to(device),
            self.n_tokens,
        )


class StreamBatches:
    """The batches of an epoch, in order; any of them can be made without those before it."""

    def __init__(
        self,
        text: EncodedText,
        inventory: Inventory,
        *,
        batch_size: int,
        bptt: int,
        oov_input: str,
    ) -> None:
        self.streams = Streams(text.ids, n_streams=batch_size)
        self.bptt = bptt
        self.n_words = inventory.n_words
        self.by_spelling = oov_input == "spelling"
        further = text.spellings if self.by_spelling else ()
        self.table = FormTable(inventory, (*inventory.words, *further))

    def __len__(self) -> int:
        return math.ceil(self.streams.length / self.bptt)

    def from_step(self, step: int) -> Iterator[Batch]:
        """The batches from this one on."""
        return map(self.batch, range(step, len(self)))

    def batch(self, step: int) -> Batch:
        """The batch of one step."""
        inputs, targets = self.streams.chunk(step * self.bptt, (step + 1) * self.bptt)
        if not self.by_spelling:
            inputs = np.where(inputs < self.n_words, inputs, UNK).astype(np.int32)
        distinct, where = np.unique(inputs, return_inverse=True)
        return Batch(
            forms=self.table.forms(distinct),
            where_TB=torch.from_numpy(where.reshape(inputs.shape).astype(np.int64)),
            words_TB=torch.from_numpy(as_words(targets, self.n_words)),
            n_tokens=int((targets >= 0).sum()),
        )
