"""Many paths through sentences at once, one word further per step, for trees and lattices.

A path is a state and the vector that the output predicts from. Where several words may follow one
path, the softmax is computed once for all of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from charlm.model.contract import State, gather_state
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids

# Scores (paths times words) that are in memory at once. On a CPU they should fit its cache: 1,024
# paths of 10,000 words took 350 µs per path in one go, 110 in pieces of 100 or 200.
SCORES_AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 26}


Rows = npt.NDArray[np.int64]


class Paths(NamedTuple):
    """N paths, each at the end of what it has read."""

    h_NH: Tensor
    state: State

    def __len__(self) -> int:
        return len(self.h_NH)

    def gather(self, rows: Tensor) -> "Paths":
        """These paths, in this order; a path may occur several times."""
        return Paths(self.h_NH[rows], gather_state(self.state, rows))


class Walker:
    """Takes paths one word further under a model."""

    def __init__(self, forms: FormCache, *, unnormalised: bool = False) -> None:
        """`unnormalised`: a word's score is its log-probability, as in training of such outputs."""
        self.forms = forms
        self.model = forms.model.eval()
        self.unnormalised = unnormalised

    def begin(self, state: State | None = None) -> Paths:
        """One path that has read `</s>` alone, or `</s>` after what `state` has read."""
        if state is None:
            state = self.model.context.initial_state(1)
        start = np.zeros(1, np.int64)
        return Paths(*self.descend(state, parents=[start], form_ids=np.array([END], np.int32)))

    def advance(self, paths: Paths, *, rows: Rows, form_ids: Ids) -> Paths:
        """Paths in which path k is path rows[k] after the form form_ids[k]."""
        return Paths(*self.descend(paths.state, parents=[rows], form_ids=form_ids))

    @torch.no_grad()
    def descend(
        self, state: State, *, parents: Sequence[Rows], form_ids: Ids
    ) -> tuple[Tensor, State]:
        """Go down some levels of a tree, as `Context.descend`; the forms are those of its nodes."""
        x_NG = self.forms.vectors(form_ids)
        on_device = [torch.from_numpy(rows).to(self.forms.device) for rows in parents]
        return self.model.context.descend(x_NG, state, parents=on_device)

    @torch.no_grad()
    def log_probs(
        self, h_NH: Tensor, *, rows: Rows, words: npt.NDArray[np.integer]
    ) -> npt.NDArray[np.float64]:
        """log P(words[k] | h_NH[rows[k]]) in nats, shape (K,)."""
        output = self.model.output
        device = self.forms.device
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        words_K = torch.from_numpy(words[order].astype(np.int64)).to(device)
        rows_K = torch.from_numpy(rows).to(device)
        n_at_once = max(1, SCORES_AT_ONCE[device.type] // self.forms.inventory.n_words)
        pieces = []
        for first in range(0, len(h_NH), n_at_once):
            start, stop = np.searchsorted(rows, [first, first + n_at_once])
            own_NH = h_NH[first : first + n_at_once]
            own_K = rows_K[start:stop] - first
            if output.has_scores:
                log_probs_K = output.word_scores(own_NH[own_K], words_K[start:stop])
                if not self.unnormalised:
                    log_probs_K = log_probs_K - output.log_z(own_NH)[own_K]
            else:
                log_probs_K = -output.nll(own_NH[own_K], words_K[start:stop])
            pieces.append(log_probs_K)
        log_probs = np.empty(len(rows))
        log_probs[order] = torch.cat(pieces).double().cpu().numpy()
        return log_probs
