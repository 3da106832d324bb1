"""The adaptive softmax: frequent words at full width, rare ones in tails of decreasing width.

Its speed depends on ids that are assigned by falling count, as in an inventory.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from charlm.errors import ConfigError
from charlm.model.contract import Encoder, Output
from charlm.model.outputs.table import WordTable
from charlm.settings import Meaning, Range
from charlm.text.vocabulary.vocabulary import Inventory

SHARES = (80, 95)  # per cent of the text's tokens before the first tail, and before the second


class AdaptiveSoftmax(Output):
    """P(w | h) = P(w | h) in the head, else P(tail | h) · P(w | tail, h), Grave et al. (2017).

    Words with ids below the first cutoff are in the head; tail i is projected to a width of
    input_dim / div_value^i. Without `cutoffs` the head gets the words that make up 80 % of the
    text, and the first tail those up to 95 %, unless no width is left for a second; that follows
    from the vocabulary's counts and is not stored, so with another vocabulary it is chosen anew.
    There are no biases, as in the paper's code. The parameters are those of torch's module, whose
    own forward pass supports neither positions without a word nor bf16.

    Raises:
        ConfigError: cutoffs do not rise within the vocabulary, or a tail has no width.
    """

    is_by_rank = True

    def __init__(
        self,
        input_dim: int,
        inventory: Inventory,
        encoder: Encoder,
        *,
        cutoffs: Annotated[
            tuple[int, ...],
            Range(1, 1_000_000_000),
            Meaning("word ids at which the tails begin; empty: chosen by frequency"),
        ] = (),
        div_value: Annotated[
            float,
            Range(1, 64),
            Meaning("factor by which each tail is narrower than the one before"),
        ] = 4.0,
    ) -> None:
        super().__init__()

        def width(tail: int) -> int:
            return int(input_dim // div_value**tail)

        n_words = inventory.n_words
        self.cutoffs = tuple(cutoffs) or chosen_cutoffs(inventory.counts)
        while not cutoffs and len(self.cutoffs) > 1 and not width(len(self.cutoffs)):
            self.cutoffs = self.cutoffs[:-1]
        self.chosen_cutoffs = () if cutoffs else self.cutoffs
        if any(low >= high for low, high in pairwise((*self.cutoffs, n_words))):
            raise ConfigError(
                f"option 'cutoffs' of output 'adaptive' is {list(self.cutoffs)}; "
                f"expected rising numbers below the {n_words} words, or [], to have them chosen"
            )
        if not width(len(self.cutoffs)):
            raise ConfigError(
                f"option 'div_value' of output 'adaptive' is {div_value:g}: of "
                f"{input_dim} nothing is left for tail {len(self.cutoffs)}; expected a smaller one"
            )
        self.words = nn.AdaptiveLogSoftmaxWithLoss(
            input_dim, n_words, self.cutoffs, div_value=div_value
        )

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        bounds = torch.tensor(self.cutoffs, device=words_N.device)
        tail_N = torch.bucketize(words_N, bounds, right=True) - 1  # -1: in the head
        head_N = torch.where(tail_N < 0, words_N, self.cutoffs[0] + tail_N)
        nll_N = WordTable(self.words.head.weight, None).nll(h_NH, head_N)
        for number, tail in enumerate(self.words.tail):
            rows = (tail_N == number).nonzero()[:, 0]
            to_fewer, vectors = tail.parameters()
            h_of_tail = functional.linear(h_NH[rows], to_fewer)
            places = words_N[rows] - self.cutoffs[number]
            within = WordTable(vectors, None).nll(h_of_tail, places)
            nll_N = nll_N.index_add(0, rows, within)
        return nll_N

    def log_probs(self, h_NH: Tensor) -> Tensor:
        head_NV = functional.log_softmax(self.words.head(h_NH).float(), dim=-1)
        first = self.cutoffs[0]
        parts = [head_NV[:, :first]]
        for number, tail in enumerate(self.words.tail):
            within = functional.log_softmax(tail(h_NH).float(), dim=-1)
            parts.append(within + head_NV[:, first + number, None])
        return torch.cat(parts, dim=1)

    def score_parameters(self) -> list[nn.Parameter]:
        """The words' vectors in the head and, after the projections, in the tails."""
        tails = [list(tail.parameters())[-1] for tail in self.words.tail]
        return [*self.words.head.parameters(), *tails]


def chosen_cutoffs(counts: Sequence[int]) -> tuple[int, ...]:
    """How many words make up each of SHARES of the text; each at least 1, and less than all."""
    per_cent = [100 * so_far for so_far in accumulate(counts)]
    reached = (bisect_left(per_cent, share * sum(counts)) + 1 for share in SHARES)
    return tuple(sorted({min(number, len(counts) - 1) for number in reached}))
