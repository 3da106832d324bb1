"""The plain LSTM's training in bf16 on a CPU, one layer at a time, in fewer and larger products.

oneDNN's own layer packs its weights anew and loses most of its time in the backward pass, where its
widths are no multiples of 32; here weights are packed once a chunk, the products that do not wait
for a state are made for all steps at once, and gates and memory stay fp32. Evaluation, fp32 and
other devices take torch's layer, which is the test's truth.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.tiles import is_bf16_on_cpu, tiled_bf16, transposed

Product = Callable[[Tensor], Tensor]


def takes(layer: nn.RNNBase, x_TBE: Tensor) -> bool:
    """Whether a layer is to be run here: an LSTM that learns, under bf16, on a CPU."""
    return (
        layer.mode == "LSTM"
        and layer.training
        and torch.is_grad_enabled()
        and is_bf16_on_cpu(x_TBE)
    )


def run(
    x_TBE: Tensor, state: Sequence[Tensor], *, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """h_TBH in bf16, and the last h_BH and c_BH.

    `state` is (h, c), `weights` are on the input, on the state, and a bias to each, in torch's
    order of gates i, f, g, o.
    """
    on_input, on_state, bias_x, bias_h = weights
    h_TBH, c_BH = Bf16LSTM.apply(  # type: ignore[no-untyped-call]  # torch's own
        x_TBE, *state, on_input, on_state, bias_x + bias_h
    )
    return h_TBH, h_TBH[-1], c_BH


class Bf16LSTM(torch.autograd.Function):
    """c = f ⊙ c + i ⊙ g, h = o ⊙ tanh(c), for all steps of a chunk, and its gradients.

    Products take bf16 and are summed in fp32; what a step adds to its gates is rounded once.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> tuple[Tensor, Tensor]:
        """h_TBH and the last c_BH of x_TBE, h_BH, c_BH, weight_GE, weight_GH and bias_G."""
        x_TBE, h_BH, c_BH, weight_GE, weight_GH, bias_G = operands
        n_steps, n_streams = x_TBE.shape[:2]
        dim = c_BH.shape[1]
        ctx.input_dim = x_TBE.shape[2]
        x_TBE, on_input, on_state = tiled_bf16(x_TBE), tiled_bf16(weight_GE), weight_GH.bfloat16()
        gates_TBG = functional.linear(x_TBE, on_input).float().add_(bias_G)
        h_TBH = torch.empty(n_steps + 1, n_streams, dim, dtype=torch.bfloat16)
        c_TBH, squashed_TBH = c_BH.new_empty(h_TBH.shape), c_BH.new_empty(h_TBH[1:].shape)
        h_TBH[0], c_TBH[0] = h_BH, c_BH
        times = packed(on_state, n_rows=n_streams)
        parts = [part.unbind() for part in gates_TBG.chunk(4, dim=-1)]
        both = gates_TBG[..., : 2 * dim].unbind()
        hs, cs = h_TBH.unbind(), c_TBH.unbind()
        rows = zip(gates_TBG.unbind(), both, *parts, squashed_TBH.unbind(), strict=True)
        for t, (sums, i_and_f, i, f, g, o, squashed) in enumerate(rows):
            sums.add_(times(hs[t]))
            i_and_f.sigmoid_()
            torch.mul(f, cs[t], out=cs[t + 1]).addcmul_(i, g.tanh_())
            torch.mul(o.sigmoid_(), torch.tanh(cs[t + 1], out=squashed), out=hs[t + 1])
        ctx.save_for_backward(x_TBE, h_TBH, c_TBH, squashed_TBH, gates_TBG, on_input, on_state)
        return h_TBH[1:], c_TBH[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        """Gradients of all operands, in fp32, from those of h_TBH and the last c_BH."""
        grad_TBH, grad_c_BH = grads
        x_TBE, h_TBH, *kept, on_input, on_state = ctx.saved_tensors
        sums_TBG, grad_h, grad_c = _through_time(grad_TBH, grad_c_BH, kept, on_state)
        sums_NG, x_NE = sums_TBG.flatten(0, 1), x_TBE.flatten(0, 1)
        sums_GN = transposed(sums_NG)
        grad_x = (sums_NG @ on_input)[:, : ctx.input_dim].float()
        grad_x = grad_x.view(*x_TBE.shape[:2], ctx.input_dim)
        grad_input = (sums_GN @ x_NE)[:, : ctx.input_dim].float()
        grad_state = (sums_GN @ h_TBH[:-1].flatten(0, 1)).float()
        return grad_x, grad_h, grad_c, grad_input, grad_state, sums_NG.sum(0, dtype=torch.float32)


def _through_time(
    grad_TBH: Tensor, grad_c_BH: Tensor, kept: Sequence[Tensor], on_state: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradient of the gates' sums in bf16, (T, B, G), and those of the first h and c."""
    c_TBH, squashed_TBH, gates_TBG = kept
    n_streams, dim = c_TBH.shape[1:]
    to_c_TBH, factors_TBG = _factors(*kept)
    sums_TBG = torch.empty_like(gates_TBG, dtype=torch.bfloat16)
    times = packed(transposed(on_state), n_rows=n_streams)
    row_BG = gates_TBG.new_empty(n_streams, 4 * dim)
    of_c, of_h = row_BG.view(n_streams, 4, dim).split([3, 1], dim=1)
    grad_h, grad_c = torch.zeros_like(grad_c_BH), grad_c_BH.float().clone()
    spread_c, spread_h = grad_c[:, None], grad_h[:, None]
    factors_TB4H = factors_TBG.view(-1, n_streams, 4, dim)
    by_step = (
        grad_TBH.float().unbind(),
        to_c_TBH.unbind(),
        factors_TB4H[:, :, :3].unbind(),
        factors_TB4H[:, :, 3:].unbind(),
        sums_TBG.unbind(),
        gates_TBG[..., dim : 2 * dim].unbind(),
    )
    for grad, to_c, factors_c, factors_h, sums, f in zip(*map(reversed, by_step), strict=True):
        grad_h.add_(grad)
        grad_c.addcmul_(grad_h, to_c)
        torch.mul(spread_c, factors_c, out=of_c)
        torch.mul(spread_h, factors_h, out=of_h)
        sums.copy_(row_BG)
        grad_h.copy_(times(sums))
        grad_c.mul_(f)
    return sums_TBG, grad_h, grad_c


def _factors(c_TBH: Tensor, squashed_TBH: Tensor, gates_TBG: Tensor) -> tuple[Tensor, Tensor]:
    """By what the gradient of h becomes one of c, (T, B, H); and by what those of c (for i, f and
    g) and of h (for o) become those of the gates' sums, (T, B, G).
    """
    i, f, g, o = gates_TBG.chunk(4, dim=-1)
    factors_TBG = torch.empty_like(gates_TBG)
    of_i, of_f, of_g, of_o = factors_TBG.chunk(4, dim=-1)
    through_sigmoid = torch.ops.aten.sigmoid_backward.grad_input
    through_sigmoid(g, i, grad_input=of_i)
    through_sigmoid(c_TBH[:-1], f, grad_input=of_f)
    torch.ops.aten.tanh_backward.grad_input(i, g, grad_input=of_g)
    through_sigmoid(squashed_TBH, o, grad_input=of_o)
    return torch.ops.aten.tanh_backward(o, squashed_TBH), factors_TBG


def packed(weight_GH: Tensor, *, n_rows: int) -> Product:
    """x ↦ x·Wᵀ for many small x of that many rows, with W laid out for it once, where torch can."""
    if not torch.backends.mkldnn.is_available():
        return lambda x_BH: functional.linear(x_BH, weight_GH)
    tiles = torch.ops.mkldnn._reorder_linear_weight(weight_GH, n_rows)

    def times(x_BH: Tensor) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(x_BH, tiles, None, "none", [], "")
        return product

    return times
