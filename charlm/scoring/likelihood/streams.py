"""A text cut into equal streams that are read side by side, as in training and validation.

Every token is predicted exactly once. The first input of a stream is the token before it in the
text; the very first input is `</s>`, which is not predicted itself.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from charlm.text.corpus.tokens import END, UNK
from charlm.text.vocabulary.encoding import Ids

SENTENCES_AT_ONCE = 64


class Streams:
    """`n_streams` contiguous pieces of a text; the last may be shorter and is filled with −1."""

    def __init__(self, ids: Ids, *, n_streams: int) -> None:
        self.ids = ids
        self.length = -(-len(ids) // n_streams)
        self.starts = np.arange(n_streams, dtype=np.int64) * self.length

    def chunk(self, first: int, last: int) -> tuple[Ids, Ids]:
        """Form ids fed in, and form ids to predict (−1: none), at steps `first` … `last` − 1.

        Both have the shape (T, B); the chunk ends early where the streams do.
        """
        steps = np.arange(first, min(last, self.length), dtype=np.int64)
        places = self.starts + steps[:, None]
        exists = places < len(self.ids)
        targets = np.where(exists, self.ids[np.minimum(places, len(self.ids) - 1)], -1)
        before = self.ids[np.clip(places - 1, 0, len(self.ids) - 1)]
        inputs = np.where(exists & (places > 0), before, END)
        return inputs.astype(np.int32), targets.astype(np.int32)


def as_words(form_ids: npt.NDArray[np.integer], n_words: int) -> npt.NDArray[np.int64]:
    """The words that form ids stand for at the output: `<unk>` from V on; −1 is kept."""
    return np.where(form_ids < n_words, form_ids, UNK).astype(np.int64)


def sentence_batches(sentences: Sequence[Ids]) -> list[list[int]]:
    """The numbers of sentences to read side by side, of similar length, the shortest first."""
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    return [order[i : i + SENTENCES_AT_ONCE] for i in range(0, len(order), SENTENCES_AT_ONCE)]
