"""Responses and their maximum in one kernel, against the plain product and `max`."""

import pytest
import torch
from torch import Tensor

from charlm.model.kernels.max_pooling import strongest_responses

FORMS, LETTERS, DIM, WIDTH, FILTERS = 5, 9, 3, 4, 6


def operands(dtype: torch.dtype) -> list[Tensor]:
    random = torch.Generator().manual_seed(1)
    x = torch.randn(FORMS, LETTERS, DIM, generator=random, dtype=dtype)
    x[:, 5:] = 0  # padding: several windows are alike
    filters = torch.randn(FILTERS, WIDTH * DIM, generator=random, dtype=dtype)
    return [x.requires_grad_(), filters.requires_grad_()]


def plain(x_NLD: Tensor, matrix_FW: Tensor) -> Tensor:
    """The largest response, window by window."""
    responses = [
        x_NLD[:, first : first + WIDTH].flatten(1) @ matrix_FW.t()
        for first in range(LETTERS - WIDTH + 1)
    ]
    return torch.stack(responses).max(dim=0).values


def test_responses_and_gradients_are_those_of_windows_one_by_one() -> None:
    weights = torch.linspace(-1, 2, FORMS * FILTERS, dtype=torch.float64).view(FORMS, FILTERS)
    ours, slow = operands(torch.float64), operands(torch.float64)
    found, wanted = strongest_responses(*ours), plain(*slow)
    torch.testing.assert_close(found, wanted)
    (found * weights).sum().backward()
    (wanted * weights).sum().backward()
    torch.testing.assert_close([each.grad for each in ours], [each.grad for each in slow])


def test_windows_that_tie_share_the_gradient() -> None:
    x = torch.tensor([[[1.0], [2.0], [0.0], [2.0]]], requires_grad=True)
    strongest_responses(x, torch.tensor([[3.0]])).sum().backward()
    assert x.grad is not None
    assert x.grad.flatten().tolist() == [0.0, 1.5, 0.0, 1.5]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_product_is_in_autocasts_format_and_gradients_in_the_parameters(
    dtype: torch.dtype,
) -> None:
    ours = operands(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        found = strongest_responses(*ours)
    found.float().sum().backward()
    assert found.dtype == dtype
    assert [each.grad.dtype for each in ours if each.grad is not None] == [torch.float32] * 2
