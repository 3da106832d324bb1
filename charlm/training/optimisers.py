"""Optimisers by name; each says how torch's own is made."""

from collections.abc import Iterable
from typing import Annotated

import torch
from torch import nn

from charlm.settings import Range

Rate = Annotated[float, Range(0.0, 1e6)]


class SGD:
    """Plain stochastic gradient descent, without momentum (Kim et al., 2016: rate 1)."""

    def __init__(self, *, lr: Rate = 1.0) -> None:
        self.lr = lr

    def over(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """torch's optimiser for these parameters."""
        return torch.optim.SGD(parameters, lr=self.lr, foreach=True)


OPTIMISERS = {"sgd": SGD}
