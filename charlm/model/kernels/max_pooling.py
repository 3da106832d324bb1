"""The largest response of each filter over a form's windows: the product and the maximum in one.

The windows are first copied next to each other: a product over overlapping windows took ten times
as long. If several windows tie, as those over padding do, they share the gradient: finding the
first of them would cost more than everything else. The tests compare with `windows.max` of the
product.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from charlm.model.kernels import applied
from charlm.model.kernels.tiles import as_multiplied, tiled_bf16


def strongest_responses(x_NLD: Tensor, matrix_FW: Tensor) -> Tensor:
    """max over windows of window · filter, shape (N, F); a window is W / D letters.

    Under autocast the product and the result are in autocast's dtype.
    """
    responses: Tensor = applied(StrongestResponses, as_multiplied(x_NLD), as_multiplied(matrix_FW))
    return responses


class StrongestResponses(torch.autograd.Function):
    """As `strongest_responses`, all in the operands' own dtype."""

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> Tensor:
        """The responses, shape (N, F), from x_NLD and matrix_FW."""
        x_NLD, matrix_FW = operands
        n_forms, length, dim = x_NLD.shape
        full = matrix_FW.shape[1]
        windows = x_NLD.reshape(n_forms, length * dim).unfold(1, full, dim)
        if matrix_FW.dtype == torch.bfloat16:
            windows, matrix_FW = tiled_bf16(windows), tiled_bf16(matrix_FW)
        windows_PW = windows.reshape(-1, matrix_FW.shape[1])
        responses = (windows_PW @ matrix_FW.t()).view(*windows.shape[:2], -1)
        strongest_NF = responses.amax(dim=1)
        ctx.save_for_backward(windows_PW, matrix_FW, responses, strongest_NF)
        ctx.shape, ctx.full = x_NLD.shape, full
        return strongest_NF

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NF: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of letters and filters."""
        windows_PW, matrix_FW, responses, strongest_NF = ctx.saved_tensors
        shares = torch.eq(responses, strongest_NF[:, None], out=torch.empty_like(responses))
        shares.mul_((grad_NF / shares.sum(dim=1))[:, None])
        shares_PF = shares.flatten(0, 1)
        grad_windows = (shares_PF @ matrix_FW)[:, : ctx.full].unflatten(0, shares.shape[:2])
        n_windows, dim = shares.shape[1], ctx.shape[2]
        grad_x = grad_windows.new_zeros(ctx.shape)
        for place, part in enumerate(grad_windows.split(dim, dim=2)):
            grad_x[:, place : place + n_windows] += part
        return grad_x, (shares_PF.t() @ windows_PW)[:, : ctx.full]
