"""The vectors of forms: each spelling is encoded once, and kept while there is room.

A form's vector depends on the form alone, so the vectors of the vocabulary can be computed before a
model is used (Kim et al., 2016, "Further observations"). Here a vector is computed when it is first
needed, so that a short list costs no more than its own forms. The context's first products with a
vector are cached in its place.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.model.forms import FormTable
from charlm.model.language_model import LanguageModel
from charlm.scoring.likelihood.nll import form_slices
from charlm.scoring.likelihood.streams import as_words
from charlm.text.vocabulary.encoding import FormIds, Ids
from charlm.text.vocabulary.vocabulary import Inventory

MAX_BYTES = 1 << 30
MOST_SPELLINGS = 1 << 20  # outside the vocabulary: some 200 MB, then the cache is emptied
ABSENT = -1
FIRST_ROWS = 1024


class FormCache:
    """Maps form ids to the input of a context's `descend`.

    If `max_bytes` cannot hold all words, the most frequent ones, which have the lowest ids, are
    kept. Other forms are encoded again each time.
    """

    def __init__(
        self,
        model: LanguageModel,
        inventory: Inventory,
        *,
        oov_input: str = "unk",
        max_bytes: int = MAX_BYTES,
        keeps_products: bool = True,
    ) -> None:
        """`keeps_products`: cache the context's first products; False where vectors are wanted."""
        self.model = model
        self.inventory = inventory
        self.by_spelling = oov_input == "spelling"
        self.form_ids = FormIds(inventory)
        self.keeps_products = keeps_products
        self.device = next(model.parameters()).device
        self._max_bytes = max_bytes
        self._rows = np.full(inventory.n_words, ABSENT, np.int64)  # the table row of each form id
        self._table_NE = torch.empty(0)
        self._n_kept = 0

    def ids(self, words: Sequence[str]) -> Ids:
        """Form ids of words: below V a word of the vocabulary, from V on a spelling of its own."""
        return np.fromiter((self.form_ids[word] for word in words), np.int32, len(words))

    @torch.no_grad()
    def vectors(self, form_ids: Ids) -> Tensor:
        """The projected vectors of the forms, (N, G), in this order."""
        kept_NE = self.encoded(form_ids)
        return kept_NE if self.keeps_products else self.model.context.project(kept_NE)

    @torch.no_grad()
    def encoded(self, form_ids: npt.NDArray[np.integer]) -> Tensor:
        """The cached rows of the forms, (N, E): the context's first products, or vectors."""
        if not self.by_spelling:
            form_ids = as_words(form_ids, self.inventory.n_words)
        n_forms = self.inventory.n_words + len(self.form_ids.spellings)
        if n_forms > len(self._rows):
            room = max(n_forms, 2 * len(self._rows)) - len(self._rows)
            self._rows = np.pad(self._rows, (0, room), constant_values=ABSENT)
        rows = self._rows[form_ids]
        kept, lacking = np.flatnonzero(rows != ABSENT), np.flatnonzero(rows == ABSENT)
        if not len(lacking):
            return self._table_NE[self._on_device(rows)]
        missing, where = np.unique(form_ids[lacking], return_inverse=True)
        fresh_NE = self._encode(missing)
        self._keep(missing, fresh_NE)
        found_NE = fresh_NE.new_empty(len(rows), fresh_NE.shape[1])
        found_NE[self._on_device(lacking)] = fresh_NE[self._on_device(where)]
        if len(kept):
            found_NE[self._on_device(kept)] = self._table_NE[self._on_device(rows[kept])]
        return found_NE

    def forget(self) -> None:
        """Drop all spellings if there are too many, since a server sees new ones without end.

        Ids given before have no meaning afterwards.
        """
        if len(self.form_ids.spellings) > MOST_SPELLINGS:
            self.form_ids = FormIds(self.inventory)
            self._rows = np.full(self.inventory.n_words, ABSENT, np.int64)
            self._table_NE, self._n_kept = torch.empty(0), 0

    def _keep(self, form_ids: npt.NDArray[np.integer], vectors_NE: Tensor) -> None:
        """Put vectors into the table while there is room."""
        max_rows = max(1, self._max_bytes // (vectors_NE.element_size() * vectors_NE.shape[1]))
        kept = form_ids[: max_rows - self._n_kept]
        if max_rows <= self.inventory.n_words:
            kept = kept[kept < max_rows]
        if not len(kept):
            return
        end = self._n_kept + len(kept)
        if end > len(self._table_NE):
            n_rows = min(max_rows, max(end, 2 * len(self._table_NE), FIRST_ROWS))
            table_NE = vectors_NE.new_empty(n_rows, vectors_NE.shape[1])
            if self._n_kept:
                table_NE[: self._n_kept] = self._table_NE[: self._n_kept]
            self._table_NE = table_NE
        self._table_NE[self._n_kept : end] = vectors_NE[: len(kept)]
        self._rows[kept] = np.arange(self._n_kept, end)
        self._n_kept = end

    def _encode(self, form_ids: npt.NDArray[np.integer]) -> Tensor:
        model = self.model.eval()
        n_words = self.inventory.n_words
        n_known = int(np.searchsorted(form_ids, n_words))
        known = [self.inventory.words[i] for i in form_ids[:n_known].tolist()]
        spelled = [self.form_ids.spellings[i - n_words] for i in form_ids[n_known:].tolist()]
        blocks = []
        for forms, ids in ((known, form_ids[:n_known]), (spelled, form_ids[n_known:])):
            table = FormTable(self.inventory, forms, ids=ids)
            for part in form_slices(table.lengths):
                inputs = table.forms(np.arange(part.start, part.stop))
                vectors_NE = model.encoder(inputs.to(self.device))
                if self.keeps_products:
                    vectors_NE = model.context.project(vectors_NE)
                blocks.append(vectors_NE)
        return torch.cat(blocks)

    def _on_device(self, rows: npt.NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(rows).to(self.device)
