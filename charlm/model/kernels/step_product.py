"""One matrix in the products of all steps of a recurrence, with one product for its gradient.

autograd would compute a gradient of the matrix's size at each step and add it to the others, which
for few streams takes as long as all products of the steps, and in bf16 rounds every sum.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.kernels import applied


class StepProduct:
    """W x, to be called once for each of `n_steps` with x of shape (B, E); it returns (B, G)."""

    def __init__(self, weight_GE: Tensor, *, n_steps: int, n_streams: int) -> None:
        self.weight_GE = weight_GE
        self.read: list[Tensor] = []  # x of each step
        self.learns = torch.is_grad_enabled() and weight_GE.requires_grad
        if self.learns:
            sums_TBG: Tensor = applied(Gather, weight_GE, self.read, (n_steps, n_streams))
            self.sums = iter(sums_TBG.unbind())

    def __call__(self, x_BE: Tensor) -> Tensor:
        if not self.learns:
            return functional.linear(x_BE, self.weight_GE)
        x_BE = x_BE.to(self.weight_GE.dtype)
        self.read.append(x_BE.detach())
        product_BG: Tensor = applied(Product, x_BE, self.weight_GE.detach(), next(self.sums))
        return product_BG


class Gather(torch.autograd.Function):
    """Zeros to be added to the products; what comes back to them is the products' gradient."""

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> Tensor:
        """(T, B, G), from weight_GE, the list of what is read at each step, and (T, B)."""
        weight_GE, ctx.read, shape = operands
        zeros_TBG: Tensor = weight_GE.new_zeros(()).expand(*shape, len(weight_GE))
        return zeros_TBG

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of weight_GE."""
        (gradient_TBG,) = gradients
        x_NE = torch.cat(ctx.read)
        return gradient_TBG.flatten(0, 1).t() @ x_NE, None, None


class Product(torch.autograd.Function):
    """W x + 0, where W counts as a constant."""

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> Tensor:
        """From x_BE, weight_GE and the zeros."""
        x_BE, weight_GE, _ = operands
        ctx.save_for_backward(weight_GE)
        return functional.linear(x_BE, weight_GE)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, Tensor]:
        """The gradients of x_BE and of the zeros."""
        (gradient_BG,) = gradients
        (weight_GE,) = ctx.saved_tensors
        return gradient_BG @ weight_GE, None, gradient_BG
