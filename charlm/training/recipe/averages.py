"""Averages of a model's weights over steps, which may stand in the model for a while.

What is validated and kept are the averages once there are any; what is trained are the weights.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor


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
