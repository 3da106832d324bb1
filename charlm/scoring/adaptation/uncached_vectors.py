"""Vectors of forms whose encoder changes: encoded whenever they are asked for, with gradients."""

import numpy as np
import numpy.typing as npt
from torch import Tensor

from charlm.model.forms import FormTable
from charlm.scoring.likelihood.nll import FormRows


class UncachedVectors(FormRows):
    """As `FormVectors`, which keeps what it has encoded."""

    def _of_words(self, words: npt.NDArray[np.int64]) -> Tensor:
        return self._encode(self._words, words)

    def _encode(self, table: FormTable, rows: npt.NDArray[np.integer]) -> Tensor:
        encoded: Tensor = self.model.encoder(table.forms(rows).to(self.device))
        return encoded
