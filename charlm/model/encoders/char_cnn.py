"""The character CNN of Kim et al. (2016): convolutions over a form's characters, max over time.

As in the paper's code, the maximum includes the windows over the padding after a form. These win
for about half of all word-filter pairs, so leaving them out would be another model. Every form
therefore gets all windows that start within it and one that is all padding, however far its batch
is padded.
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contract import Encoder
from charlm.model.forms import Forms
from charlm.model.kernels.max_pooling import strongest_responses
from charlm.model.kernels.sparse_rows import spread
from charlm.model.kernels.tiles import is_bf16_on_cpu, rounded_up
from charlm.settings import MAX_LIST, Dim, Meaning, Range
from charlm.text.vocabulary.vocabulary import PAD, Inventory

N_BUCKETS = 3  # groups of forms of similar length: a third less time than one group
MANY = 256  # with more forms per bucket there are more buckets: 10,000 at once leave the cache
ROWS = 16  # a bucket's forms are padded to a multiple, so that bf16 kernels are reused


class CharCNN(Encoder):
    """tanh of the largest response of each filter over a form's windows, eq. 5 and 6.

    The tanh is applied after the maximum, which gives the same result. The filters of all widths
    are in one matrix, narrow ones padded with zeros: one product instead of one convolution per
    width. `charlm.bench.naive.NaiveModel.forward` computes the same as one reads it in the paper.
    """

    reads_spelling = True
    tap = "char-cnn"

    def __init__(
        self,
        inventory: Inventory,
        *,
        dim: Annotated[Dim, Meaning("dimension of the character vectors")] = 15,
        widths: Annotated[
            tuple[int, ...], Range(1, 64), Meaning("widths of the filters, in characters")
        ] = (1, 2, 3, 4, 5, 6),
        filters: Annotated[
            tuple[int, ...], Range(1, 65_536), Meaning("number of filters of each width")
        ] = (25, 50, 75, 100, 125, 150),
    ) -> None:
        super().__init__()
        if len(widths) != len(filters) or not widths:
            raise ConfigError(
                f"encoder 'char-cnn' has {len(widths)} widths and {len(filters)} filters; "
                f"expected as many of both, 1 to {MAX_LIST}"
            )
        self.dim = sum(filters)
        self.widest = max(widths)
        # The padding character's vector is 0 yet has a gradient: Kim et al.'s clipped norm counts
        # it (`nn.Embedding(padding_idx=0)` would not), and `after_step` sets it back to 0.
        self.letters = nn.Embedding(inventory.n_characters, dim)
        self.filters = nn.ModuleList(
            nn.Linear(width * dim, count) for width, count in zip(widths, filters, strict=True)
        )

    def forward(self, forms: Forms) -> Tensor:
        matrix_FW, bias_F = self._joined_filters()
        # Reading lengths from a GPU means waiting for it, and rows of padding cost little there. In
        # an export to ONNX lengths are not known yet.
        by_length = matrix_FW.device.type == "cpu" and not torch.compiler.is_exporting()
        strongest = self._in_buckets if by_length else self._all_at_once
        strongest_NF = strongest(forms.letters_NL, matrix_FW)
        return torch.tanh(strongest_NF.to(bias_F.dtype) + bias_F)

    def _in_buckets(self, letters_NL: Tensor, matrix_FW: Tensor) -> Tensor:
        """The largest response of each filter, shape (N, F), by groups of similar length."""
        lengths_N = (letters_NL != PAD).sum(dim=1)
        order_N = torch.argsort(lengths_N, stable=True)
        n_buckets = max(N_BUCKETS, len(order_N) // MANY)
        filled = rounded_up(len(order_N), n_buckets * ROWS) if is_bf16_on_cpu(matrix_FW) else 0
        n_more = max(0, filled - len(order_N))
        rows_N = torch.cat([order_N[:1].expand(n_more), order_N])
        responses = [
            self._all_at_once(letters_NL[rows, : int(lengths_N[rows[-1]])], matrix_FW)
            for rows in rows_N.tensor_split(min(n_buckets, len(rows_N)))
        ]
        return spread(torch.cat(responses), torch.argsort(order_N) + n_more)

    def _all_at_once(self, letters_NL: Tensor, matrix_FW: Tensor) -> Tensor:
        """The largest response of each filter, shape (N, F); the last window is all padding."""
        letters_NL = functional.pad(letters_NL, (0, self.widest), value=PAD)
        return strongest_responses(self.letters(letters_NL), matrix_FW)

    def _joined_filters(self) -> tuple[Tensor, Tensor]:
        full = self.widest * self.letters.embedding_dim
        weights = [part.weight for part in self.filters if isinstance(part, nn.Linear)]
        matrix_FW = torch.cat([functional.pad(w, (0, full - w.shape[1])) for w in weights])
        bias_F = torch.cat([part.bias for part in self.filters if isinstance(part, nn.Linear)])
        return matrix_FW, bias_F

    def after_step(self) -> None:
        """Set the padding character's vector back to 0."""
        with torch.no_grad():
            self.letters.weight[PAD].zero_()
