"""Character n-grams: a form's vector is the sum of the vectors of all n-grams in it.

The table has a fixed number of rows. An n-gram's hash decides its row, so n-grams may share one.
The hash reads characters, not their ids, so a row means the same under any vocabulary.
"""

from itertools import zip_longest
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contract import Encoder
from charlm.model.forms import FixedForms, Forms
from charlm.model.kernels.known_sums import Places, known_sums, places_of
from charlm.settings import Dim, Meaning, Range
from charlm.text.vocabulary.vocabulary import N_MARKERS, PAD, WORD_END, WORD_START, Inventory

Order = Annotated[int, Range(1, 12)]
FNV_START, FNV_PRIME = 2_166_136_261, 16_777_619  # FNV-1a of 32 bits
BITS_32 = 2**32 - 1
NO_BYTE = -1
ROWS_OF_ZEROS = 4096


class CharNgrams(Encoder):
    """x = Σ_g z_g over the n-grams g of `min_n` to `max_n` characters (Bojanowski et al., 2017).

    A form is enclosed in < and >, which count as characters but are not n-grams by themselves; the
    hash is that of fastText's code over UTF-8. `<unk>`, `</s>` and *unknown character* are one byte
    each that does not occur in UTF-8. A form without an n-gram has the vector 0.
    Differs from fastText: a known word's own vector is not in the sum (that is `add`); the sum is
    divided only if `divisor` says so (their code divides by the number of n-grams, the paper does
    not); and there are 50,000 rows instead of 2,000,000, since a training step passes over the
    whole table. Dividing by the root of the count keeps the initial vectors of long words no larger
    than those of others.

    Raises:
        ConfigError: `min_n` above `max_n`.
    """

    reads_spelling = True
    tap = "char-ngram"
    bytes_AU: Tensor

    def __init__(
        self,
        inventory: Inventory,
        *,
        dim: Annotated[Dim, Meaning("dimension of the n-gram vectors")] = 100,
        min_n: Annotated[Order, Meaning("length of the shortest n-grams, in characters")] = 3,
        max_n: Annotated[Order, Meaning("length of the longest n-grams, in characters")] = 6,
        buckets: Annotated[
            int, Range(1, 10_000_000), Meaning("number of vectors, to which the n-grams are hashed")
        ] = 50_000,
        divisor: Annotated[
            Literal["none", "root", "count"],
            Meaning("divisor of the sum: none, the root of the number of n-grams, or that number"),
        ] = "none",
    ) -> None:
        super().__init__()
        if min_n > max_n:
            raise ConfigError(
                f"encoder 'char-ngram' has min_n {min_n} and max_n {max_n}; "
                "expected min_n up to max_n"
            )
        self.dim = dim
        self.orders = range(min_n, max_n + 1)
        self.divisor = divisor
        self.table = nn.Embedding(buckets, dim)
        # Derived from the vocabulary: not a weight, not saved, and real even on the meta device.
        self.register_buffer("bytes_AU", _bytes_of(inventory), persistent=False)
        self._kept: tuple[Tensor, Places] | None = None  # of a vocabulary's forms, by their letters

    def forward(self, forms: Forms) -> Tensor:
        """One vector per form, shape (N, dim); on a CPU in no more memory than the row numbers."""
        if isinstance(forms, FixedForms):
            places = self._places_of(forms.letters_NL)
            return self._divided(known_sums(self.table.weight, places), places.counts_N)
        rows_NK, is_ngram_NK = self._rows(forms.letters_NL)
        counts_N = is_ngram_NK.sum(dim=1)
        if torch.compiler.is_exporting():  # to ONNX: no size may depend on the letters
            sums_NE: Tensor = (self.table(rows_NK) * is_ngram_NK.unsqueeze(2)).sum(dim=1)
        elif rows_NK.is_cuda:
            sums_NE = self._masked_sums(rows_NK, is_ngram_NK)
        else:
            sums_NE = functional.embedding_bag(
                rows_NK[is_ngram_NK], self.table.weight, counts_N.cumsum(0) - counts_N, mode="sum"
            )
        return self._divided(sums_NE, counts_N)

    def _divided(self, sums_NE: Tensor, counts_N: Tensor) -> Tensor:
        if self.divisor == "none":
            return sums_NE
        counts_N1 = counts_N.clamp(min=1).to(sums_NE.dtype).unsqueeze(1)  # 0 stays 0
        return sums_NE / (counts_N1.sqrt() if self.divisor == "root" else counts_N1)

    def _places_of(self, letters_NL: Tensor) -> Places:
        """The places, hashed and sorted once, which takes as long as a training step's sums."""
        if self._kept is None or self._kept[0] is not letters_NL:
            rows_NK, is_ngram_NK = self._rows(letters_NL)
            n_rows = self.table.num_embeddings
            self._kept = letters_NL, places_of(rows_NK, is_ngram_NK, n_rows=n_rows)
        return self._kept[1]

    def _masked_sums(self, rows_NK: Tensor, is_ngram_NK: Tensor) -> Tensor:
        """The sums, with no size that depends on the letters, for which the host would wait.

        Windows that are not n-grams read one of the rows of zeros after the table. There are many
        such rows because the gradients of a row are summed one after the other; with a single row
        this took half of a step's time.
        """
        table_RE = functional.pad(self.table.weight, (0, 0, 0, ROWS_OF_ZEROS))
        places_NK = torch.arange(rows_NK.numel(), device=rows_NK.device).view_as(rows_NK)
        zeros_NK = self.table.num_embeddings + places_NK % ROWS_OF_ZEROS
        return functional.embedding_bag(
            torch.where(is_ngram_NK, rows_NK, zeros_NK), table_RE, mode="sum"
        )

    def _rows(self, letters_NL: Tensor) -> tuple[Tensor, Tensor]:
        """The table's row of each window of each order, and whether it is an n-gram; (N, K)."""
        bytes_NLU = self.bytes_AU[letters_NL]
        # Windows that reach into padding are hashed as well, and left out.
        hashes_NW = torch.full_like(letters_NL, FNV_START)
        rows, is_ngram = [], []
        for order in range(1, min(self.orders.stop - 1, letters_NL.shape[1]) + 1):
            ends_NW = letters_NL[:, order - 1 :]
            hashes_NW = _hashed(hashes_NW[:, : ends_NW.shape[1]], bytes_NLU[:, order - 1 :])
            if order in self.orders:
                rows.append(hashes_NW % self.table.num_embeddings)
                is_ngram.append(_is_letter(ends_NW) if order == 1 else ends_NW != PAD)
        if not rows:  # every form is shorter than the shortest n-gram: one window that is none
            none_N1 = torch.zeros_like(letters_NL[:, :1])
            return none_N1, none_N1.bool()
        return torch.cat(rows, dim=1), torch.cat(is_ngram, dim=1)


