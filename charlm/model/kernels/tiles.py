"""Padding of widths and numbers of rows for bf16 products, whose cost does not follow their size.

A product over 300 numbers takes three times as long as one over 320, since a tile takes 32 numbers
of a row. And oneDNN compiles a kernel for every new number of rows, which takes longer than the
product. The number of forms, which differs from batch to batch, is therefore padded to one of a
few.
"""

import torch
from torch import Tensor

TILE = 32
BLOCK = 64  # rows of a matrix that are transposed at once
NARROW = 1024  # columns; products with fewer are divided badly among threads


def is_bf16(x: Tensor) -> bool:
    """Whether the products of `x` are computed in bf16."""
    kind = x.device.type
    return torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) == torch.bfloat16


def is_bf16_on_cpu(x: Tensor) -> bool:
    """Whether the products of `x` are computed in bf16 on a CPU."""
    return x.device.type == "cpu" and is_bf16(x)


def as_multiplied(x: Tensor) -> Tensor:
    """`x` in the format of its products: cast once, since autocast would at each product."""
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x


def rounded_up(number: int, step: int = TILE) -> int:
    """The next multiple of `step`."""
    return -(-number // step) * step


def tiled_bf16(
    rows_NH: Tensor, last: Tensor | float | None = None, *, are_rows_tiled: bool = False
) -> Tensor:
    """The rows in bf16, each with its `last` number appended, if given, and zeros up to a tile.

    With `are_rows_tiled`, rows of zeros are also appended up to a tile.
    """
    n_rows, dim = rows_NH.shape[-2:]
    height = rounded_up(n_rows) if are_rows_tiled else n_rows
    width = rounded_up(dim if last is None else dim + 1)
    padded = rows_NH.new_empty(*rows_NH.shape[:-2], height, width, dtype=torch.bfloat16)
    padded[..., n_rows:, :] = 0
    padded[..., :n_rows, :dim] = rows_NH
    padded[..., :n_rows, dim:] = 0
    if last is not None:
        padded[..., :n_rows, dim] = last
    return padded


def by_thread(rows_NK: Tensor, matrix_KM: Tensor) -> Tensor:
    """The product of the matrices; a narrow one is computed as one block of rows per thread.

    For 700 rows over 10,000 numbers two threads took as long as one, and half of that with blocks;
    for 700 rows over 2,688 three fifths. From 1,024 columns on blocks gain nothing.
    """
    if matrix_KM.shape[1] >= NARROW:
        return rows_NK @ matrix_KM
    blocks = rows_NK.tensor_split(min(torch.get_num_threads(), -(-len(rows_NK) // TILE)))
    return torch.cat([block @ matrix_KM for block in blocks])


def transposed(matrix_NM: Tensor) -> Tensor:
    """The transposed matrix, contiguous in memory: `.t().contiguous()`, some rows at a time.

    torch's own goes from end to end, in one thread, and took three times as long.
    """
    columns_MN = matrix_NM.new_empty(matrix_NM.shape[::-1])
    blocks = zip(columns_MN.split(BLOCK, dim=1), matrix_NM.split(BLOCK), strict=True)
    for columns, rows in blocks:
        columns.copy_(rows.t())
    return columns_MN


def summed_over_rows(left_NG: Tensor, right_NK: Tensor) -> Tensor:
    """leftᵀ·right, computed by transposing only the narrower of the two matrices.

    If that is `right`, the result is transposed back, which is cheap, since a weight has fewer rows
    than a batch. Over 4,480 rows of 4,608 and 1,152 numbers `left.t() @ right` took 102 ms and this
    60 ms, as long as transposing the wider one alone (AMX, one thread).
    """
    if left_NG.shape[1] < right_NK.shape[1]:
        return transposed(left_NG) @ right_NK
    return transposed(transposed(right_NK) @ left_NG)
