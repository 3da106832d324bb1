"""A mixture of softmaxes: several latent vectors, computed from h, share one table of words.

A position has `components` times as many scores as in a softmax. If they would take too much
memory, blocks of positions are computed one after the other, and again for their gradients.
"""

from collections.abc import Callable
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from charlm.errors import ConfigError
from charlm.model.contract import Encoder, Output, WordSample
from charlm.model.kernels.dropout import dropout
from charlm.model.kernels.tiles import is_bf16
from charlm.model.outputs.softmax import DimOrNone
from charlm.model.outputs.table import WordTable
from charlm.model.outputs.vocabulary import VocabularyVectors
from charlm.settings import Layers, Meaning, Probability
from charlm.text.vocabulary.vocabulary import Inventory

SCORES_AT_ONCE = 1 << 24  # in a block; 64 MB in fp32
GPU_SCORES = 1 << 26  # in a block on a GPU
# Scores that fit are kept for the gradients, as computing them again takes a third more time. On a
# GPU they may take a quarter of its memory, where a score is at most one fp32 number.
BYTES_KEPT = 1_200_000_000  # in bf16, steps of mixture-modern for up to 22,000 words
BYTES_A_SCORE = 4


class MixtureOfSoftmaxes(Output):
    """P(w | h) = Σ_k π_k(h) · softmax(tanh(W_k h + b_k)·v_w + c_w), Yang et al. (2018).

    π = softmax(U h). `dim` is the latent width (0: that of h). `tied` takes v_w and its width from
    the input encoder, as in the paper. Differs from their code: dropout on the latent vectors is
    drawn for each position, not once per sequence; no 1e-8 is added within the logarithm.

    Raises:
        ConfigError: tied, with a latent width that is not the encoder's.
    """

    has_table = True

    def __init__(
        self,
        input_dim: int,
        inventory: Inventory,
        encoder: Encoder,
        *,
        components: Annotated[Layers, Meaning("number of softmaxes that are mixed")] = 10,
        dim: Annotated[
            DimOrNone,
            Meaning("dimension of the latent vectors; 0: the context's or, if tied, the words'"),
        ] = 0,
        dropout: Annotated[
            Probability, Meaning("share of each latent vector zeroed in training")
        ] = 0.0,
        tied: Annotated[bool, Meaning("the output uses the input encoder's word vectors")] = False,
    ) -> None:
        super().__init__()
        if tied and dim not in (0, encoder.dim):
            raise ConfigError(
                f"option 'dim' of output 'mixture' is {dim} and the encoder's vectors are "
                f"{encoder.dim} wide; expected equal widths to tie them; use 0"
            )
        dim = dim or (encoder.dim if tied else input_dim)
        self.vector_dim = dim
        self.components = components
        self.dropout = dropout
        self.prior = nn.Linear(input_dim, components, bias=False)
        self.latent = nn.Linear(input_dim, components * dim)
        self.words = None if tied else nn.Linear(dim, inventory.n_words)
        self.bias = nn.Parameter(torch.zeros(inventory.n_words)) if tied else None
        self.vectors = VocabularyVectors(encoder, inventory) if tied else None

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        return self._nll(self._table(), h_NH, words_N)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        return torch.cat(self._in_blocks(_log_probs, self._table(), h_NH))

    def sampled_nll(self, h_NH: Tensor, sample: WordSample) -> Tensor:
        table = self._table().rows(sample.words_K).raised(sample.log_weights_K)
        return self._nll(table, h_NH, sample.own_N)

    def expected_vectors(self, h_NH: Tensor) -> tuple[Tensor, Tensor]:
        vectors_VD = self._table().vectors_VH
        return vectors_VD, self.log_probs(h_NH).exp() @ vectors_VD

    def score_parameters(self) -> list[nn.Parameter]:
        """The words' vectors and biases, which all components share; empty if they are tied."""
        return [] if self.words is None else list(self.words.parameters())

    def _table(self) -> WordTable:
        if self.words is not None:
            return WordTable(self.words.weight, self.words.bias)
        assert self.vectors is not None
        return WordTable(self.vectors.of_all(), self.bias)

    def _nll(self, table: WordTable, h_NH: Tensor, words_N: Tensor) -> Tensor:
        return torch.cat(self._in_blocks(_nll, table, h_NH, words_N)).where(words_N >= 0, 0.0)

    def _in_blocks(
        self, of_block: Callable[..., Tensor], table: WordTable, h_NH: Tensor, *more: Tensor
    ) -> list[Tensor]:
        """`of_block` called with the table and each block of latent vectors, log π and `more`."""
        latent_NKD = torch.tanh(self.latent(h_NH)).unflatten(-1, (self.components, -1))
        latent_NKD = dropout(latent_NKD, self.dropout, training=self.training)
        log_prior_NK = functional.log_softmax(self.prior(h_NH).float(), dim=-1)
        if torch.compiler.is_exporting():  # to ONNX: no size may depend on the batch
            return [of_block(table, latent_NKD, log_prior_NK, *more)]
        n_scores = self.components * len(table.vectors_VH)
        if torch.is_grad_enabled() and len(h_NH) * n_scores <= _most_kept(h_NH):
            return [of_block(table, latent_NKD, log_prior_NK, *more)]
        n_rows = max(1, (GPU_SCORES if h_NH.is_cuda else SCORES_AT_ONCE) // n_scores)
        blocks = zip(*(x.split(n_rows) for x in (latent_NKD, log_prior_NK, *more)), strict=True)
        if not torch.is_grad_enabled():
            return [of_block(table, *block) for block in blocks]
        # Nothing random happens within a block, so no generator state has to be restored.
        return [
            checkpoint(of_block, table, *block, use_reentrant=False, preserve_rng_state=False)
            for block in blocks
        ]


def _most_kept(h_NH: Tensor) -> int:
    if not h_NH.is_cuda:
        return BYTES_KEPT // (2 if is_bf16(h_NH) else h_NH.element_size())
    total = torch.cuda.get_device_properties(h_NH.device).total_memory
    return int(total) // 4 // BYTES_A_SCORE


def _nll(table: WordTable, latent_NKD: Tensor, log_prior_NK: Tensor, words_N: Tensor) -> Tensor:
    n_components = log_prior_NK.shape[1]
    nll = table.nll(latent_NKD.flatten(0, 1), words_N.repeat_interleave(n_components))
    return -(log_prior_NK - nll.view_as(log_prior_NK)).logsumexp(dim=1)


def _log_probs(table: WordTable, latent_NKD: Tensor, log_prior_NK: Tensor) -> Tensor:
    log_probs = table.log_probs(latent_NKD.flatten(0, 1)).view(
        *log_prior_NK.shape, len(table.vectors_VH)
    )
    return (log_probs + log_prior_NK[..., None]).logsumexp(dim=1)