def _is_letter(letters_NL: Tensor) -> Tensor:
    return (letters_NL != PAD) & (letters_NL != WORD_START) & (letters_NL != WORD_END)


def _hashed(hashes_NW: Tensor, bytes_NWU: Tensor) -> Tensor:
    """32-bit FNV-1a continued over a character's bytes, in int64, where nothing overflows."""
    for byte_NW in bytes_NWU.unbind(dim=2):
        onward_NW = (hashes_NW ^ byte_NW) * FNV_PRIME & BITS_32
        hashes_NW = torch.where(byte_NW == NO_BYTE, hashes_NW, onward_NW)
    return hashes_NW


def _bytes_of(inventory: Inventory) -> Tensor:
    """The UTF-8 bytes of each character id, padded with NO_BYTE, (A, U), on the CPU."""
    marks = {PAD: b"", WORD_START: b"<", WORD_END: b">"}
    spelled = [marks.get(mark, bytes([0xF8 + mark])) for mark in range(N_MARKERS)]
    spelled += [letter.encode() for letter in inventory.characters]
    # As in fastText's code: a byte is signed, and is sign-extended to 32 bits.
    signed = ([b if b < 0x80 else b | 0xFFFFFF00 for b in each] for each in spelled)
    columns = [*zip_longest(*signed, fillvalue=NO_BYTE)]
    return torch.tensor(columns, device="cpu").t().contiguous()
