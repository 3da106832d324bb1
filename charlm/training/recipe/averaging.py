"""Averages of the weights over steps; the averages are validated and stored instead of the weights.

An averaging is a function of counts and perplexities. It gives the share by which the averages move
towards the weights after a step. Training itself continues with the plain weights.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated

import torch
from torch import Tensor

from charlm.settings import Count, Meaning, Range


class Averaging:
    """Which steps' weights are averaged, and how much each step counts; the base averages none."""

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        """Whether the next epoch's steps are averaged, given the perplexities of the epochs so far.

        Once true, it stays true for every longer history.
        """
        return False

    def weight(self, n_averaged: int) -> float:
        """The share of the new weights in an average of `n_averaged` earlier steps."""
        return 1.0

    def left_out(self, *, n_epochs: int, n_pretraining: int, patience: int) -> str:
        """A note if no step can be averaged in so many epochs, or with patience; "" if one can."""
        return ""


class NoAveraging(Averaging):
    """The plain weights, not averaged."""


@dataclass(frozen=True, kw_only=True)
class Exponential(Averaging):
    """An exponential average of all steps' weights; each step keeps a share `decay` of it.

    Over the first steps it is their polynomial-decay average (Shamir and Zhang, 2013): with degree
    0 their mean; with degree 9 it goes back over the latest tenth of them, so that the average of a
    short training does not contain weights that had learnt nothing. The exponential average takes
    over once the polynomial one would forget less per step than `decay` does.
    """

    decay: Annotated[
        float, Range(0.0, 0.999_999_9), Meaning("share of the average that is kept at each step")
    ] = 0.9995
    degree: Annotated[
        int,
        Range(0, 100),
        Meaning("degree of the polynomial that weights the first steps; 0: their mean"),
    ] = 0

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        return True

    def weight(self, n_averaged: int) -> float:
        return max(1.0 - self.decay, (self.degree + 1) / (n_averaged + self.degree + 1))


@dataclass(frozen=True, kw_only=True)
class NonMonotonic(Averaging):
    """NT-ASGD (Merity et al., 2017, algorithm 1): the mean since validation stopped improving.

    Averaging begins after the first epoch that is worse than the best of the epochs more than
    `window` before it; `window` is the paper's non-monotone interval n, counted in epochs.
    """

    window: Annotated[Count, Meaning("epochs without improvement before averaging begins")] = 5

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        lowest = accumulate(valid_ppls, min)  # up to and including each epoch
        later = valid_ppls[self.window + 1 :]
        return any(ppl > low for ppl, low in zip(later, lowest, strict=False))

    def weight(self, n_averaged: int) -> float:
        return 1.0 / (n_averaged + 1)

    def left_out(self, *, n_epochs: int, n_pretraining: int, patience: int) -> str:
        first = n_pretraining + self.window + 3
        if n_epochs >= first:
            return self._too_late(patience)
        return (
            f"no weights are averaged: with recipe.averaging.window={self.window} epoch {first} is "
            f"the first that can be, and --epochs is {n_epochs}"
        )

    def _too_late(self, patience: int) -> str:
        """A note if patience ends a training as early as averaging would begin; else ""."""
        least = self.window + 2  # epochs without improvement, of which the last one is averaged
        if not 0 < patience < least:
            return ""
        return (
            f"recipe.patience={patience} may end the training before weights are averaged, which "
            f"recipe.averaging.window={self.window} begins after {self.window + 1} epochs without "
            f"improvement; take {least} or more, or 0"
        )


AVERAGINGS: dict[str, type[Averaging]] = {
    "none": NoAveraging,
    "ema": Exponential,
    "nt-asgd": NonMonotonic,
}


class Averages:
    """Averages of parameters; they take no memory before the first update."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = list(parameters)
        self.values: list[Tensor] = []

    @torch.no_grad()
    def update(self, weight: float) -> None:
        """Move the averages towards the parameters by the share `weight`; the first are a copy."""
        if self.values:
            torch._foreach_lerp_(self.values, self.parameters, weight)
        else:
            self.values = [parameter.detach().clone() for parameter in self.parameters]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within this context the parameters hold their averages, if there are any."""
        if not self.values:
            yield
            return
        own = [parameter.detach().clone() for parameter in self.parameters]
        self._fill(self.values)
        try:
            yield
        finally:
            self._fill(own)

    @torch.no_grad()
    def _fill(self, values: list[Tensor]) -> None:
        torch._foreach_copy_(self.parameters, values)
