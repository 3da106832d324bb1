"""A charlm model that adapts to what has been chosen so far in a recording.

A sentence's scores depend on its memory: the weights, the cache and, if states are carried, the
state. An empty memory stands for the trained model, with which each recording begins. The
hypotheses of a list are scored with what was chosen before it; none affects the scores of another.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from charlm.model.contract import State
from charlm.nbest.scorer import Words
from charlm.nbest.scorers import LogProbs
from charlm.runtime import autocast
from charlm.scoring.adaptation.adaptive_reader import Adaptation, AdaptiveReader
from charlm.scoring.adaptation.neural_cache import Positions, mixed
from charlm.scoring.likelihood.prefix_tree import Places
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.scorers.neural import NeuralScorer
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids


class AdaptedMemory(NamedTuple):
    """What is left of the sentences before."""

    state: State | None = None  # None: each sentence begins anew
    weights: list[Tensor] | None = None  # None: the trained weights
    remembered: Positions | None = None


class AdaptiveScorer(NeuralScorer):
    """Scores by a run's model, whose context and output adapt to the remembered sentences.

    The encoder does not change, so that words' vectors are computed once.
    """

    def __init__(
        self,
        walker: Walker,
        *,
        adaptation: Adaptation,
        is_carried: bool,
        name: str = "nn",
        precision: str = "fp32",
    ) -> None:
        super().__init__(walker, name=name, precision=precision)
        self.is_carried = is_carried
        self.reader = AdaptiveReader(
            walker.model, self.forms.inventory, adaptation=adaptation, vectors_of=self._kept_vectors
        )
        self._loaded: list[Tensor] | None = None  # the weights that the model has now
        self.adaptation = adaptation.shown + (" and --context previous" if is_carried else "")

    def score_ids(self, sentences: Sequence[Ids], *, memory: object = None) -> list[LogProbs]:
        return super().score_ids(sentences, memory=self._recalled(memory).state)

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """The memory after a sentence that followed `memory`."""
        before = self._recalled(memory)
        ids = np.append(self.forms.ids(sentence), np.int32(END))
        if self.reader.weights is not None:
            self._loaded = []  # those of no memory: a step may be refused when others were made
        with autocast(self.forms.device, self.precision):
            _, state = self.reader.continued_nll(
                ids, spellings=self.forms.form_ids.spellings, state=self._start(before.state)
            )
        if self.reader.weights is not None:
            self._loaded = self.reader.weights.copy()
        return AdaptedMemory(
            state if self.is_carried else None, self._loaded, self.reader.remembered
        )

    def _recalled(self, memory: object) -> AdaptedMemory:
        """The memory, after the model and its cache have been restored to it."""
        before = memory if isinstance(memory, AdaptedMemory) else AdaptedMemory()
        if self.reader.weights is not None and before.weights is not self._loaded:
            self.reader.weights.restore(before.weights)
            self._loaded = before.weights
        self.reader.remembered = before.remembered
        return before

    def _log_probs(self, h_NH: Tensor, *, rows: Places, words: Places) -> LogProbs:
        log_probs = super()._log_probs(h_NH, rows=rows, words=words)
        seen = self.reader.remembered
        if seen is None:
            return log_probs
        device = self.forms.device
        own = Positions(h_NH[torch.from_numpy(rows).to(device)], torch.from_numpy(words).to(device))
        nll_K = torch.from_numpy(-log_probs).to(device)
        with torch.no_grad():
            found = -mixed(nll_K, own, seen=seen, rates=self.reader.adaptation.rates)
        return found.cpu().numpy()

    def _kept_vectors(self, form_ids: Ids, spellings: Sequence[str]) -> Tensor:
        """The vectors of forms, (…, E), from the cache, which knows their spellings."""
        return self.forms.encoded(form_ids.ravel()).view(*form_ids.shape, -1)
