"""Weights that adapt to a text (dynamic evaluation).

Krause et al. (2018), "Dynamic evaluation of neural sequence models": after each segment, every
weight w moves part of the way back to its trained value w₀, and takes a step down the gradient g of
the segment's mean nll. With r = √(mean squared gradient of the training text),

    w ← w + min(1, λ r / mean r) (w₀ − w) − η g / (r + ε)

and without mean squares w ← w + λ (w₀ − w) − η g. Here mean r is the mean over all weights. Krause
et al.'s code takes the mean of the tensors' means instead. In word-char-modern, whose letters are
few and have large gradients, that is 80 times as large, so that the weights hardly move back.

A learned initial state does not move: it has no mean square, as streams hardly ever begin.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from charlm.scoring.adaptation.adapt_options import Rates

EPSILON = 2e-4  # a tenth of it, as in their code, lets weights that hardly ever moved jump

Squares = Mapping[str, Tensor]  # mean squared gradient of every weight, by parameter name


class DynamicWeights:
    """Some parameters of a model, which are changed in place and can be restored."""

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
            if mean == 0:  # a model without any gradient on the text stays as it is
                mean = torch.ones_like(mean)
            self._pulls = [(rates.decay / mean.to(root) * root).clamp_(max=1) for root in roots]

    def step(self, loss: Tensor) -> None:
        """Take one step after a segment with this mean nll."""
        gradients = torch.autograd.grad(loss, self.parameters, allow_unused=True)
        with torch.no_grad():
            for place, parameter in enumerate(self.parameters):
                pull, step = self._pulls[place], self._steps[place]
                parameter.lerp_(self.trained[place], pull)
                gradient = gradients[place]
                if gradient is None:  # a part that this segment did not use
                    continue
                gradient = gradient.to_dense()  # that of a large table may be row-sparse
                if isinstance(step, Tensor):
                    parameter.addcmul_(gradient, step, value=-1)
                else:
                    parameter.add_(gradient, alpha=-step)
        # Autocast would go on with its copies of the weights as they were before the step.
        torch.clear_autocast_cache()

    def copy(self) -> list[Tensor]:
        return [parameter.detach().clone() for parameter in self.parameters]

    @torch.no_grad()
    def restore(self, weights: list[Tensor] | None) -> None:
        """Go back to what `copy` returned; None: to the trained weights."""
        for parameter, kept in zip(self.parameters, weights or self.trained, strict=True):
            parameter.copy_(kept)
        torch.clear_autocast_cache()
