"""A neural model in lattices: its states at the histories of many lattices.

The state of a history is computed once, whatever lattices the history comes from, and dropped when
no lattice continues from it. If it is needed again, it is computed again from the states that are
left.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from charlm.model.contract import state_leaves, with_leaves
from charlm.nbest.lattices.histories import History, Request
from charlm.nbest.scorers import LogProbs
from charlm.scoring.likelihood.streams import as_words
from charlm.scoring.likelihood.walker import Paths, Walker

LEAST_ROWS = 512  # fewer unused states are not worth moving the others


class NeuralHistories:
    """A neural model at the histories of lattices."""

    def __init__(self, walker: Walker, *, start: Paths) -> None:
        """`start` is one path, after what was said before."""
        self.walker = walker
        self.paths = start  # those in memory
        self._rows: dict[History, int] = {}  # row 0 is the start, for every root

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        self._reach([history for history, _ in requests])
        rows = np.array([self._row(history) for history, _ in requests], np.int64)
        forms = self.walker.forms
        words = as_words(forms.ids([word for _, word in requests]), forms.inventory.n_words)
        distinct, where = np.unique(rows, return_inverse=True)
        asked_NH = self.paths.h_NH[torch.from_numpy(distinct).to(forms.device)]
        return self.walker.log_probs(asked_NH, rows=where, words=words)

    def keep(self, histories: Iterable[History]) -> None:
        live = {self._known(history) for history in histories}
        live = {history for history in live if history.parent is not None}
        dead = len(self.paths) - 1 - len(live)
        if dead < max(LEAST_ROWS, len(live)):
            return
        rows = [0, *(self._rows[history] for history in live)]
        self.paths = self.paths.gather(torch.tensor(rows, device=self.walker.forms.device))
        self._rows = {history: row for row, history in enumerate(live, 1)}

    def _row(self, history: History) -> int:
        return 0 if history.parent is None else self._rows[history]

    def _known(self, history: History) -> History:
        """The longest prefix of a history whose state is in memory."""
        while history.parent is not None and history not in self._rows:
            history = history.parent
        return history

    def _reach(self, histories: list[History]) -> None:
        """Compute the states of histories, all of one depth together."""
        missing: dict[int, dict[History, None]] = {}
        for each in histories:
            history = each
            while history.parent is not None and history not in self._rows:
                level = missing.setdefault(history.depth, {})
                if history in level:
                    break
                level[history] = None
                history = history.parent
        for depth in sorted(missing):
            self._advance(list(missing[depth]))

    @torch.no_grad()
    def _advance(self, histories: list[History]) -> None:
        parents = [history.parent for history in histories if history.parent is not None]
        rows = np.array([self._row(parent) for parent in parents], np.int64)
        form_ids = self.walker.forms.ids([history.word for history in histories])
        fresh = self.walker.advance(self.paths, rows=rows, form_ids=form_ids)
        n_known = len(self.paths)
        self.paths = _joined(self.paths, fresh)
        self._rows.update((history, n_known + i) for i, history in enumerate(histories))


def _joined(one: Paths, other: Paths) -> Paths:
    pairs = zip(state_leaves(one.state), state_leaves(other.state), strict=True)
    state = with_leaves(one.state, [torch.cat(leaves) for leaves in pairs])
    return Paths(torch.cat([one.h_NH, other.h_NH]), state)
