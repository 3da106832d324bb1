"""The plain LSTM's training in bf16 on a CPU, one layer at a time, in one of two ways.

oneDNN's own layer is faster for narrow layers that are as wide as their input, once the widths are
padded to tiles. For others its backward pass takes up to twice as long as ours, which computes all
products that do not depend on a state for all steps at once. Gates and memory are fp32 in both;
oneDNN rounds the memory that it returns at the end of a chunk.
Evaluation, fp32 and other devices use torch's layer, with which the tests compare.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.kernels import applied
from charlm.model.kernels.laid_out import laid_out
from charlm.model.kernels.tiles import (
    by_thread,
    is_bf16_on_cpu,
    rounded_up,
    summed_over_rows,
    tiled_bf16,
)

tanh_backward = torch.ops.aten.tanh_backward.grad_input
sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
ONEDNN_WIDEST = 384  # units of a layer; at 300 it takes two thirds of our time, at 650 a third more
G = 2  # index of g among i, f, g and o; it is squashed to between −1 and 1


def takes(layer: nn.RNNBase, x_TBE: Tensor) -> bool:
    """Whether a layer should run here: an LSTM in training, under bf16, on a CPU."""
    return (
        layer.mode == "LSTM"
        and layer.training
        and torch.is_grad_enabled()
        and is_bf16_on_cpu(x_TBE)
    )


def run(
    x_TBE: Tensor,
    state: Sequence[Tensor],
    *,
    weights: Sequence[Tensor],
    masks: Mapping[int, Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """h_TBH in bf16, and the last h_BH and c_BH.

    `state` is (h, c). `weights` are the matrices on the input and on the state, and a bias for
    each, with gates in torch's order i, f, g, o. `masks` are those of steps with resets.
    """
    width, dim = rounded_up(x_TBE.shape[2]), rounded_up(state[1].shape[1])
    if not masks and width == dim <= ONEDNN_WIDEST and torch.backends.mkldnn.is_available():
        return _by_onednn(x_TBE, state, weights=weights)
    on_input, on_state, bias_x, bias_h = weights
    h_TBH, c_BH = applied(Bf16LSTM, x_TBE, *state, on_input, on_state, bias_x + bias_h, masks)
    return h_TBH, h_TBH[-1], c_BH


def _by_onednn(
    x_TBE: Tensor, state: Sequence[Tensor], *, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """As `run`, in one call. Units that only pad a tile always have h = c = 0."""
    dim = state[1].shape[1]
    gates = [_filled(w.unflatten(0, (4, dim)), n_last=w.dim()).flatten(0, 1) for w in weights]
    start = tuple(_filled(leaf)[None] for leaf in state)
    found = torch._VF.lstm(_filled(x_TBE), start, gates, True, 1, 0.0, True, False, False)
    h_TBH, h_1BH, c_1BH = (each[..., :dim] for each in found)
    return h_TBH, h_1BH[0], c_1BH[0]


def _filled(numbers: Tensor, *, n_last: int = 1) -> Tensor:
    """The numbers in bf16, with the last one or two dimensions padded to a tile with zeros."""
    more = [(0, rounded_up(size) - size) for size in reversed(numbers.shape[-n_last:])]
    return functional.pad(numbers.bfloat16(), list(chain.from_iterable(more)))


class Bf16LSTM(torch.autograd.Function):
    """c = f ⊙ c + i ⊙ g, h = o ⊙ tanh(c), for all steps of a chunk, and its gradients.

    Products take bf16 and are summed in fp32; what a step adds to its gates is rounded once. With
    g = 2 σ(2 z) − 1, which is tanh(z), one call squashes all gates: the input of g is doubled,
    which is exact, and so is its gradient. Internally a gate has a multiple of a tile's units;
    those that only pad it always have c = h = 0.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> tuple[Tensor, Tensor]:
        """h_TBH and the last c_BH.

        From x_TBE, h_BH, c_BH, weight_GE, weight_GH, bias_G, and the masks of steps with resets.
        """
        x_TBE, h_BH, c_BH, weight_GE, weight_GH, bias_G, ctx.masks = operands
        n_steps, n_streams, ctx.input_dim = x_TBE.shape
        dim = c_BH.shape[1]
        wide = rounded_up(dim)
        x_TBE, on_input = tiled_bf16(x_TBE, 1.0), _tiled(weight_GE, last_G=bias_G)
        on_state = _tiled(weight_GH)
        gates_TBG = functional.linear(x_TBE, on_input).float()
        h_TBH = torch.empty(n_steps + 1, n_streams, wide, dtype=torch.bfloat16)
        c_TBH, squashed_TBH = c_BH.new_empty(h_TBH.shape), c_BH.new_empty(h_TBH[1:].shape)
        h_TBH[0], c_TBH[0] = (functional.pad(leaf, (0, wide - dim)) for leaf in (h_BH, c_BH))
        times = laid_out(on_state, n_rows=n_streams)
        parts = [part.unbind() for part in gates_TBG.chunk(4, dim=-1)]
        hs, cs = h_TBH.unbind(), c_TBH.unbind()
        rows = zip(gates_TBG.unbind(), *parts, squashed_TBH.unbind(), strict=True)
        for t, (sums, i, f, half, o, squashed) in enumerate(rows):
            h, keep = hs[t], ctx.masks.get(t)
            if keep is not None:
                h = h * keep.bfloat16()
                cs[t].mul_(keep)
            sums.add_(times(h)).sigmoid_()
            torch.mul(f, cs[t], out=cs[t + 1]).addcmul_(i, half, value=2).sub_(i)
            torch.mul(o, torch.tanh(cs[t + 1], out=squashed), out=hs[t + 1])
        ctx.save_for_backward(x_TBE, h_TBH, c_TBH, squashed_TBH, gates_TBG, on_input, on_state)
        ctx.dim = dim
        return h_TBH[1:, :, :dim], c_TBH[-1, :, :dim]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of all operands but the last, in fp32, from those of h_TBH and c_BH."""
        x_TBE, h_TBH, *kept, on_input, on_state = ctx.saved_tensors
        filled = (0, h_TBH.shape[2] - ctx.dim)
        grad_TBH, grad_c_BH = (functional.pad(grad.float(), filled) for grad in grads)
        sums_TBG, grad_h, grad_c = _through_time(
            (grad_TBH, grad_c_BH), kept, on_state=on_state, masks=ctx.masks
        )
        sums_NG, x_NE = sums_TBG.flatten(0, 1), x_TBE.flatten(0, 1)
        read_TBH = h_TBH[:-1]
        if ctx.masks:
            read_TBH = read_TBH.clone()
            for t, keep in ctx.masks.items():
                read_TBH[t].mul_(keep)
        grad_x = by_thread(sums_NG, on_input)[:, : ctx.input_dim].float()
        grad_input = summed_over_rows(sums_NG, x_NE)
        grad_state = summed_over_rows(sums_NG, read_TBH.flatten(0, 1))
        return (
            grad_x.view(*x_TBE.shape[:2], ctx.input_dim),
            grad_h[:, : ctx.dim],
            grad_c[:, : ctx.dim],
            _cut(grad_input[:, : ctx.input_dim], dim=ctx.dim),
            _cut(grad_state[:, : ctx.dim], dim=ctx.dim),
            _cut(grad_input[:, ctx.input_dim], dim=ctx.dim),
            None,
        )


def _through_time(
    grads: Sequence[Tensor],
    kept: Sequence[Tensor],
    *,
    on_state: Tensor,
    masks: Mapping[int, Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradient of the gates' sums in bf16, (T, B, G), and those of the first h and c.

    Everything that a step needs is computed within the step, so that it stays in the cache.
    `grads` are those of h_TBH and of the last c_BH.
    """
    grad_TBH, grad_c_BH = grads
    c_TBH, squashed_TBH, gates_TBG = kept
    n_streams, dim = c_TBH.shape[1:]
    sums_TBG = torch.empty_like(gates_TBG, dtype=torch.bfloat16)
    times = laid_out(on_state.t(), n_rows=n_streams)
    row_BG = gates_TBG.new_empty(n_streams, 4 * dim)
    to_i, to_f, to_half, to_o = row_BG.chunk(4, dim=1)
    from_above = torch.zeros_like(grad_c_BH)
    grad_h, to_c = torch.empty_like(grad_c_BH), torch.empty_like(grad_c_BH)
    grad_c = grad_c_BH.clone()
    before_TBH, parts = c_TBH[:-1], (part.unbind() for part in gates_TBG.chunk(4, dim=-1))
    by_step = (each.unbind() for each in (grad_TBH, squashed_TBH, before_TBH, gates_TBG, sums_TBG))
    steps = zip(range(len(sums_TBG)), *by_step, *parts, strict=True)
    for t, grad, squashed, before, gates, sums, i, f, half, o in reversed(list(steps)):
        torch.add(grad, from_above, out=grad_h)
        grad_c.addcmul_(grad_h, tanh_backward(o, squashed, grad_input=to_c))
        torch.mul(grad_c, half, out=to_i).mul_(2).sub_(grad_c)
        torch.mul(grad_c, before, out=to_f)
        torch.mul(grad_c, i, out=to_half).mul_(2)
        torch.mul(grad_h, squashed, out=to_o)
        from_above = times(sums.copy_(sigmoid_backward(row_BG, gates, grad_input=row_BG)))
        grad_c.mul_(f)
        if t in masks:
            from_above.mul_(masks[t])
            grad_c.mul_(masks[t])
    return sums_TBG, from_above.float(), grad_c


def _tiled(weight_GK: Tensor, *, last_G: Tensor | None = None) -> Tensor:
    """The weights in bf16 with a `last` column, gates padded to tiles, and g's rows doubled."""
    last = None if last_G is None else last_G.view(4, -1)
    tiled = tiled_bf16(weight_GK.unflatten(0, (4, -1)), last, are_rows_tiled=True)
    tiled[G].mul_(2)
    return tiled.flatten(0, 1)


def _cut(grad: Tensor, *, dim: int) -> Tensor:
    """The gradient of a weight or a bias from that of its tiled form, in fp32."""
    own: Tensor = grad.unflatten(0, (4, -1))[:, :dim].float()
    own[G].mul_(2)
    return own.flatten(0, 1)
