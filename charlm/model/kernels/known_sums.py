"""Sums of a table's rows whose row numbers never change, and their gradients, without sorting.

The rows of each sum and the sums of each row are both known, so that the gradient of a row is a sum
as well: that of the gradients of its sums. The bits are those of `embedding_bag`, which sorts at
every step for its gradients.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from charlm.model.kernels import applied


class Places(NamedTuple):
    """Which rows are in which sums."""

    rows_P: Tensor  # the rows, sum by sum
    starts_N: Tensor  # where a sum's rows begin in `rows_P`
    sums_P: Tensor  # the sums, row by row
    starts_R: Tensor  # where a row's sums begin in `sums_P`
    counts_N: Tensor  # rows in a sum


def places_of(rows_NK: Tensor, is_in_NK: Tensor, *, n_rows: int) -> Places:
    """The places of the rows that are in N sums, each chosen from K candidates by `is_in_NK`."""
    counts_N, rows_P = is_in_NK.sum(dim=1), rows_NK[is_in_NK]
    sums_P = torch.arange(len(rows_NK), device=rows_P.device).repeat_interleave(counts_N)
    in_row_R = torch.bincount(rows_P, minlength=n_rows)
    return Places(
        rows_P,
        starts_N=counts_N.cumsum(0) - counts_N,
        sums_P=sums_P[rows_P.argsort(stable=True)],
        starts_R=in_row_R.cumsum(0) - in_row_R,
        counts_N=counts_N,
    )


def known_sums(table_RE: Tensor, places: Places) -> Tensor:
    """The sums, (N, E)."""
    sums_NE: Tensor = applied(KnownSums, table_RE, places)
    return sums_NE


class KnownSums(torch.autograd.Function):
    """As `known_sums`."""

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> Tensor:
        """The sums, (N, E), from table_RE and places."""
        table_RE, places = operands
        ctx.places = places
        return functional.embedding_bag(places.rows_P, table_RE, places.starts_N, mode="sum")

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """The table's gradient, (R, E)."""
        (gradient_NE,) = gradients
        places = ctx.places
        gradient_RE = functional.embedding_bag(
            places.sums_P, gradient_NE.contiguous(), places.starts_R, mode="sum"
        )
        return gradient_RE, None
