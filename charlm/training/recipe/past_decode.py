"""Past-decode regularisation: what is predicted next must still tell which word was fed in.

The decoder belongs to the training, not to the model: it is in resume.safetensors, and it is gone
when the training has ended. The word vectors that it reads and writes with are the output's.
"""

import torch
from torch import Tensor, nn

from charlm.model.contract import Output
from charlm.model.outputs.table import WordTable


class PastDecoder(nn.Module):
    """P(x | h) ∝ exp(tanh(A·w + a)·v_x + b_x), w = Σ_y P(y | h)·v_y (Brahma, 2018).

    x is the word fed in where h predicts y; λ times −log P(x | h) is added to the loss. A is one
    square layer; b is not the output's bias. The paper ties its tables, so that v is the input's
    table, too. Differs from the paper: v is the output's table whether it is tied or not.
    """

    def __init__(self, dim: int, n_words: int) -> None:
        super().__init__()
        self.layer = nn.Linear(dim, dim)
        self.bias = nn.Parameter(torch.zeros(n_words))

    def forward(self, h_NH: Tensor, fed_N: Tensor, *, output: Output) -> Tensor:
        """−log P(x | h) of the word fed in, in nats, shape (N,), fp32; 0 where it is -1."""
        vectors_VE, expected_NE = output.expected_vectors(h_NH)
        decoded_NE = torch.tanh(self.layer(expected_NE))
        return WordTable(vectors_VE, self.bias).nll(decoded_NE, fed_N)
