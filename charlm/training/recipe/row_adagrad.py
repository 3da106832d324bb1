"""torch's Adagrad, with steps of row-sparse gradients that it has no fast kernel for."""

from typing import Any

import torch
from torch import Tensor


class RowAdagrad(torch.optim.Adagrad):
    """Adagrad (Duchi et al., 2011); rows without a gradient stay, as a dense one leaves them.

    A row-sparse gradient is to hold each row once; decay, which moves all rows, is not for it.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step."""
        moved = []
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None and gradient.is_sparse:
                    self._move_rows(parameter, gradient, lr=group["lr"], eps=group["eps"])
                    parameter.grad = None  # torch is to move the others alone
                    moved.append((parameter, gradient))
        result = super().step(closure)
        for parameter, gradient in moved:
            parameter.grad = gradient
        return result

    def _move_rows(self, parameter: Tensor, gradient: Tensor, *, lr: float, eps: float) -> None:
        rows, values = gradient._indices()[0], gradient._values()
        state = self.state[parameter]
        state["step"] += 1
        sums = state["sum"][rows].addcmul_(values, values)
        state["sum"].index_copy_(0, rows, sums)
        parameter.index_add_(0, rows, values / sums.sqrt_().add_(eps), alpha=-lr)
