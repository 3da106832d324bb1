"""Averages of the weights over steps, which are validated and kept in their place.

An averaging is a function of counts and perplexities: the averages themselves are the trainer's. It
moves them by `average.lerp_(weights, weight)` after a step.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated

from charlm.settings import Count, Range

Share = Annotated[float, Range(0.0, 0.999_999_9)]


class Averaging(ABC):
    """Which steps' weights are averaged, and how much each counts."""

    @abstractmethod
    def begins(self, valid_ppls: Sequence[float]) -> bool:
        """Whether the steps of the coming epoch are averaged, after epochs of these perplexities.

        Once true, it is true of every longer history.
        """

    @abstractmethod
    def weight(self, n_averaged: int) -> float:
        """The share of the new weights in an average that has seen so many before."""


class NoAveraging(Averaging):
    """The weights as they are."""

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        """Never."""
        return False

    def weight(self, n_averaged: int) -> float:
        """All: the newest weights alone."""
        return 1.0


class Exponential(Averaging):
    """An exponential average of all steps' weights: `decay` is what it keeps at a step.

    It is a plain mean over the first 1 / (1 − decay) steps, so that it does not remember what the
    weights were drawn as.
    """

    def __init__(self, *, decay: Share = 0.9995) -> None:
        self.decay = decay

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        """From the first step on."""
        return True

    def weight(self, n_averaged: int) -> float:
        """The share of the new weights in an average that has seen so many before."""
        return max(1.0 - self.decay, 1.0 / (n_averaged + 1))


class NonMonotonic(Averaging):
    """NT-ASGD (Merity et al., 2017, algorithm 1): the mean since validation ceased to improve.

    It begins after the first epoch that is worse than the best of those that lie more than
    `window` epochs before it; `window` is their non-monotone interval n, counted in epochs.
    """

    def __init__(self, *, window: Count = 5) -> None:
        self.window = window

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        """Whether some epoch so far was worse than the best of long before."""
        lowest = accumulate(valid_ppls, min)  # of the epochs up to each
        later = valid_ppls[self.window + 1 :]
        return any(ppl > low for ppl, low in zip(later, lowest, strict=False))

    def weight(self, n_averaged: int) -> float:
        """The share of the new weights in an average that has seen so many before."""
        return 1.0 / (n_averaged + 1)


AVERAGINGS: dict[str, type[Averaging]] = {
    "none": NoAveraging,
    "ema": Exponential,
    "nt-asgd": NonMonotonic,
}
