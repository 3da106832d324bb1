"""Penalties added to the criterion: on the context's outputs, and on forgetting the last word.

The activation penalties of Merity et al. (2017) are means over the batch, multiplied by its tokens,
so that they scale like a loss that is summed over tokens, whatever the divisor. `exists_TB` is None
if every position has a word, so that a GPU need not count them.

Past-decode regularisation is a sum over tokens: the predicted distribution must still tell which
word was read. Its decoder belongs to the training and not to the model: it is stored in
resume.safetensors and dropped when the training has ended. It uses the output's word vectors for
both its input and its output.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from charlm.model.contract import Output
from charlm.model.kernels import applied
from charlm.model.outputs.table import WordTable


class MeanSquares(torch.autograd.Function):
    """`mean_squares` without the fp32 copies that torch's own operations keep for gradients."""

    @staticmethod
    def forward(ctx: Any, x_TBH: Tensor) -> Tensor:
        """The means, shape (T, B)."""
        ctx.save_for_backward(x_TBH)
        dtype = torch.promote_types(x_TBH.dtype, torch.float32)
        norms_TB: Tensor = torch.linalg.vector_norm(x_TBH, dim=-1, dtype=dtype)
        return norms_TB.square() / x_TBH.shape[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TB: Tensor) -> Tensor:
        """The gradient of x_TBH, in its dtype."""
        (x_TBH,) = ctx.saved_tensors
        grad_TBH: Tensor = x_TBH * (grad_TB * (2 / x_TBH.shape[-1])).to(x_TBH.dtype)[..., None]
        return grad_TBH


def mean_squares(x_TBH: Tensor) -> Tensor:
    """The mean of x² over the last dimension, shape (T, B), in at least fp32."""
    means_TB: Tensor = applied(MeanSquares, x_TBH)
    return means_TB


def activation_penalty(h_TBH: Tensor, exists_TB: Tensor | None) -> Tensor:
    """Activation regularisation: the mean square of the context's outputs, where there is a word.

    Differs from the paper's code only for padding: the outputs are taken after dropout, as there.
    """
    squares_TB = mean_squares(h_TBH)
    return (squares_TB if exists_TB is None else squares_TB[exists_TB]).mean()


def temporal_penalty(h_TBH: Tensor, exists_TB: Tensor | None) -> Tensor:
    """Temporal activation regularisation: the mean square of the change from step to step.

    Differs from the paper: the outputs are taken after dropout, since the context gives no others.
    """
    both_TB = None if exists_TB is None else exists_TB[1:] & exists_TB[:-1]
    if len(h_TBH) == 1 or (both_TB is not None and not bool(both_TB.any())):
        return h_TBH.new_zeros(())
    squares_TB = mean_squares(h_TBH.diff(dim=0))
    return (squares_TB if both_TB is None else squares_TB[both_TB]).mean()


class PastDecoder(nn.Module):
    """P(x | h) ∝ exp(tanh(A·w + a)·v_x + b_x), w = Σ_y P(y | h)·v_y (Brahma, 2018).

    x is the word read where h predicts y; λ times −log P(x | h) is added to the loss. A is one
    square layer; b is not the output's bias. The paper ties its tables, so that its v is also the
    input's table. Differs from the paper: v is the output's table whether it is tied or not.
    """

    def __init__(self, dim: int, n_words: int) -> None:
        super().__init__()
        self.layer = nn.Linear(dim, dim)
        self.bias = nn.Parameter(torch.zeros(n_words))

    def forward(self, h_NH: Tensor, fed_N: Tensor, *, output: Output) -> Tensor:
        """−log P(x | h) of the word read, in nats, shape (N,), fp32; 0 where it is -1."""
        vectors_VE, expected_NE = output.expected_vectors(h_NH)
        decoded_NE = torch.tanh(self.layer(expected_NE))
        return WordTable(vectors_VE, self.bias).nll(decoded_NE, fed_N)
