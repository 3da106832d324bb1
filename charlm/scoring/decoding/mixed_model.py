"""A linear mixture of models with states, as one model with states.

A mixture of probabilities is a probability again: Σ_k weight_k · P_k(word | words before). All
models must predict the same words: a model that predicts `<unk>` where another predicts a word has
an easier task, and its probabilities are not better for it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from charlm.errors import ConfigError
from charlm.interface.arguments import checked_call
from charlm.nbest.ranking.shares import parsed_shares
from charlm.scoring.decoding.states import Floats, Rows, StatefulModel, Steps

Positions = tuple[Any, ...]


class MixedModel(StatefulModel):
    """Runs and n-gram models over the same words, mixed word by word."""

    @checked_call
    def __init__(self, models: Sequence[StatefulModel], weights: Sequence[float]) -> None:
        """
        Raises:
            ConfigError: weights that are not one per model, 0 or above, with sum 1; models with
                different words or different spellers.
        """
        if not models:
            raise ConfigError("models: found none; expected one or more")
        shares = parsed_shares(weights, n_streams=len(models), option="weights")
        first = models[0]
        for number, other in enumerate(models[1:], 2):
            lacking = set(first.words) ^ set(other.words)
            if lacking:
                raise ConfigError(
                    f"models: the first and number {number} differ in {len(lacking)} words, "
                    f"{min(lacking)!r:.60} among them; expected the same words of all; estimate an "
                    "n-gram model with --vocab RUN"
                )
            spellers = {each.speller and each.speller.sha256 for each in (first, other)}
            if len(spellers) > 1:
                raise ConfigError(
                    f"models: the first and number {number} have not the same speller; expected "
                    "the same of all, or none"
                )
        steps = _MixedSteps([each._steps for each in models], shares)
        super().__init__(steps, speller=first.speller)
        self._n_models = len(models)

    def __repr__(self) -> str:
        return f"<charlm mixture of {self._n_models} models, {len(self.words)} words>"


class _MixedSteps:
    """The steps of several models, each at a position of its own."""

    def __init__(self, members: Sequence[Steps], weights: Sequence[float]) -> None:
        self.members = members
        self.words = members[0].words
        with np.errstate(divide="ignore"):  # a weight of 0
            self._log_weights_K = np.log(np.array(weights))
        # For each model, the ids of the first model's words.
        self._places = [_places(self.words, each.words) for each in members]

    def start(self, n: int) -> Positions:
        return tuple(each.start(n) for each in self.members)

    def gather(self, position: Positions, rows: Rows) -> Positions:
        pairs = zip(self.members, position, strict=True)
        return tuple(each.gather(own, rows) for each, own in pairs)

    def log_probs(self, position: Positions, *, rows: Rows, words: Rows) -> Floats:
        return self._mixed(
            [
                each.log_probs(own, rows=rows, words=places[words])
                for each, own, places in zip(self.members, position, self._places, strict=True)
            ]
        )

    def read(
        self, position: Positions, *, rows: Rows, tokens: Sequence[str], words: Rows
    ) -> Positions:
        return tuple(
            each.read(own, rows=rows, tokens=tokens, words=places[words])
            for each, own, places in zip(self.members, position, self._places, strict=True)
        )

    def distribution(self, position: Positions) -> Floats:
        return self._mixed(
            [
                each.distribution(own)[:, places]
                for each, own, places in zip(self.members, position, self._places, strict=True)
            ]
        )

    def _mixed(self, log_probs: Sequence[Floats]) -> Floats:
        mixed: Floats = log_probs[0] + self._log_weights_K[0]
        for own, log_weight in zip(log_probs[1:], self._log_weights_K[1:].tolist(), strict=True):
            mixed = np.logaddexp(mixed, own + log_weight)
        return mixed


def _places(words: Sequence[str], others: Sequence[str]) -> Rows:
    numbers = {word: number for number, word in enumerate(others)}
    return np.array([numbers[word] for word in words], np.int64)
