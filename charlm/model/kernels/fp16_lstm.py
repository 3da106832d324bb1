"""The plain LSTM's training in fp16 on a GPU, where cuDNN has its quickest kernel for it.

That one keeps the weights on the chip over all steps of a chunk; torch chooses it in fp16 alone and
for a few shapes (aten/src/ATen/native/cudnn/RNN.cpp). The rest of the model stays bf16, which needs
no loss scaling; here gradients are scaled where they come in, and back where they go out.

Not run on a GPU yet, and so not the default: none was at hand. The arithmetic is tested on the CPU.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from charlm.runtime import is_fast_gpu_wanted

WIDTH_STEP, WIDEST = 128, 1024
STREAM_STEP, MOST_STREAMS = 8, 128
LEAST = 1e-30  # of a gradient that is scaled: 0 has no scale of its own


def takes(layer: nn.RNNBase, x_TBE: Tensor) -> bool:
    """Whether a layer is to be run here: an LSTM that learns, under bf16, on a GPU, of that shape.

    No gradients, no matter: evaluation is fp32 unless it is asked for otherwise.
    """
    return (
        x_TBE.is_cuda
        and is_fast_gpu_wanted()
        and layer.mode == "LSTM"
        and layer.training
        and torch.is_grad_enabled()
        and torch.is_autocast_enabled("cuda")
        and torch.get_autocast_dtype("cuda") == torch.bfloat16
        and fits(layer, x_TBE.shape[1])
    )


def fits(layer: nn.RNNBase, n_streams: int) -> bool:
    """Whether cuDNN's persistent kernel takes this many streams and these widths."""
    widths = (layer.input_size, layer.hidden_size)
    return (
        all(width % WIDTH_STEP == 0 for width in widths)
        and layer.hidden_size <= WIDEST
        and n_streams % STREAM_STEP == 0
        and n_streams <= MOST_STREAMS
    )


def run(
    x_TBE: Tensor, state: Sequence[Tensor], *, weights: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """h_TBH, and the last h_BH and c_BH, in fp32; arguments as of `bf16_lstm.run`."""
    scales: list[Tensor] = []  # the one of this pass, once its gradients have come in
    x, h, c, *narrow = _Into.apply(  # type: ignore[no-untyped-call]  # torch's own
        scales, x_TBE, *state, *weights
    )
    with torch.autocast(x.device.type, enabled=False):
        ends = torch._VF.lstm(x, (h[None], c[None]), narrow, True, 1, 0.0, True, False, False)
    h_TBH, last_h, last_c = _OutOf.apply(  # type: ignore[no-untyped-call]  # torch's own
        scales, *ends
    )
    return h_TBH, last_h[0], last_c[0]


class _Into(torch.autograd.Function):
    """fp32 or bf16 to fp16; gradients leave through here, and lose their scale."""

    @staticmethod
    def forward(ctx: Any, scales: list[Tensor], *operands: Tensor) -> tuple[Tensor, ...]:
        """x, h, c and the weights; these one behind the other, as cuDNN wants them."""
        ctx.scales = scales
        ctx.dtypes = [operand.dtype for operand in operands]
        weights = operands[3:]
        flat = torch.cat([weight.flatten().half() for weight in weights])
        pieces = flat.split([weight.numel() for weight in weights])
        shaped = [p.view(w.shape) for p, w in zip(pieces, weights, strict=True)]
        return *(operand.half() for operand in operands[:3]), *shaped

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the operands."""
        scale = ctx.scales.pop()
        unscaled = [grad.float() / scale for grad in grads]
        return None, *(g.to(dtype) for g, dtype in zip(unscaled, ctx.dtypes, strict=True))


class _OutOf(torch.autograd.Function):
    """fp16 to fp32; gradients come in through here, the largest number of them made 1."""

    @staticmethod
    def forward(ctx: Any, scales: list[Tensor], *results: Tensor) -> tuple[Tensor, ...]:
        """h_TBH, h and c."""
        ctx.scales = scales
        return tuple(result.float() for result in results)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Scaled gradients, in fp16; no number is read back for it."""
        peak = torch.stack([grad.abs().max() for grad in grads]).max()
        scale = 1.0 / peak.float().clamp(min=LEAST)
        ctx.scales.append(scale)
        return None, *((grad * scale).half() for grad in grads)
