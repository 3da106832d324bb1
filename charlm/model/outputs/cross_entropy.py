"""The softmax's cross-entropy in bf16, the costliest step of training, in few passes over memory.

Scores are kept once, as bf16, and turned into probabilities a few rows at a time while those rows
are in the cache; the sums are fp32. The plain way, `functional.cross_entropy`, is the test's truth.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

ROWS_AT_ONCE = 32  # of 10,000 words in fp32: 1.3 MB, within a core's own cache


class Bf16CrossEntropy(torch.autograd.Function):
    """−log softmax(h·Wᵀ + b) at the words, in nats and fp32, and its gradients.

    The forward pass leaves the probabilities p where the scores were; the gradient of the scores is
    p less 1 at the word, and that 1 is subtracted in fp32 where the gradients are summed.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> Tensor:
        """nll_N of h_NH, weight_VH, bias_V and words_N, in this order; words must be at least 0."""
        h_NH, weight_VH, bias_V, words_N = operands
        h, weight, bias = (tensor.to(torch.bfloat16) for tensor in (h_NH, weight_VH, bias_V))
        p_NV = functional.linear(h, weight, bias)
        nll_N = -p_NV.gather(1, words_N[:, None])[:, 0].float()
        for first in range(0, len(p_NV), ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            scores = p_NV[rows].float()
            highest = scores.amax(dim=1, keepdim=True)
            total = scores.sub_(highest).exp_().sum(dim=1, keepdim=True)
            nll_N[rows] += (total.log() + highest)[:, 0]
            p_NV[rows] = scores.mul_(1 / total)
        ctx.save_for_backward(h, weight, p_NV, words_N)
        return nll_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of h, weight and bias, in fp32."""
        h, weight, p_NV, words_N = ctx.saved_tensors
        # Equal gradients become exactly 1 in bf16, so that 1/20 is not rounded for all alike.
        scale = grad_N.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
        share_N = (grad_N / scale).to(torch.bfloat16)
        grad_h = ((p_NV @ weight).float() - weight[words_N].float()) * grad_N[:, None]
        shared_NH = h * share_N[:, None]
        grad_weight = (p_NV.t() @ shared_NH).float()
        grad_weight.index_add_(0, words_N, shared_NH.float(), alpha=-1).mul_(scale)
        grad_bias = (share_N @ p_NV).float()
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
