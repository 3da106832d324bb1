"""Gradients before a step: row-sparse ones made fit to be measured, scaled and applied."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

CLIP_MARGIN = 1e-6  # torch divides by the norm plus this: below, its factor is exactly 1


def gradient_values(parameters: Sequence[nn.Parameter], *, is_sparse: bool) -> list[Tensor]:
    """The numbers of all gradients, which can be changed in place; of a row-sparse one its rows.

    There each row is there once from now on; or it is dense, where the step to come would move
    rows without a gradient, too, and so is not `is_sparse`.
    """
    numbers = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = _merged(parameter.grad) if is_sparse else parameter.grad.to_dense()
        numbers.append(parameter.grad._values() if parameter.grad.is_sparse else parameter.grad)
    return numbers


def total_norm(gradients: list[Tensor]) -> Tensor:
    """Their norm as that of one vector.

    On a CPU each row's comes first: of 20 million numbers at once the norm took twice as long, and
    was off by 1e-4 of itself, since fp32 lost what was small beside the sum.
    """
    rows = [torch.linalg.vector_norm(g, dim=-1) if g.device.type == "cpu" else g for g in gradients]
    return torch.nn.utils.get_total_norm(rows)


def shorten(gradients: list[Tensor], *, longest: float, norm: Tensor) -> None:
    """Scale gradients of this norm to the longest that is allowed, as `clip_grads_with_norm_`."""
    torch._foreach_mul_(gradients, (longest / (norm + CLIP_MARGIN)).clamp(max=1.0))


def _merged(gradient: Tensor) -> Tensor:
    """A row-sparse gradient with each row once."""
    rows = gradient._indices()[0]
    is_met = torch.zeros(len(gradient), dtype=torch.bool).index_fill_(0, rows, True)
    if int(is_met.sum()) < len(rows):
        return gradient.coalesce()
    # Not in order; but an update asks for none, and sorting them is a copy of them all.
    return gradient._coalesced_(True)
