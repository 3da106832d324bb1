"""The softmax's cross-entropy in bf16, the costliest step of training, in few passes over memory.

Scores are kept once, as bf16, and become probabilities where they stand; exponentials and their
sums are fp32. The bias is one more number of a word's vector, so that its gradient comes with the
others'. The plain way, `functional.cross_entropy`, is the test's truth.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.tiles import by_thread, tiled_bf16, transposed

WIDE = 512  # numbers of a word; where there are more, its product with a transpose pays for one
LEAST = 1e-30  # of a probability that is read back; softmax sets those below 1e-38 to 0


class Bf16CrossEntropy(torch.autograd.Function):
    """−log softmax(h·Wᵀ + b) at the words, in nats and fp32, and its gradients.

    The forward pass leaves the probabilities p where the scores were; the gradient of the scores is
    p less 1 at the word, and that 1 is subtracted in fp32 where the gradients are summed. A word's
    nll is read from its p, whose rounding moves it by less than that of the scores does.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> Tensor:
        """nll_N of h_NH, weight_VH, bias_V and words_N, in this order; words must be at least 0."""
        h_NH, weight_VH, bias_V, words_N = operands
        h, weight = tiled_bf16(h_NH, 1.0), tiled_bf16(weight_VH, bias_V)
        scores_NV = functional.linear(h, weight)
        # `torch.softmax(…, out=scores_NV)` would compute elsewhere and copy.
        p_NV = torch.ops.aten._softmax.out(scores_NV, 1, False, out=scores_NV)
        ctx.save_for_backward(h, weight, p_NV, words_N)
        ctx.dim = h_NH.shape[1]
        own_N = p_NV.gather(1, words_N[:, None])[:, 0].float()
        nll_N: Tensor = -own_N.log()
        lost = (own_N < LEAST).nonzero()[:, 0]
        if len(lost):
            again = functional.linear(h[lost], weight).float()
            nll_N[lost] = functional.cross_entropy(again, words_N[lost], reduction="none")
        return nll_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of h, weight and bias, in fp32."""
        h, weight, p_NV, words_N = ctx.saved_tensors
        # Equal gradients become exactly 1 in bf16, so that 1/20 is not rounded for all alike.
        scale = grad_N.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
        share_N = (grad_N / scale).to(torch.bfloat16)
        expected_NH = by_thread(p_NV, weight)[:, : ctx.dim].float()
        grad_h = (expected_NH - weight[words_N, : ctx.dim].float()) * grad_N[:, None]
        shared_NH = h * share_N[:, None]
        p_VN = transposed(p_NV) if shared_NH.shape[1] > WIDE else p_NV.t()
        grads_VH = p_VN @ shared_NH
        grad_weight, grad_bias = grads_VH[:, : ctx.dim].float(), grads_VH[:, ctx.dim].float()
        grad_weight.index_add_(0, words_N, shared_NH[:, : ctx.dim].float(), alpha=-1).mul_(scale)
        grad_bias.index_add_(0, words_N, share_N.float(), alpha=-1).mul_(scale)
        return grad_h, grad_weight, grad_bias, None


def bf16_cross_entropy(
    h_NH: Tensor, words_N: Tensor, *, weight_VH: Tensor, bias_V: Tensor
) -> Tensor:
    """nll_N in nats, fp32; 0, and no gradient, where the word is -1."""
    nll_N: Tensor = Bf16CrossEntropy.apply(  # type: ignore[no-untyped-call]  # torch's own
        h_NH, weight_VH, bias_V, words_N.clamp(min=0)
    )
    return torch.where(words_N >= 0, nll_N, 0.0)
