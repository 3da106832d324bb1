"""The softmax's cross-entropy, the most expensive part of training, in few passes over memory.

Scores are stored once and become probabilities in place. A word's nll is read from its probability,
whose rounding changes it by no more than the rounding of the scores does. The tests compare with
`functional.cross_entropy`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.kernels import applied
from charlm.model.kernels.tiles import (
    by_thread,
    is_bf16,
    rounded_up,
    summed_over_rows,
    tiled_bf16,
)

# Positions are padded to a multiple: a product over 704 takes a fifth less time than one over 700,
# and oneDNN keeps a compiled kernel of megabytes for every number of rows that it meets.
ROWS = 64
CACHED = 512  # words whose vectors stay in the cache between two passes
LEAST = 1e-30  # probability from which an nll is read; softmax sets those below 1e-38 to 0
NO_WORD = -1e30  # the bias of a row that is only padding


def cross_entropy(h_NH: Tensor, words_N: Tensor, *, weight_VH: Tensor, bias_V: Tensor) -> Tensor:
    """−log softmax(h·Wᵀ + b) at the words, in nats; 0 and without gradient where the word is -1.

    Under autocast to bf16 the products are in bf16 and the nll in fp32, else all is in h's format.
    """
    kind: type[torch.autograd.Function] = CrossEntropy
    if is_bf16(h_NH):
        kind = Bf16CrossEntropyOnGPU if h_NH.is_cuda else Bf16CrossEntropy
    nll_N: Tensor = applied(kind, h_NH, weight_VH, bias_V, words_N.clamp(min=0))
    return torch.where(words_N >= 0, nll_N, 0.0)


class CrossEntropy(torch.autograd.Function):
    """The nll and its gradients, in the operands' own format.

    `functional.cross_entropy` keeps a second table, of log-probabilities, and fills a third with
    zeros for the gradient: in fp32 that was 13 ms of char-small's 204, and a sixth of its memory.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> Tensor:
        """nll_N from h_NH, weight_VH, bias_V and words_N, in this order; words must be ≥ 0."""
        h_NH, weight_VH, bias_V, words_N = operands
        surplus_NV, nll_N = _surplus_in_place(
            words_N, scores=lambda rows: functional.linear(h_NH[rows], weight_VH, bias_V)
        )
        ctx.save_for_backward(h_NH, weight_VH, surplus_NV)
        return nll_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of h, weight and bias."""
        h_NH, weight_VH, surplus_NV = ctx.saved_tensors
        grad_h = (surplus_NV @ weight_VH).mul_(grad_N[:, None])
        grad_weight = surplus_NV.t() @ (h_NH * grad_N[:, None])
        return grad_h, grad_weight, grad_N @ surplus_NV, None


class Bf16CrossEntropy(torch.autograd.Function):
    """As `CrossEntropy` in bf16, with exponentials and their sums in fp32.

    The bias is an additional number of a word's vector, so that its gradient comes with the
    others'. The forward pass overwrites the scores with the probabilities p. The gradient of the
    scores is p minus 1 at the word, and the 1 is subtracted in fp32 where the gradients are summed.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> Tensor:
        """nll_N from h_NH, weight_VH, bias_V and words_N, in this order; words must be ≥ 0."""
        h_NH, weight_VH, bias_V, words_N = operands
        n_more = rounded_up(len(h_NH), ROWS) - len(h_NH)
        h = tiled_bf16(functional.pad(h_NH, (0, 0, 0, n_more)), 1.0)
        weight = tiled_bf16(weight_VH, bias_V)
        p_MV = _softmax_in_place(functional.linear(h, weight))
        ctx.save_for_backward(h, weight, p_MV, words_N)
        ctx.dim = h_NH.shape[1]
        return _nll(p_MV, words_N, lambda rows: functional.linear(h[rows], weight))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of h, weight and bias, in fp32."""
        h, weight, p_MV, words_N = ctx.saved_tensors
        n_positions, n_more = len(words_N), len(h) - len(words_N)
        scale, share_N = _shares(grad_N)
        expected_NH = by_thread(p_MV, weight)[:n_positions, : ctx.dim].float()
        grad_h = (expected_NH - weight[words_N, : ctx.dim].float()) * grad_N[:, None]
        shared_MH = h * functional.pad(share_N, (0, n_more))[:, None]
        grads_VH = summed_over_rows(p_MV, shared_MH)
        grad_weight = _scaled(grads_VH[:, : ctx.dim], scale)
        grad_bias = grads_VH[:, ctx.dim].float() * scale
        own_NH = shared_MH[:n_positions, : ctx.dim].float()
        grad_weight.index_add_(0, words_N, own_NH, alpha=-float(scale))
        grad_bias.index_add_(0, words_N, share_N.float(), alpha=-float(scale))
        return grad_h, grad_weight, grad_bias, None


class Bf16CrossEntropyOnGPU(torch.autograd.Function):
    """As `Bf16CrossEntropy`, for a GPU, with sums that are the same every time.

    The 1 at the word is subtracted from the probability in place. Widths and numbers of words are
    padded: cuBLAS's products of rows of 268 numbers took more than twice as long (recipes/bench).
    """

    @staticmethod
    def forward(ctx: Any, *operands: Tensor) -> Tensor:
        """nll_N from h_NH, weight_VH, bias_V and words_N, in this order; words must be ≥ 0."""
        h_NH, weight_VH, bias_V, words_N = operands
        h = tiled_bf16(h_NH, 1.0)
        weight = tiled_bf16(weight_VH, bias_V, are_rows_tiled=True)
        n_words, ctx.dim = weight_VH.shape
        ctx.n_words = n_words
        weight[n_words:, ctx.dim] = NO_WORD
        surplus_NV, nll_N = _surplus_in_place(
            words_N, scores=lambda rows: functional.linear(h[rows], weight)
        )
        ctx.save_for_backward(h, weight, surplus_NV)
        return nll_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients of h, weight and bias, in fp32."""
        h, weight, surplus_NV = ctx.saved_tensors
        scale, share_N = _shares(grad_N)
        grad_h = (surplus_NV @ weight)[:, : ctx.dim] * grad_N[:, None]
        sums_VH = surplus_NV.t() @ (h * share_N[:, None])
        grads_VH = sums_VH[: ctx.n_words].float() * scale
        return grad_h, grads_VH[:, : ctx.dim], grads_VH[:, ctx.dim], None


