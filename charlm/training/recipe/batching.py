"""How a text becomes batches: continuous streams, or single sentences.

A batch holds its distinct forms, the position of each, the words to predict, and where states are
reset. It is a function of (seed, epoch, step) only, so each batch can be made without those before
it. This is what makes it possible to resume within an epoch.

A model trained on streams has seen few sentences without preceding context, so it scores single
sentences worse. For models that rescore, use resets at sentence ends, or batches of sentences.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from charlm.errors import DataError
from charlm.model.forms import Forms, FormTable
from charlm.scoring.likelihood.streams import Streams, as_words
from charlm.settings import Count, Meaning, Probability
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import EncodedText, Ids
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.ranks import ALONE, Ranks
from charlm.training.recipe.noise import KneserNeyNoise

LENGTH_STEP = 4  # words; sentence lengths in padded batches are multiples of it
LEAST_FILLED = 0.25  # share of a padded batch's positions, below which padding is left out

Bools = npt.NDArray[np.bool_]


class BatchCounts(NamedTuple):
    """Sizes of a batch, or of the share of it that one of several processes has."""

    streams: int  # or sentences
    tokens: int
    pairs: int  # of adjacent positions that are both to be predicted

    @classmethod
    def of(cls, targets: Ids) -> "BatchCounts":
        """The sizes of a batch with these form ids to predict (−1: none), (T, B)."""
        exists = targets >= 0
        n_pairs = int((exists[1:] & exists[:-1]).sum())
        return cls(targets.shape[1], int(exists.sum()), n_pairs)


class Batch(NamedTuple):
    """One chunk of all streams, or some sentences side by side; with several processes, a share."""

    forms: Forms  # the distinct ones, N
    where_TB: Tensor  # rows of `forms`: the input
    words_TB: Tensor  # the words to predict; -1: none
    own: BatchCounts  # of this share
    whole: BatchCounts  # over all processes, on whose number no divisor must depend
    resets_TB: Tensor | None = None  # where the state is reset before reading; None: nowhere
    keep_TB: Tensor | None = None  # the same for `masked` batches: 0 at resets, 1 elsewhere
    is_fresh: bool = False  # whether it begins with the initial state
    is_padded: bool = False  # to one of a few shapes

    @property
    def temporal_weight(self) -> float:
        """How many tokens the mean over this share's adjacent pairs stands for."""
        return self.whole.tokens * self.own.pairs / max(self.whole.pairs, 1)

    @property
    def is_full(self) -> bool:
        """Whether every position has a word to predict."""
        return self.own.tokens == self.words_TB.numel()

    def to(self, device: torch.device) -> "Batch":
        """The batch on a device; the resets stay on the CPU, where the model reads them."""
        return self.map(lambda tensor: tensor.to(device))

    def map(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """`change` applied to every tensor but the resets."""
        return self._replace(
            forms=self.forms.map(change),
            where_TB=change(self.where_TB),
            words_TB=change(self.words_TB),
            keep_TB=None if self.keep_TB is None else change(self.keep_TB),
        )

    def tensors(self) -> list[Tensor]:
        """Every tensor but the resets, in a fixed order."""
        kept = [] if self.keep_TB is None else [self.keep_TB]
        return [*self.forms.tensors(), self.where_TB, self.words_TB, *kept]

    @property
    def predicts_padding(self) -> bool:
        """Whether predictions are computed even where there is no word to predict.

        For `padded` batches they are, since sizes must not depend on the batch, unless three
        quarters of the positions are padding: a sentence of 4,600 words beside 19 of 50 took 11 GB
        for the scores of 8,000 words. Other batches leave padding out. If sentences of the Penn
        Treebank are drawn whatever their lengths, half of the positions are padding, and without
        it miyamoto-word makes 6,459 tokens/s on a CPU thread instead of 4,302.
        """
        least = LEAST_FILLED if self.is_padded else 1.0
        return self.own.tokens >= least * self.words_TB.numel()

    def masked(self) -> "Batch":
        """The batch with its resets as a mask, with which it is read in one piece."""
        if self.resets_TB is None:
            return self
        return self._replace(resets_TB=None, keep_TB=(~self.resets_TB).float())

    def padded(self) -> "Batch":
        """The batch padded to one of a few shapes, with unused forms; resets become a mask.

        Sentences are lengthened to a multiple of LENGTH_STEP by positions without a word.
        """
        batch = self.masked()._replace(forms=self.forms.padded(), is_padded=True)
        n_more = -len(self.words_TB) % LENGTH_STEP if self.is_fresh else 0
        return batch._replace(
            where_TB=functional.pad(self.where_TB, (0, 0, 0, n_more)),
            words_TB=functional.pad(self.words_TB, (0, 0, 0, n_more), value=-1),
        )


@dataclass(frozen=True)
class BatchSource:
    """A text, and how to make batches of it."""

    text: EncodedText
    inventory: Inventory
    batch_size: int  # streams or sentences side by side
    bptt: int
    oov_input: str
    seed: int
    ranks: Ranks = ALONE  # decides which share of a batch is made
    input_noise: float = 0.0  # largest share of a word's input tokens that are replaced

    def generator(self, epoch: int, *step: int) -> np.random.Generator:
        """The generator for the draws of an epoch, or of one of its steps."""
        return np.random.default_rng((self.seed, epoch, *step))


class Batches(ABC):
    """The batches of an epoch, in order."""

    def __init__(self, source: BatchSource) -> None:
        self.source = source
        self.by_spelling = source.oov_input == "spelling"
        further = source.text.spellings if self.by_spelling else ()
        self.table = FormTable(source.inventory, (*source.inventory.words, *further))
        self.epoch = 0
        self.noise: KneserNeyNoise | None = None
        if source.input_noise:
            n_forms = source.inventory.n_words + len(source.text.spellings)
            self.noise = KneserNeyNoise(source.text.ids, n_forms, share=source.input_noise)

    @abstractmethod
    def __len__(self) -> int:
        """The number of batches in an epoch; the same for every epoch."""

    def begin_epoch(self, epoch: int) -> None:
        """Make the random draws of an epoch; `epoch` counts from 0."""
        self.epoch = epoch

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The batch of one step."""

    def from_step(self, step: int) -> Iterator[Batch]:
        """The batches from this step on."""
        return map(self.batch, range(step, len(self)))

    def typical(self) -> Iterator[Batch]:
        """The batches of the epoch, those first that take about as long as the mean."""
        return self.from_step(0)

    def _batch_of(self, inputs: Ids, targets: Ids, *, step: int) -> Batch:
        """The batch with these input form ids and form ids to predict (−1: none), both (T, B)."""
        n_words, columns = self.source.inventory.n_words, self.source.ranks.columns
        whole = BatchCounts.of(targets)
        if self.noise is not None:  # before the batch is shared out, so that all shares agree
            inputs = self.noise.replace(inputs, self.source.generator(self.epoch, step))
        if inputs[:, columns].size:
            inputs, targets = inputs[:, columns], targets[:, columns]
        else:  # one of several processes may have nothing to predict
            inputs, targets = inputs[:, :1], np.full_like(targets[:, :1], -1)
        if not self.by_spelling:
            inputs = as_words(inputs, n_words).astype(np.int32)
        distinct, where = np.unique(inputs, return_inverse=True)
        return Batch(
            forms=self.table.forms(distinct),
            where_TB=torch.from_numpy(where.reshape(inputs.shape).astype(np.int64)),
            words_TB=torch.from_numpy(as_words(targets, n_words)),
            own=BatchCounts.of(targets),
            whole=whole,
        )


@dataclass(frozen=True, kw_only=True)
class StreamBatching:
    """Equal streams side by side, read in chunks of `bptt` steps with the state carried over.

    `shuffle=partial` rotates each stream by its own random offset in each epoch (Press, 2019).
    After a sentence end the state is reset with probability `reset`. Dropout masks that hold for a
    chunk are also drawn anew there, for all streams, except where resets are a mask: for an LSTM
    and our own loops, on a CPU, in steps recorded on a GPU, and where the state is reset OFTEN. A
    learned initial state has a gradient only where states begin: with resets, or with sentences.
    """

    by_sentence = False

    shuffle: Annotated[
        Literal["none", "partial"],
        Meaning("partial: each epoch rotates the streams by random offsets"),
    ] = "none"
    reset: Annotated[Probability, Meaning("probability that the state is reset after </s>")] = 0.0

    def steps_of_one(self, text: EncodedText, *, bptt: int) -> float:
        """The number of steps in an epoch if there were a single stream."""
        return len(text.ids) / bptt

    def over(self, source: BatchSource) -> "StreamBatches":
        """The batches of a text."""
        return StreamBatches(source, self)


class StreamBatches(Batches):
    """Chunks of streams."""

    def __init__(self, source: BatchSource, batching: StreamBatching) -> None:
        super().__init__(source)
        self.batching = batching
        self.streams = Streams(source.text.ids, n_streams=source.batch_size)
        self.drawn = np.empty(0, np.float32)  # one number per token, if there are resets

    def __len__(self) -> int:
        return math.ceil(self.streams.length / self.source.bptt)

    def begin_epoch(self, epoch: int) -> None:
        """Rotate the streams and draw the resets."""
        super().begin_epoch(epoch)
        generator, ids = self.source.generator(epoch), self.source.text.ids
        if self.batching.shuffle == "partial":
            pieces = [piece for piece in np.split(ids, self.streams.starts[1:]) if len(piece)]
            rotated = [np.roll(piece, -int(generator.integers(len(piece)))) for piece in pieces]
            self.streams = Streams(np.concatenate(rotated), n_streams=self.source.batch_size)
        if self.batching.reset:
            self.drawn = generator.random(len(ids), np.float32)

    def batch(self, step: int) -> Batch:
        first, last = step * self.source.bptt, (step + 1) * self.source.bptt
        inputs, targets = self.streams.chunk(first, last)
        batch = self._batch_of(inputs, targets, step=step)
        if not self.batching.reset:
            return batch
        resets = self._resets(inputs, first=first)
        return batch._replace(resets_TB=torch.from_numpy(resets[:, self.source.ranks.columns]))

    def _resets(self, inputs: Ids, *, first: int) -> Bools:
        """Where the input is `</s>` and the draw decides for a reset."""
        places = self.streams.starts + np.arange(first, first + len(inputs))[:, None]
        drawn = self.drawn[np.minimum(places, len(self.drawn) - 1)]
        resets: Bools = (inputs == END) & (drawn < self.batching.reset)
        return resets


@dataclass(frozen=True, kw_only=True)
class SentenceBatching:
    """Sentences of similar length side by side, shuffled each epoch; each from the initial state.

    Sentences of `max_words` words or more are left out; 0 keeps all (Miyamoto & Cho, 2016: 50).
    Batches are cut from pools of sentences sorted by length, each of `pool` batches' size. A pool
    of 1 gives batches of sentences of any lengths, as in their code.
    """

    by_sentence = True

    max_words: Annotated[
        Count, Meaning("sentences of this many words or more are left out; 0: none")
    ] = 0
    pool: Annotated[
        Count, Meaning("number of batches whose sentences are sorted by length together")
    ] = 50

    def steps_of_one(self, text: EncodedText, *, bptt: int) -> float:
        """The number of steps in an epoch of one sentence per step; sentences are read whole."""
        return text.n_sentences

    def over(self, source: BatchSource) -> "SentenceBatches":
        """The batches of a text.

        Raises:
            DataError: no sentence is short enough.
        """
        return SentenceBatches(source, self)


class SentenceBatches(Batches):
    """Some sentences at a time, padded to the longest."""

    def __init__(self, source: BatchSource, batching: SentenceBatching) -> None:
        super().__init__(source)
        self.pool, max_words = max(1, batching.pool), batching.max_words
        ends = np.flatnonzero(source.text.ids == END)
        starts = np.concatenate([[0], ends[:-1] + 1])
        lengths = ends - starts + 1  # `</s>` counted
        kept = lengths <= max_words if max_words else np.ones(len(lengths), np.bool_)
        if not kept.any():
            raise DataError(
                f"train.txt: no sentence of less than {max_words} words; expected some; raise "
                "--set recipe.batching.max_words"
            )
        self.starts, self.lengths = starts[kept], lengths[kept]

    def __len__(self) -> int:
        return math.ceil(len(self.starts) / self.source.batch_size)

    def begin_epoch(self, epoch: int) -> None:
        """Shuffle the sentences, sort each pool by length, shuffle the batches."""
        super().begin_epoch(epoch)
        generator = self.source.generator(epoch)
        order = generator.permutation(len(self.starts))
        size = self.pool * self.source.batch_size
        pools = [order[first : first + size] for first in range(0, len(order), size)]
        by_length = [pool[np.argsort(self.lengths[pool], kind="stable")] for pool in pools]
        self.order = np.concatenate(by_length)  # of sentences, batch after batch
        self.turns = generator.permutation(len(self))  # the order of the batches

    def typical(self) -> Iterator[Batch]:
        """Those with about the mean number of words first; most are much shorter or longer."""
        firsts = np.arange(0, len(self.order), self.source.batch_size)
        n_words = np.add.reduceat(self.lengths[self.order], firsts)[self.turns]
        nearest = np.argsort(np.abs(n_words - n_words.mean()), kind="stable")
        return map(self.batch, nearest.tolist())

    def batch(self, step: int) -> Batch:
        first = int(self.turns[step]) * self.source.batch_size
        rows = self.order[first : first + self.source.batch_size]
        steps = np.arange(int(self.lengths[rows].max()))[:, None]
        exists = steps < self.lengths[rows]
        places = np.minimum(self.starts[rows] + steps, len(self.source.text.ids) - 1)
        targets = np.where(exists, self.source.text.ids[places], -1).astype(np.int32)
        inputs = np.concatenate([np.full((1, len(rows)), END), targets[:-1]])
        inputs = np.where(exists, inputs, END).astype(np.int32)
        return self._batch_of(inputs, targets, step=step)._replace(is_fresh=True)


BATCHINGS = {"streams": StreamBatching, "sentences": SentenceBatching}
