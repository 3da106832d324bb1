"""How parameters are drawn before the first step; one class a method."""

from typing import Annotated

import torch
from torch import nn

from charlm.settings import Range


class Uniform:
    """Every parameter, biases included, uniform in ±`range` (Kim et al., 2016: 0.05)."""

    def __init__(self, *, range: Annotated[float, Range(0, 100)] = 0.05) -> None:
        self.range = range

    @torch.no_grad()
    def apply(self, model: nn.Module) -> None:
        """Draw the parameters from torch's global generator, in their order."""
        for parameter in model.parameters():
            parameter.uniform_(-self.range, self.range)


INITIALISATIONS = {"uniform": Uniform}
