"""An LSTM whose streams can be reset at any step, in few launches per step.

It is for recorded steps, and for fp32 on a CPU, where a call for each piece between resets takes
longer (recipes/bench).

Products that do not depend on a state, such as the weight's gradient, are one product for all
steps. Gates and memory are fp32 if products are bf16. On a CPU the same is computed with plain
operations, with which the tests compare it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from charlm.model.kernels import applied
from charlm.model.kernels.laid_out import laid_out


def masked_lstm(
    x_TBG: Tensor, state: Sequence[Tensor], *, weight_GH: Tensor, keep_TB: Tensor
) -> tuple[Tensor, Tensor]:
    """h_TBH and the last c_BH, starting from (h, c); where `keep_TB` is 0 and not 1, from zeros.

    `x_TBG` is what input and biases add to the gates i, f, g and o; products with the state are
    computed in the weight's format.
    """
    with torch.autocast(x_TBG.device.type, enabled=False):  # it would round the memory
        keep_TB1 = keep_TB.to(state[1].dtype).unsqueeze(2)
        h_TBH, c_BH = applied(MaskedLSTM, x_TBG, *state, weight_GH, keep_TB1)
    return h_TBH, c_BH


class MaskedLSTM(torch.autograd.Function):
    """As `masked_lstm`."""

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> tuple[Tensor, Tensor]:
        """h_TBH and the last c_BH from x_TBG, h_BH, c_BH, weight_GH and keep_TB1."""
        x_TBG, h_BH, c_BH, weight_GH, keep_TB1 = operands
        dim = c_BH.shape[1]
        read_TBH = weight_GH.new_empty(*x_TBG.shape[:2], dim)
        times = _times(weight_GH, n_rows=len(c_BH), dtype=c_BH.dtype)
        outputs, before, after, gates = [], [], [], []
        steps = zip(
            x_TBG.to(c_BH.dtype).unbind(), keep_TB1.unbind(), read_TBH.unbind(), strict=True
        )
        for x_BG, keep_B1, read_BH in steps:
            torch.mul(h_BH, keep_B1, out=read_BH)
            before.append(c_BH * keep_B1)
            h_BH, c_BH, gates_BG = _cell(x_BG, times(read_BH), before[-1])
            outputs.append(h_BH)
            after.append(c_BH)
            gates.append(gates_BG)
        ctx.save_for_backward(weight_GH, keep_TB1, read_TBH, *before, *after, *gates)
        return torch.stack(outputs), c_BH

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of all operands but the last, from those of h_TBH and the last c_BH."""
        weight_GH, keep_TB1, read_TBH, *kept = ctx.saved_tensors
        grad_TBH, grad_c = grads
        n_steps, n_streams, dim = read_TBH.shape
        before, after, gates = (kept[k * n_steps : (k + 1) * n_steps] for k in range(3))
        times = _times(weight_GH.t(), n_rows=n_streams, dtype=grad_c.dtype)
        sums_TBG = read_TBH.new_empty(n_steps, n_streams, 4 * dim)
        grad_h = grad_TBH[-1]
        for t in reversed(range(n_steps)):
            grad_BG, grad_c = _cell_backward(
                grad_h, grad_c, before=before[t], after=after[t], gates_BG=gates[t]
            )
            grad_c = grad_c * keep_TB1[t]
            below_BH = times(sums_TBG[t].copy_(grad_BG))
            grad_h = (
                torch.addcmul(grad_TBH[t - 1], below_BH, keep_TB1[t])
                if t
                else below_BH * keep_TB1[0]
            )
        grad_weight = sums_TBG.flatten(0, 1).t() @ read_TBH.flatten(0, 1)
        return sums_TBG, grad_h, grad_c, grad_weight, None


def _times(weight_GH: Tensor, *, n_rows: int, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """x ↦ x·Wᵀ for x of that many rows, in the given format, summed in it or in a finer one."""
    if weight_GH.is_cuda and weight_GH.dtype != dtype:
        return lambda x_BH: torch.mm(x_BH, weight_GH.t(), out_dtype=dtype)
    times = laid_out(weight_GH, n_rows=n_rows)
    return lambda x_BH: times(x_BH).to(dtype)


def _cell(x_BG: Tensor, sums_BG: Tensor, c_BH: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """h and c after a step, and the squashed gates, from the contributions of input and state."""
    if c_BH.is_cuda:  # one kernel
        h_BH, after_BH, gates_BG = torch.ops.aten._thnn_fused_lstm_cell(x_BG, sums_BG, c_BH)
        return h_BH, after_BH, gates_BG
    i, f, g, o = (x_BG + sums_BG).chunk(4, dim=1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    after_BH = f * c_BH + i * g
    return o * after_BH.tanh(), after_BH, torch.cat([i, f, g, o], dim=1)


def _cell_backward(
    grad_h: Tensor, grad_c: Tensor, *, before: Tensor, after: Tensor, gates_BG: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of the gates' inputs and of the memory before a step."""
    if grad_h.is_cuda:
        grad_BG, grad_before, _ = torch.ops.aten._thnn_fused_lstm_cell_backward_impl(
            grad_h, grad_c, before, after, gates_BG, False
        )
        return grad_BG, grad_before
    i, f, g, o = gates_BG.chunk(4, dim=1)
    squashed = after.tanh()
    to_c = grad_c + grad_h * o * (1 - squashed**2)
    to_gates = (
        to_c * g * i * (1 - i),
        to_c * before * f * (1 - f),
        to_c * i * (1 - g**2),
        grad_h * squashed * o * (1 - o),
    )
    return torch.cat(to_gates, dim=1), to_c * f
