"""Weights that follow a text: Krause et al. (2018), "Dynamic evaluation of neural sequence models".

After each segment every weight w goes a part of its way back to the trained w₀, and a step down the
gradient g of the segment's mean nll: with r = √(mean squared gradient of the training text),

    w ← w + min(1, λ r / mean r) (w₀ − w) − η g / (r + ε)

and without mean squares w ← w + λ (w₀ − w) − η g. The mean of r is that of all weights. In their
code it is that of the tensors' means: 80 times as much in word-char-modern, whose letters are few
and have large gradients, and then next to nothing goes back.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from charlm.scoring.adaptation.adapt_options import Rates

EPSILON = 2e-4  # their code's tenth of it lets weights that hardly ever moved jump

Squares = Mapping[str, Tensor]  # mean squared gradient of every weight, by a parameter's name


class DynamicWeights:
    """Some parameters of a model, which are changed in place, and their way back."""

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], *, rates: Rates, squares: Squares | None
    ) -> None:
        self.parameters = list(parameters.values())
        self.trained = [parameter.detach().clone() for parameter in self.parameters]
        self._steps: list[Tensor] | list[float] = [rates.rate] * len(self.trained)
        self._pulls: list[Tensor] | list[float] = [rates.decay] * len(self.trained)
        if squares is not None:
            mean = torch.cat([square.sqrt().flatten() for square in squares.values()]).mean()
            roots = [squares[name].sqrt().to(p) for name, p in parameters.items()]
            self._steps = [rates.rate / (root + EPSILON) for root in roots]
            if mean == 0:  # a model that the text moves nowhere stays as it is
                mean = torch.ones_like(mean)
            self._pulls = [(rates.decay / mean.to(root) * root).clamp_(max=1) for root in roots]

    def step(self, loss: Tensor) -> None:
        """One step after a segment of this mean nll."""
        gradients = torch.autograd.grad(loss, self.parameters, allow_unused=True)
        with torch.no_grad():
            for place, parameter in enumerate(self.parameters):
                pull, step = self._pulls[place], self._steps[place]
                parameter.lerp_(self.trained[place], pull)
                gradient = gradients[place]
                if gradient is None:  # a part that this segment had no use for
                    continue
                if isinstance(step, Tensor):
                    parameter.addcmul_(gradient, step, value=-1)
                else:
                    parameter.add_(gradient, alpha=-step)

    def copy(self) -> list[Tensor]:
        """The weights as they now are."""
        return [parameter.detach().clone() for parameter in self.parameters]

    @torch.no_grad()
    def restore(self, weights: list[Tensor] | None) -> None:
        """Back to what `copy` gave; None: to the trained weights."""
        for parameter, kept in zip(self.parameters, weights or self.trained, strict=True):
            parameter.copy_(kept)
