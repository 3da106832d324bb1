"""Forms: the spellings that an encoder reads, as tensors.

The forms of a batch are distinct; the batch itself says where each occurs. Padding is 0, and its
length has no effect: a form's vector does not depend on the other forms of the batch. The morphs of
a form are a set: their order has no effect either.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.vocabulary import Inventory

LEAST_ROWS = 64  # in a padded batch
WIDTH_STEP = 8


class Forms(NamedTuple):
    """N forms, each as a word, as characters and as morphs."""

    words_N: Tensor  # word ids, int64; <unk> for a form outside the vocabulary
    letters_NL: Tensor  # character ids, int64; 0 beyond a form's end
    morphs_NM: Tensor | None = None  # ids of distinct morphs, int64; None: words are not segmented

    def to(self, device: torch.device) -> "Forms":
        return self.map(lambda tensor: tensor.to(device))

    def map(self, change: Callable[[Tensor], Tensor]) -> "Forms":
        """`change` applied to every tensor."""
        morphs_NM = None if self.morphs_NM is None else change(self.morphs_NM)
        return Forms(change(self.words_N), change(self.letters_NL), morphs_NM)

    def tensors(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        return [tensor for tensor in self if tensor is not None]

    def padded(self) -> "Forms":
        """The forms padded to one of a few shapes: wider rows, and further rows of empty `<unk>`.

        A chunk of 20 × 35 tokens of PTB has 250 to 400 forms of 10 to 21 letters.
        """
        n_more = _roomy(len(self.words_N)) - len(self.words_N)

        def filled(ids_NL: Tensor) -> Tensor:
            return functional.pad(ids_NL, (0, -ids_NL.shape[1] % WIDTH_STEP, 0, n_more))

        return Forms(
            functional.pad(self.words_N, (0, n_more), value=UNK),
            filled(self.letters_NL),
            None if self.morphs_NM is None else filled(self.morphs_NM),
        )


class FixedForms(Forms):
    """Forms whose tensors never change, so that results computed from them can be cached."""


def _roomy(number: int) -> int:
    """The next larger of a series of sizes that grow by a quarter."""
    size = LEAST_ROWS
    while size < number:
        size += -(-size // (4 * WIDTH_STEP)) * WIDTH_STEP
    return size


class FormTable:
    """Spellings by row; row r is the form with id `ids[r]`, or r where none are given."""

    def __init__(
        self, inventory: Inventory, forms: Sequence[str], *, ids: npt.ArrayLike | None = None
    ) -> None:
        own = np.arange(len(forms)) if ids is None else np.asarray(ids)
        self._words = np.where(own < inventory.n_words, own, UNK).astype(np.int64)
        self._letters = _Lists([inventory.spelling(form) for form in forms])
        self.lengths = self._letters.lengths
        self._morphs: _Lists | None = None
        if inventory.morphs is not None:
            self._morphs = _Lists([inventory.morph_ids(form) for form in forms])

    def __len__(self) -> int:
        return len(self.lengths)

    def forms(self, rows: npt.NDArray[np.integer]) -> Forms:
        """The forms of these rows, in this order."""
        return Forms(
            torch.from_numpy(self._words[rows]),
            self._letters.padded(rows),
            None if self._morphs is None else self._morphs.padded(rows),
        )


class _Lists:
    """Lists of ids, stored end to end and returned as rows of one length, padded with 0."""

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        self.lengths = np.array([len(each) for each in lists], np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])[:-1]
        self.ids = np.fromiter((*chain.from_iterable(lists), 0), np.int32)  # never empty

    def padded(self, rows: npt.NDArray[np.integer]) -> Tensor:
        """These lists as rows, int64, as wide as the longest."""
        lengths = self.lengths[rows][:, None]
        offsets = np.arange(int(lengths.max(initial=1)))
        places = np.minimum(self.starts[rows][:, None] + offsets, len(self.ids) - 1)
        ids = np.where(offsets < lengths, self.ids[places], 0)
        return torch.from_numpy(ids.astype(np.int64))


def bounded_slices(
    lengths: npt.NDArray[np.int64], *, most_rows: int, most_places: int
) -> Iterator[slice]:
    """Slices of rows in order, each bounded in rows and in places (with padding)."""
    start = longest = 0
    for row, length in enumerate(lengths.tolist()):
        n_rows, longest = row - start + 1, max(longest, length)
        if row > start and (n_rows > most_rows or n_rows * longest > most_places):
            yield slice(start, row)
            start, longest = row, length
    if start < len(lengths):
        yield slice(start, len(lengths))
