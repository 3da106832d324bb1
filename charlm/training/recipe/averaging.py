"""Averages of the weights over steps, which are validated and kept in their place.

An averaging is a function of counts and perplexities, and says by what share of the way the
averages move to the weights after a step. What is trained are the weights all the same.
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
    """Which steps' weights are averaged, and how much each counts; here none are."""

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        """Whether the steps of the coming epoch are averaged, after epochs of these perplexities.

        Once true, it is true of every longer history.
        """
        return False

    def weight(self, n_averaged: int) -> float:
        """The share of the new weights in an average that has seen so many before."""
        return 1.0


class NoAveraging(Averaging):
    """The weights as they are."""


@dataclass(frozen=True, kw_only=True)
class Exponential(Averaging):
    """An exponential average of all steps' weights: `decay` is what it keeps at a step.

    Of the first steps it is their polynomial-decay average (Shamir and Zhang, 2013): of degree 0
    their mean, of 9 it goes back over the latest tenth of them, so that a short training's is not
    one of weights that had learnt nothing. That ends where it would forget less than `decay` does.
    """

    decay: Annotated[
        float, Range(0.0, 0.999_999_9), Meaning("what the average keeps at a step")
    ] = 0.9995
    degree: Annotated[
        int, Range(0, 100), Meaning("of the polynomial that weighs the first steps")
    ] = 0

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        return True

    def weight(self, n_averaged: int) -> float:
        return max(1.0 - self.decay, (self.degree + 1) / (n_averaged + self.degree + 1))


@dataclass(frozen=True, kw_only=True)
class NonMonotonic(Averaging):
    """NT-ASGD (Merity et al., 2017, algorithm 1): the mean since validation ceased to improve.

    It begins after the first epoch that is worse than the best of those that lie more than
    `window` epochs before it; `window` is their non-monotone interval n, counted in epochs.
    """

    window: Annotated[Count, Meaning("epochs without gain before the averaging begins")] = 5

    def begins(self, valid_ppls: Sequence[float]) -> bool:
        lowest = accumulate(valid_ppls, min)  # of the epochs up to each
        later = valid_ppls[self.window + 1 :]
        return any(ppl > low for ppl, low in zip(later, lowest, strict=False))

    def weight(self, n_averaged: int) -> float:
        return 1.0 / (n_averaged + 1)


AVERAGINGS: dict[str, type[Averaging]] = {
    "none": NoAveraging,
    "ema": Exponential,
    "nt-asgd": NonMonotonic,
}


class Averages:
    """Averages of parameters; none, and no memory, before the first update."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = list(parameters)
        self.values: list[Tensor] = []

    @torch.no_grad()
    def update(self, weight: float) -> None:
        """Move the averages by `weight` of the way to the parameters; the first are their copy."""
        if self.values:
            torch._foreach_lerp_(self.values, self.parameters, weight)
        else:
            self.values = [parameter.detach().clone() for parameter in self.parameters]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While it lasts the parameters are their averages, if there are any."""
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
