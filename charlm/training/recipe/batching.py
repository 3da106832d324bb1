"""How a text becomes batches: streams that run on, or sentences that each stand alone.

A model trained on streams has seen few sentences without what came before them, so it scores a
sentence on its own worse: resets at sentence ends, or sentences, are for models that rescore.
"""

import math
from typing import Literal

import numpy as np
import torch

from charlm.errors import DataError
from charlm.scoring.likelihood.streams import Streams
from charlm.settings import Count, Probability
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids
from charlm.training.recipe.batches import Batch, Batches, Bools, FormBatches, Source


class StreamBatching:
    """Equal streams side by side, read in chunks of `bptt` steps with their state carried on.

    `shuffle=partial` rotates each stream by a random offset of its own each epoch (Press, 2019).
    After a sentence end the state begins anew with probability `reset`; dropout masks that hold for
    a chunk are drawn anew there, too, for all streams. A learned initial state has a gradient only
    where states begin: with resets, or with sentences.
    """

    by_sentence = False

    def __init__(
        self, *, shuffle: Literal["none", "partial"] = "none", reset: Probability = 0.0
    ) -> None:
        self.shuffle = shuffle
        self.reset = reset

    def over(self, source: Source) -> "StreamBatches":
        """The batches of a text."""
        return StreamBatches(source, is_shuffled=self.shuffle == "partial", reset=self.reset)


class StreamBatches(Batches):
    """Chunks of streams."""

    def __init__(self, source: Source, *, is_shuffled: bool, reset: float) -> None:
        self.source = source
        self.is_shuffled = is_shuffled
        self.reset = reset
        self.forms = FormBatches(source)
        self.streams = Streams(source.text.ids, n_streams=source.batch_size)
        self.drawn = np.empty(0, np.float32)  # one number a token, where resets are drawn

    def __len__(self) -> int:
        return math.ceil(self.streams.length / self.source.bptt)

    def begin_epoch(self, epoch: int) -> None:
        """Rotate the streams and draw the resets."""
        generator, ids = self.source.generator(epoch), self.source.text.ids
        if self.is_shuffled:
            firsts = Streams(ids, n_streams=self.source.batch_size).starts
            pieces = [piece for piece in np.split(ids, firsts[1:]) if len(piece)]
            rotated = [np.roll(piece, -int(generator.integers(len(piece)))) for piece in pieces]
            self.streams = Streams(np.concatenate(rotated), n_streams=self.source.batch_size)
        if self.reset:
            self.drawn = generator.random(len(ids), np.float32)

    def batch(self, step: int) -> Batch:
        """The batch of one step."""
        first, last = step * self.source.bptt, (step + 1) * self.source.bptt
        inputs, targets = self.streams.chunk(first, last)
        batch = self.forms.batch(inputs, targets)
        if not self.reset:
            return batch
        resets = self._resets(inputs, first=first)
        return batch._replace(resets_TB=torch.from_numpy(resets[:, self.source.ranks.columns]))

    def _resets(self, inputs: Ids, *, first: int) -> Bools:
        """Where `</s>` is fed in and the draw says so."""
        places = self.streams.starts + np.arange(first, first + len(inputs))[:, None]
        drawn = self.drawn[np.minimum(places, len(self.drawn) - 1)]
        resets: Bools = (inputs == END) & (drawn < self.reset)
        return resets


class SentenceBatching:
    """Sentences of like length side by side, shuffled each epoch; each from the initial state.

    Those of `max_words` words or more are left out; 0 keeps all (Miyamoto & Cho, 2016: 50).
    A batch is drawn from `pool` batches' worth of sentences, sorted by length.
    """

    by_sentence = True

    def __init__(self, *, max_words: Count = 0, pool: Count = 50) -> None:
        self.max_words = max_words
        self.pool = pool

    def over(self, source: Source) -> "SentenceBatches":
        """The batches of a text.

        Raises:
            DataError: no sentence is short enough.
        """
        return SentenceBatches(source, max_words=self.max_words, pool=max(1, self.pool))


class SentenceBatches(Batches):
    """Some sentences at a time, padded to the longest."""

    def __init__(self, source: Source, *, max_words: int, pool: int) -> None:
        self.source = source
        self.pool = pool
        self.forms = FormBatches(source)
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
        self.order = np.arange(len(self.starts))  # of sentences, batch after batch
        self.turns = np.arange(len(self))  # which batch comes when

    def __len__(self) -> int:
        return math.ceil(len(self.starts) / self.source.batch_size)

    def begin_epoch(self, epoch: int) -> None:
        """Shuffle the sentences, sort each pool by length, shuffle the batches."""
        generator = self.source.generator(epoch)
        order = generator.permutation(len(self.starts))
        size = self.pool * self.source.batch_size
        pools = [order[first : first + size] for first in range(0, len(order), size)]
        by_length = [pool[np.argsort(self.lengths[pool], kind="stable")] for pool in pools]
        self.order = np.concatenate(by_length)
        self.turns = generator.permutation(len(self))

    def batch(self, step: int) -> Batch:
        """The batch of one step."""
        first = int(self.turns[step]) * self.source.batch_size
        rows = self.order[first : first + self.source.batch_size]
        steps = np.arange(int(self.lengths[rows].max()))[:, None]
        exists = steps < self.lengths[rows]
        places = np.minimum(self.starts[rows] + steps, len(self.source.text.ids) - 1)
        targets = np.where(exists, self.source.text.ids[places], -1).astype(np.int32)
        inputs = np.concatenate([np.full((1, len(rows)), END), targets[:-1]])
        inputs = np.where(exists, inputs, END).astype(np.int32)
        return self.forms.batch(inputs, targets)._replace(is_fresh=True)


BATCHINGS = {"streams": StreamBatching, "sentences": SentenceBatching}