def _surplus_in_place(
    words_N: Tensor, *, scores: Callable[[Tensor | slice], Tensor]
) -> tuple[Tensor, Tensor]:
    """The scores' gradient, p minus 1 at the word, in the scores' memory; and nll_N."""
    p_NV = _softmax_in_place(scores(slice(None)))
    nll_N = _nll(p_NV, words_N, scores)
    p_NV.scatter_add_(1, words_N[:, None], p_NV.new_full((len(words_N), 1), -1.0))
    return p_NV, nll_N


def _softmax_in_place(scores_NV: Tensor) -> Tensor:
    # `torch.softmax(…, out=scores_NV)` would compute in other memory and copy.
    p_NV: Tensor = torch.ops.aten._softmax.out(scores_NV, 1, False, out=scores_NV)
    return p_NV


def _shares(grad_N: Tensor) -> tuple[Tensor, Tensor]:
    """The largest of the gradients, and all of them divided by it, in bf16.

    Equal gradients become exactly 1, so that a common factor such as 1/20 is not rounded.
    """
    scale = grad_N.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
    return scale, (grad_N / scale).to(torch.bfloat16)


def _nll(p_MV: Tensor, words_N: Tensor, scores: Callable[[Tensor], Tensor]) -> Tensor:
    """−log p at the words of the first rows; if p is too small, it is computed from the scores.

    While a graph is recorded, p is instead clamped to LEAST: no value can be read back to decide
    what follows.
    """
    own_N = p_MV[: len(words_N)].gather(1, words_N[:, None])[:, 0]
    own_N = own_N.to(torch.promote_types(own_N.dtype, torch.float32))
    if own_N.is_cuda and torch.cuda.is_current_stream_capturing():
        return -own_N.clamp(min=LEAST).log()
    nll_N = -own_N.log()
    lost = (own_N < LEAST).nonzero()[:, 0]
    if len(lost):
        scores_KV = scores(lost).to(nll_N.dtype)
        nll_N[lost] = functional.cross_entropy(scores_KV, words_N[lost], reduction="none")
    return nll_N


def _scaled(numbers_VH: Tensor, scale: Tensor) -> Tensor:
    """numbers · scale in fp32, by blocks, so that the second pass finds each in the cache."""
    scaled_VH = torch.empty(numbers_VH.shape)
    for rows, numbers in zip(scaled_VH.split(CACHED), numbers_VH.split(CACHED), strict=True):
        rows.copy_(numbers).mul_(scale)
    return scaled_VH
