"""Forms: the spellings that go into an encoder, as tensors.

A batch's forms are its distinct ones; where each occurs is the batch's business. Padding is 0 and
its length says nothing: an encoder gives a form the same vector in any company.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.text.inventory import UNK, Inventory


class Forms(NamedTuple):
    """N forms: as words, and spelled."""

    words_N: Tensor  # word ids, int64; <unk> for a form that is no word
    letters_NL: Tensor  # character ids, int64; 0 beyond a form's end

    def to(self, device: torch.device) -> "Forms":
        return Forms(self.words_N.to(device), self.letters_NL.to(device))


class FormTable:
    """Spellings by row; row r is the form with id `first_id` + r."""

    def __init__(self, inventory: Inventory, forms: Sequence[str], *, first_id: int = 0) -> None:
        self.n_words = inventory.n_words
        self.first_id = first_id
        spelled = [inventory.spelling(form) for form in forms]
        self.lengths = np.array([len(letters) for letters in spelled], np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])[:-1]
        self.letters = np.fromiter((x for s in spelled for x in s), np.int32)

    def __len__(self) -> int:
        return len(self.lengths)

    def forms(self, rows: npt.NDArray[np.integer]) -> Forms:
        """The forms of these rows, in this order."""
        lengths = self.lengths[rows][:, None]
        offsets = np.arange(int(lengths.max(initial=1)))
        places = np.minimum(self.starts[rows][:, None] + offsets, len(self.letters) - 1)
        letters = np.where(offsets < lengths, self.letters[places], 0)
        ids = rows + self.first_id
        words = np.where(ids < self.n_words, ids, UNK)
        return Forms(
            torch.from_numpy(words.astype(np.int64)), torch.from_numpy(letters.astype(np.int64))
        )
