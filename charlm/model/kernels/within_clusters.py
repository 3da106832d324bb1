"""−log P(word | cluster) of many positions, with one product per block of clusters.

A product over all clusters at once would be padded to the largest and to the most frequent one: by
a factor of 141 for 100,000 words in clusters by frequency. Vectors are gathered block by block, and
again for the gradient, since all at once they may be a copy of the whole table.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.kernels.sparse_rows import row_gradient


class ClusterBlock(NamedTuple):
    """G clusters of similar size and frequency in the batch: one padded product."""

    positions_GK: Tensor  # positions whose word is in the cluster
    is_position_GK: Tensor  # False: padding
    words_GM: Tensor  # the cluster's words
    is_word_GM: Tensor
    n_words: int


class WithinClusters(torch.autograd.Function):
    """Softmax over the words of each position's own cluster, linear in h.

    `places_N` are the indices of the positions' words within their clusters. The products are so
    small that converting to bf16 would cost more than it saves.
    """

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> Tensor:
        """nll_N in nats from h_NH, weight_VH, bias_V, places_N and the blocks, in this order.

        Every position is in one of the blocks, which are given as a sequence.
        """
        h_NH, weight_VH, bias_V, places_N, blocks = operands
        nll_N: Tensor = h_NH.new_zeros(len(h_NH))
        p_by_block = []
        with torch.autocast(h_NH.device.type, enabled=False):
            for block in blocks:
                log_p_GKM = _log_probs(block, h_NH, weight_VH, bias_V)
                own_GK = log_p_GKM.gather(2, places_N[block.positions_GK][..., None])[..., 0]
                nll_N[block.positions_GK[block.is_position_GK]] = -own_GK[block.is_position_GK]
                p_by_block.append(log_p_GKM.exp_() if any(ctx.needs_input_grad) else None)
        ctx.blocks, ctx.p_by_block = blocks, p_by_block
        ctx.save_for_backward(h_NH, weight_VH, bias_V, places_N)
        return nll_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """Gradients of h, and of the vectors and biases of the blocks' words."""
        h_NH, weight_VH, bias_V, places_N = ctx.saved_tensors
        grad_h = torch.zeros_like(h_NH)
        counts = [block.n_words for block in ctx.blocks]
        values_KH = h_NH.new_empty(sum(counts), h_NH.shape[1])
        biases_K = h_NH.new_empty(len(values_KH))
        places = (ctx.blocks, ctx.p_by_block, values_KH.split(counts), biases_K.split(counts))
        # Dynamic evaluation computes its gradients within autocast.
        with torch.autocast(h_NH.device.type, enabled=False):
            for block, p_GKM, values, biases in zip(*places, strict=True):
                grad_GK1 = grad_N[block.positions_GK].where(block.is_position_GK, 0.0)[..., None]
                d_GKM = p_GKM * grad_GK1
                d_GKM.scatter_add_(2, places_N[block.positions_GK][..., None], -grad_GK1)
                grad_GKH = torch.bmm(d_GKM, functional.embedding(block.words_GM, weight_VH))
                grad_h.index_add_(0, block.positions_GK.flatten(), grad_GKH.flatten(0, 1))
                _set_values(values, block, d_GKM, h_NH[block.positions_GK])
                biases[:] = d_GKM.sum(dim=1)[block.is_word_GM]
        rows_K = torch.cat([block.words_GM[block.is_word_GM] for block in ctx.blocks])
        grad_bias = torch.zeros_like(bias_V).index_copy_(0, rows_K, biases_K)
        grad_weight = row_gradient(weight_VH, rows_K, values_KH=values_KH)
        return grad_h, grad_weight, grad_bias, None, None


def _set_values(values_KH: Tensor, block: ClusterBlock, d_GKM: Tensor, h_GKH: Tensor) -> None:
    """Write the gradients of the vectors of a block's words into `values_KH`."""
    if block.n_words == block.words_GM.numel():
        torch.bmm(d_GKM.mT, h_GKH, out=values_KH.view(*block.words_GM.shape, -1))
    else:
        values_KH[:] = torch.bmm(d_GKM.mT, h_GKH)[block.is_word_GM]


def _log_probs(block: ClusterBlock, h_NH: Tensor, weight_VH: Tensor, bias_V: Tensor) -> Tensor:
    """Log-probabilities of a block's words at its positions, (G, K, M); −∞ for padding."""
    weight_GMH = functional.embedding(block.words_GM, weight_VH)
    scores_GKM = torch.baddbmm(
        bias_V[block.words_GM][:, None], h_NH[block.positions_GK], weight_GMH.mT
    )
    scores_GKM = scores_GKM.masked_fill_(~block.is_word_GM[:, None], -torch.inf)
    return functional.log_softmax(scores_GKM, dim=-1)
