"""A model that reads a stream and adapts to it, one segment at a time.

A token is scored before anything is learned from it. The reader changes the model that it is given:
callers that need the trained model read with a copy (`of_copy`), or restore it.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.model.contract import State, detached
from charlm.model.language_model import LanguageModel
from charlm.run.stored_weights import LoadedRun
from charlm.runtime import without_cudnn
from charlm.scoring.adaptation.adapt_options import Adapt, Rates, shown_rates
from charlm.scoring.adaptation.dynamic import DynamicWeights
from charlm.scoring.adaptation.mean_squares import MeanSquaredGradients
from charlm.scoring.adaptation.neural_cache import Positions, with_cache
from charlm.scoring.likelihood.nll import (
    CHUNK_POSITIONS,
    CHUNK_SCORES,
    ChunkVectors,
    FormVectors,
    Nlls,
)
from charlm.scoring.likelihood.streams import Streams, as_words
from charlm.text.perplexity.signature import HASH_DIGITS
from charlm.text.vocabulary.encoding import Ids
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class Adaptation:
    """How a model adapts to what it reads."""

    mode: Adapt
    rates: Rates
    squares: MeanSquaredGradients | None = None  # None: plain gradient steps

    @property
    def moves(self) -> bool:
        """Whether weights move; at a rate of 0 the text need not be cut into segments."""
        return self.mode in ("dynamic", "both") and self.rates.rate > 0

    @property
    def shown(self) -> str:
        """The mode and its rates, as they stand in a signature."""
        steps = ""
        if self.mode != "cache":
            sha256 = self.squares.train_sha256[:HASH_DIGITS] if self.squares else "none"
            steps = f",squares={sha256}"
        return f"{self.mode}({shown_rates(self.mode, self.rates)}{steps})"


class AdaptiveReader:
    """Reads streams with a model, which it changes."""

    def __init__(
        self,
        model: LanguageModel,
        inventory: Inventory,
        *,
        adaptation: Adaptation,
        oov_input: str = "unk",
        vectors_of: Callable[[Ids, Sequence[str]], Tensor] | None = None,
    ) -> None:
        """With `vectors_of`, which stands for `FormVectors.of`, the encoder does not change."""
        self.model, self.inventory, self.adaptation = model.eval(), inventory, adaptation
        self.weights: DynamicWeights | None = None
        self.remembered: Positions | None = None
        is_changing = vectors_of is None and adaptation.moves
        if adaptation.moves:
            moved = {
                name: parameter
                for name, parameter in model.named_parameters()
                if is_changing or not name.startswith("encoder.")
            }
            squares = adaptation.squares.tensors if adaptation.squares else None
            self.weights = DynamicWeights(moved, rates=adaptation.rates, squares=squares)
        if vectors_of is None:
            kind = ChunkVectors if is_changing else FormVectors
            vectors_of = kind(model, inventory, oov_input=oov_input).of
        self.vectors_of = vectors_of
        # The CPU's limits hold on a GPU as well, since a cache compares every position of a chunk
        # with all positions that any of them sees.
        self._at_once = max(1, min(CHUNK_POSITIONS, CHUNK_SCORES // inventory.n_words))
        if self.weights is not None:
            self._at_once = adaptation.rates.segment

    @classmethod
    def of_copy(cls, run: LoadedRun, adaptation: Adaptation) -> "AdaptiveReader":
        """A reader with a model of its own: the run's stays as it is."""
        model, oov_input = deepcopy(run.model), run.oov_input
        return cls(model, run.inventory, adaptation=adaptation, oov_input=oov_input)

    def restart(self) -> None:
        """Forget everything that was read."""
        if self.weights is not None:
            self.weights.restore(None)
        self.remembered = None

    def continued_nll(
        self, ids: Ids, *, spellings: Sequence[str], state: State
    ) -> tuple[Nlls, State]:
        """nll in nats of each token of `ids`, whole sentences that follow what `state` has read.

        Raises:
            ConfigError: the steps are so large that the weights are no longer finite.
        """
        stream = Streams(ids, n_streams=1)
        # A single array: keeping one small tensor per segment, between large ones that are freed,
        # made memory grow by a megabyte per segment.
        nlls = np.empty(len(ids), np.float32)
        state = detached(state)  # a learned start stays as trained: the squares say nothing of it
        for first in range(0, len(ids), self._at_once):
            last = first + self._at_once
            nll_N, state = self._chunk(*stream.chunk(first, last), spellings=spellings, state=state)
            if self.weights is not None and not bool(nll_N.isfinite().all()):
                rates = self.adaptation.rates
                raise ConfigError(
                    f"--adapt: steps of rate {rates.rate:g} leave no numbers after some text; "
                    "expected a smaller one; give --adapt-rates rate=NUMBER"
                )
            nlls[first:last] = nll_N.float().cpu().numpy()
        return nlls, state

    def _chunk(
        self, inputs: Ids, targets: Ids, *, spellings: Sequence[str], state: State
    ) -> tuple[Tensor, State]:
        model, device = self.model, next(self.model.parameters()).device
        words = torch.from_numpy(as_words(targets[:, 0], self.inventory.n_words)).to(device)
        plain = without_cudnn() if self.weights else nullcontext()
        with torch.set_grad_enabled(self.weights is not None), plain:
            h_TBH, state = model.context(self.vectors_of(inputs, spellings), state)
            h_NH = h_TBH.flatten(0, 1)
            nll_N = model.output.nll(h_NH, words)
            if self.weights is not None:
                self.weights.step(nll_N.mean())
        h_NH, nll_N = h_NH.detach(), nll_N.detach()
        if self.adaptation.mode in ("cache", "both"):
            nll_N, self.remembered = with_cache(
                nll_N, Positions(h_NH, words), before=self.remembered, rates=self.adaptation.rates
            )
        return nll_N, detached(state)
