"""Vectors of forms whose encoder changes: encoded whenever they are asked for, with gradients."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.model.forms import FormTable
from charlm.model.language_model import LanguageModel
from charlm.text.corpus.tokens import UNK
from charlm.text.vocabulary.encoding import Ids
from charlm.text.vocabulary.vocabulary import Inventory


class ChangingVectors:
    """As `FormVectors`, which keeps what it has encoded."""

    def __init__(
        self, model: LanguageModel, inventory: Inventory, *, oov_input: str = "unk"
    ) -> None:
        self.model = model
        self.inventory = inventory
        self.by_spelling = oov_input == "spelling"
        self.device = next(model.parameters()).device
        self._words = FormTable(inventory, inventory.words)

    def rows(self, form_ids: Ids, spellings: Sequence[str]) -> tuple[Tensor, npt.NDArray[np.int64]]:
        """Vectors of the distinct forms among `form_ids`, (N, E), and each form's row there."""
        n_words = self.inventory.n_words
        if not self.by_spelling:
            form_ids = np.where(form_ids < n_words, form_ids, UNK).astype(np.int32)
        distinct, where = np.unique(form_ids, return_inverse=True)
        n_known = int(np.searchsorted(distinct, n_words))
        forms = [self._words.forms(distinct[:n_known])] if n_known else []
        if n_known < len(distinct):
            new = [spellings[i - n_words] for i in distinct[n_known:]]
            table = FormTable(self.inventory, new, first_id=n_words)
            forms.append(table.forms(np.arange(len(table))))
        vectors_NE = torch.cat([self.model.encoder(each.to(self.device)) for each in forms])
        return vectors_NE, where.reshape(form_ids.shape).astype(np.int64)
