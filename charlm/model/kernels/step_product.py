"""One matrix in the products of all steps of a recurrence, with one product for its gradient.

autograd would compute a gradient of the matrix's size at each step and add it to the others, which
for few streams takes as long as all products of the steps, and in bf16 rounds every sum.
"""

from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.kernels import applied
from charlm.model.kernels.laid_out import laid_out
from charlm.model.kernels.tiles import summed_over_rows


class StepProduct:
    """W x, to be called once for each of `n_steps` with x of shape (B, E); it returns (B, G)."""

    def __init__(self, weight_GE: Tensor, *, n_steps: int, n_streams: int) -> None:
        self.weight_GE = weight_GE
        self.read: list[Tensor] = []  # x of each step
        self.learns = torch.is_grad_enabled() and weight_GE.requires_grad
        if self.learns:
            sums_TBG: Tensor = applied(Gather, weight_GE, self.read, (n_steps, n_streams))
            self.sums = iter(sums_TBG.unbind())
            fixed_GE = weight_GE.detach()
            self.times = laid_out(fixed_GE, n_rows=n_streams)
            self.back = cache(partial(laid_out, fixed_GE.t(), n_rows=n_streams))

    def __call__(self, x_BE: Tensor) -> Tensor:
        if not self.learns:
            return functional.linear(x_BE, self.weight_GE)
        x_BE = x_BE.to(self.weight_GE.dtype)
        self.read.append(x_BE.detach())
        product_BG: Tensor = applied(Product, x_BE, next(self.sums), (self.times, self.back))
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
        x_NE, gradient_NG = torch.cat(ctx.read), gradient_TBG.flatten(0, 1)
        if x_NE.device.type == "cpu" and x_NE.dtype == torch.bfloat16:
            return summed_over_rows(gradient_NG, x_NE), None, None
        return gradient_NG.t() @ x_NE, None, None


class Product(torch.autograd.Function):
    """W x + 0, where W counts as a constant."""

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> Tensor:
        """From x_BE, the zeros, x ↦ x·Wᵀ, and what gives y ↦ y·W."""
        x_BE, _, (times, ctx.back) = operands
        product_BG: Tensor = times(x_BE)
        return product_BG

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        """The gradients of x_BE and of the zeros."""
        (gradient_BG,) = gradients
        return ctx.back()(gradient_BG), gradient_BG, None
