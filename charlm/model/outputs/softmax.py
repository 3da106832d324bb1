"""The full softmax: one vector and one bias a word."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.model.contract import Encoder, Output
from charlm.model.outputs.cross_entropy import bf16_cross_entropy
from charlm.text.inventory import Inventory


class Softmax(Output):
    """P(w | h) ∝ exp(h·p_w + q_w), eq. 4 of Kim et al. (2016)."""

    def __init__(self, input_dim: int, inventory: Inventory, encoder: Encoder) -> None:
        super().__init__()
        self.words = nn.Linear(input_dim, inventory.n_words)

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """Negative log-probability of each word in nats, shape (N,), fp32; 0 where it is -1."""
        if torch.is_autocast_enabled("cpu") and torch.is_grad_enabled():
            weight_VH, bias_V = self.words.weight, self.words.bias
            return bf16_cross_entropy(h_NH, words_N, weight_VH=weight_VH, bias_V=bias_V)
        scores_NV = self.words(h_NH).float()
        return functional.cross_entropy(scores_NV, words_N, ignore_index=-1, reduction="none")

    def log_probs(self, h_NH: Tensor) -> Tensor:
        """Log-probabilities of all words in nats, shape (N, V), fp32."""
        return functional.log_softmax(self.words(h_NH).float(), dim=-1)
