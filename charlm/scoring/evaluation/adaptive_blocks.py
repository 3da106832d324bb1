"""Blocks of a text read by a model that follows it, in one process: one token after the other.

Each state has a copy of the model to itself: what is learned in one is unknown to the other.
"""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np

from charlm.run.stored_weights import LoadedRun
from charlm.runtime import autocast
from charlm.scoring.adaptation.adaptive_reader import Adaptation, AdaptiveReader
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions
from charlm.scoring.likelihood.nll import Nlls
from charlm.text.vocabulary.encoding import Ids


class AdaptiveBlocks:
    """The blocks of one text, from the trained weights on, in the states that are asked for."""

    def __init__(self, run: LoadedRun, adaptation: Adaptation, *, options: EvaluateOptions) -> None:
        self.precision, self._device = options.precision, next(run.model.parameters()).device
        self.readers = {
            state: AdaptiveReader(
                deepcopy(run.model), run.inventory, adaptation=adaptation, oov_input=run.oov_input
            )
            for state in options.states(run)
        }
        self._initial = run.model.context.initial_state(1)
        self._carried = self._initial

    def nlls(self, sentences: Sequence[Ids], *, spellings: Sequence[str]) -> dict[str, Nlls]:
        """For each state the nll in nats of all tokens of the next block, in their order."""
        found: dict[str, Nlls] = {}
        for state, reader in self.readers.items():
            with autocast(self._device, self.precision):
                if state == "carried":
                    # Every block ends with a sentence's `</s>`, which is what goes on being fed in.
                    found[state], self._carried = reader.continued_nll(
                        np.concatenate(sentences), spellings=spellings, state=self._carried
                    )
                else:
                    alone = (
                        reader.continued_nll(ids, spellings=spellings, state=self._initial)[0]
                        for ids in sentences
                    )
                    found[state] = np.concatenate(list(alone))
        return found
