"""Shapes that a processor's bf16 products like: what they cost depends on more than their size.

A product over 300 numbers takes three times as long as one over 320, since a tile takes 32 of a
row. And oneDNN compiles a kernel for every new number of rows, which takes longer than the product:
the forms of a batch, never as many twice, are filled up to one of a few numbers.
"""

import torch
from torch import Tensor

TILE = 32


def is_bf16_on_cpu(x: Tensor) -> bool:
    """Whether the products of `x` are computed in bf16 on a CPU."""
    return (
        x.device.type == "cpu"
        and torch.is_autocast_enabled("cpu")
        and torch.get_autocast_dtype("cpu") == torch.bfloat16
    )


def rounded_up(number: int, step: int = TILE) -> int:
    """The next multiple of `step`."""
    return -(-number // step) * step


def tiled_bf16(rows_NH: Tensor) -> Tensor:
    """The rows as bf16, with zeros up to the next multiple of a tile."""
    dim = rows_NH.shape[-1]
    padded = rows_NH.new_empty(*rows_NH.shape[:-1], rounded_up(dim), dtype=torch.bfloat16)
    padded[..., :dim] = rows_NH
    padded[..., dim:] = 0
    return padded
