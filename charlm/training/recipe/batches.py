"""Batches: distinct forms, where each stands, the words to predict, where states begin anew.

A batch is a function of (seed, epoch, step) alone, so any of them can be made without those before
it: that is what resuming within an epoch rests on.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.model.forms import Forms, FormTable
from charlm.scoring.likelihood.streams import as_words
from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.encoding import EncodedText, Ids
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.ranks import ALONE, Ranks

Bools = npt.NDArray[np.bool_]


class Counts(NamedTuple):
    """Sizes of a batch, over all processes: what a loss is divided by must not depend on them."""

    streams: int  # or sentences
    tokens: int
    pairs: int  # of neighbours that are both to be predicted

    @classmethod
    def of(cls, targets: Ids) -> "Counts":
        """Those of form ids to predict (−1: none), (T, B)."""
        exists = targets >= 0
        n_pairs = int((exists[1:] & exists[:-1]).sum())
        return cls(targets.shape[1], int(exists.sum()), n_pairs)


class Batch(NamedTuple):
    """One chunk of all streams, or some sentences side by side; of several processes, its share."""

    forms: Forms  # the distinct ones, N
    where_TB: Tensor  # rows of `forms`: what is fed in
    words_TB: Tensor  # what is to be predicted; -1: nothing
    n_tokens: int
    n_pairs: int  # of neighbours that are both to be predicted
    whole: Counts
    resets_TB: Tensor | None = None  # where the state begins anew before reading; None: nowhere
    is_fresh: bool = False  # whether no state is carried into it

    @property
    def temporal_weight(self) -> float:
        """How many tokens a mean over the share's neighbours stands for."""
        return self.whole.tokens * self.n_pairs / max(self.whole.pairs, 1)

    @property
    def is_full(self) -> bool:
        """Whether every place has a word to predict."""
        return self.n_tokens == self.words_TB.numel()

    def to(self, device: torch.device) -> "Batch":
        """On a device; the resets stay on the CPU, where the loop over them reads them."""
        return self.map(lambda tensor: tensor.to(device))

    def map(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """`change` applied to every tensor but the resets."""
        return self._replace(
            forms=self.forms.map(change),
            where_TB=change(self.where_TB),
            words_TB=change(self.words_TB),
        )

    def tensors(self) -> list[Tensor]:
        """Every tensor but the resets, in a fixed order."""
        return [*self.forms.tensors(), self.where_TB, self.words_TB]

    def padded(self) -> "Batch":
        """With forms that occur nowhere, so that batches have few shapes."""
        return self._replace(forms=self.forms.padded())


@dataclass(frozen=True)
class Source:
    """A text to make batches of, and how."""

    text: EncodedText
    inventory: Inventory
    batch_size: int  # streams or sentences side by side
    bptt: int
    oov_input: str
    seed: int
    ranks: Ranks = ALONE  # which share of a batch is made

    def generator(self, epoch: int) -> np.random.Generator:
        """For what is drawn anew each epoch."""
        return np.random.default_rng((self.seed, epoch))


class Batches(ABC):
    """The batches of an epoch, in order."""

    @abstractmethod
    def __len__(self) -> int:
        """How many an epoch has; the same for every epoch."""

    @abstractmethod
    def begin_epoch(self, epoch: int) -> None:
        """Draw what is drawn anew each epoch; `epoch` counts from 0."""

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The batch of one step."""

    def from_step(self, step: int) -> Iterator[Batch]:
        """The batches from this one on."""
        return map(self.batch, range(step, len(self)))


class FormBatches:
    """Form ids of a text to tensors: the distinct forms of a batch and where each stands."""

    def __init__(self, source: Source) -> None:
        self.n_words = source.inventory.n_words
        self.columns = source.ranks.columns
        self.by_spelling = source.oov_input == "spelling"
        further = source.text.spellings if self.by_spelling else ()
        self.table = FormTable(source.inventory, (*source.inventory.words, *further))

    def batch(self, inputs: Ids, targets: Ids) -> Batch:
        """The batch of form ids fed in and form ids to predict (−1: none), both (T, B)."""
        whole = Counts.of(targets)
        inputs, targets = self._share(inputs, targets)
        own = Counts.of(targets)
        if not self.by_spelling:
            inputs = np.where(inputs < self.n_words, inputs, UNK).astype(np.int32)
        distinct, where = np.unique(inputs, return_inverse=True)
        return Batch(
            forms=self.table.forms(distinct),
            where_TB=torch.from_numpy(where.reshape(inputs.shape).astype(np.int64)),
            words_TB=torch.from_numpy(as_words(targets, self.n_words)),
            n_tokens=own.tokens,
            n_pairs=own.pairs,
            whole=whole,
        )

    def _share(self, inputs: Ids, targets: Ids) -> tuple[Ids, Ids]:
        """This process's columns; one without anything to predict where it has none."""
        if inputs[:, self.columns].size:
            return inputs[:, self.columns], targets[:, self.columns]
        return inputs[:, :1], np.full_like(targets[:, :1], -1)
