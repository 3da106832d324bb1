"""Sums of a table's rows whose numbers never change, and their gradients, without sorting any.

What goes into a sum is known both ways round, so that the gradient of a row is a sum as well, of
those of the sums that it is in. Bits are those of `embedding_bag`, whose gradients are sorted at
every step; but a GPU's, which would wait for the row that is in most sums, and adds such rows up
piece by piece.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

PIECE = 64  # of the sums that a row is in, at most; a GPU adds those of a piece one after the other


class Places(NamedTuple):
    """Which rows are in which sums."""

    rows_P: Tensor  # sum by sum
    starts_N: Tensor  # where a sum's begin in `rows_P`
    counts_N: Tensor  # rows in a sum
    sums_P: Tensor  # row by row, in pieces
    starts_M: Tensor  # where a piece's begin in `sums_P`
    pieces_R: Tensor  # the first piece of a row; each has one


def places_of(
    rows_NK: Tensor, is_in_NK: Tensor, *, n_rows: int, piece: int | None = None
) -> Places:
    """The places of the rows that are in the N sums, some of K candidates each.

    A piece is PIECE long on a GPU, and endless elsewhere, unless it is given.
    """
    counts_N, rows_P = is_in_NK.sum(dim=1), rows_NK[is_in_NK]
    sums_P = torch.arange(len(rows_NK), device=rows_P.device).repeat_interleave(counts_N)
    in_row_R = torch.bincount(rows_P, minlength=n_rows)
    piece = piece or (PIECE if rows_P.is_cuda else max(1, len(rows_P)))
    n_pieces_R = in_row_R.sub(1).div(piece, rounding_mode="floor").clamp(min=0) + 1
    pieces_R = n_pieces_R.cumsum(0) - n_pieces_R
    row_M = torch.arange(n_rows, device=rows_P.device).repeat_interleave(n_pieces_R)
    before_M = torch.arange(len(row_M), device=rows_P.device) - pieces_R[row_M]  # pieces of the row
    return Places(
        rows_P,
        starts_N=counts_N.cumsum(0) - counts_N,
        counts_N=counts_N,
        sums_P=sums_P[rows_P.argsort(stable=True)],
        starts_M=(in_row_R.cumsum(0) - in_row_R)[row_M] + before_M * piece,
        pieces_R=pieces_R,
    )


def known_sums(table_RE: Tensor, places: Places) -> Tensor:
    """The sums, (N, E)."""
    sums_NE: Tensor = KnownSums.apply(  # type: ignore[no-untyped-call]  # torch's own
        table_RE, places
    )
    return sums_NE


class KnownSums(torch.autograd.Function):
    """As `known_sums`."""

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> Tensor:
        """The sums, (N, E), of table_RE and places."""
        table_RE, places = operands
        ctx.places = places
        return functional.embedding_bag(places.rows_P, table_RE, places.starts_N, mode="sum")

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """The table's gradient, (R, E)."""
        (gradient_NE,) = gradients
        places = ctx.places
        gradient_ME = functional.embedding_bag(
            places.sums_P, gradient_NE.contiguous(), places.starts_M, mode="sum"
        )
        if len(places.starts_M) == len(places.pieces_R):
            return gradient_ME, None
        pieces_M = torch.arange(len(gradient_ME), device=gradient_ME.device)
        return functional.embedding_bag(pieces_M, gradient_ME, places.pieces_R, mode="sum"), None
