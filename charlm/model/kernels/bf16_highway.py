"""A highway layer's training in bf16 on a CPU: its two products in one, with widths of whole tiles.

Kim et al.'s layers of 1,100 numbers took a quarter longer as two products of that width. Everything
except the products stays in the format of the vectors. The tests compare this with the plain layer.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.kernels.tiles import summed_over_rows, tiled_bf16


class Bf16Highway(torch.autograd.Function):
    """t ⊙ ReLU(W_H y + b_H) + (1 − t) ⊙ y with t = σ(W_T y + b_T), and its gradients.

    A bias is an additional column of its weights, and so is its gradient.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> Tensor:
        """The mixed vectors from y_NE, W_H, b_H, W_T and b_T, in this order, shape (N, E)."""
        y_NE, *weights = operands
        dim = y_NE.shape[1]
        y, stacked = tiled_bf16(y_NE, 1.0), _stacked(weights)
        both = functional.linear(y, stacked).unflatten(1, (2, -1))[..., :dim]
        new_NE = both[:, 0].to(y_NE.dtype).relu_()
        t_NE = both[:, 1].to(y_NE.dtype).sigmoid_()
        ctx.save_for_backward(y_NE, y, stacked, new_NE, t_NE)
        return torch.lerp(y_NE, new_NE, t_NE)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NE: Tensor) -> tuple[Tensor, ...]:
        """Gradients of all operands; those of weights and biases in fp32."""
        y_NE, y, stacked, new_NE, t_NE = ctx.saved_tensors
        dim = grad_NE.shape[1]
        of_new_NE = grad_NE * t_NE
        sums = y.new_empty(len(y), 2, len(stacked) // 2)
        sums[..., dim:] = 0
        sums[:, 0, :dim] = torch.ops.aten.threshold_backward(of_new_NE, new_NE, 0)
        sums[:, 1, :dim] = torch.ops.aten.sigmoid_backward((new_NE - y_NE).mul_(grad_NE), t_NE)
        sums = sums.flatten(1)
        grad_y = (grad_NE - of_new_NE).add_((sums @ stacked)[:, :dim])
        grads = summed_over_rows(sums, y).unflatten(0, (2, -1))[:, :dim]
        of_transform, of_gate = ((rows[:, :dim].float(), rows[:, dim].float()) for rows in grads)
        return grad_y, *of_transform, *of_gate


def _stacked(weights: Sequence[Tensor]) -> Tensor:
    """W_H above W_T in bf16, each with its bias as a last column and padded with zeros to tiles."""
    pairs = zip(weights[::2], weights[1::2], strict=True)
    return torch.cat([tiled_bf16(weight, bias, are_rows_tiled=True) for weight, bias in pairs])
