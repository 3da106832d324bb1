"""Rows of a table; for a large table, with a gradient that contains only the rows that were read.

A dense gradient is as large as its table: for 500,000 words it is written, measured, scaled and
subtracted at every step, although a step reads only 2,000 rows.
"""

import torch
from torch import Tensor
from torch.nn import functional

LARGE = 1 << 22  # numbers in a table (16 MB); below this a dense gradient costs almost nothing
DENSE = 0.5  # share of the rows, repeats counted, from which on a dense gradient is faster


def rows_of(table_VH: Tensor, rows_K: Tensor) -> Tensor:
    """These rows of a table, in this order, with repetition, shape (K, H).

    If few rows are read, the gradient of a large table on the CPU is torch's sparse COO tensor; a
    row that is read twice is in it twice.
    """
    has_gradient = torch.is_grad_enabled() and can_be_sparse(table_VH)
    is_sparse = has_gradient and len(rows_K) < DENSE * len(table_VH)
    return functional.embedding(rows_K, table_VH, sparse=is_sparse)


def spread(vectors_NE: Tensor, where: Tensor) -> Tensor:
    """The rows at these places, with repetition, shape (*where, E).

    On the CPU this avoids indexing, whose gradient goes from row to row there, in one thread.
    """
    if vectors_NE.device.type == "cpu":
        return functional.embedding(where, vectors_NE)
    return vectors_NE[where]


def row_gradient(table_VH: Tensor, rows_K: Tensor, *, values_KH: Tensor) -> Tensor:
    """The gradient of a table that has these values in these rows; each row occurs once."""
    if not can_be_sparse(table_VH):
        return torch.zeros_like(table_VH).index_copy_(0, rows_K, values_KH)
    return torch.sparse_coo_tensor(rows_K[None], values_KH, table_VH.shape, check_invariants=False)


def can_be_sparse(table: Tensor) -> bool:
    """Whether a table's gradient may be row-sparse at some steps.

    It may not if the table is computed, since most operations cannot pass on such a gradient, nor
    on a GPU, which writes a dense one in a millisecond, always in the same place.
    """
    is_parameter = table.is_leaf and table.dim() == 2
    return is_parameter and table.device.type == "cpu" and table.numel() >= LARGE
