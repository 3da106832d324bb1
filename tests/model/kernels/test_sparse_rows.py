"""Rows of a table against plain indexing, and which gradients are row-sparse."""

import pytest
import torch
from torch import nn

from charlm.model.kernels import sparse_rows as module
from charlm.model.kernels.sparse_rows import row_gradient, rows_of, spread

N_ROWS, DIM = 9, 3
READ = torch.tensor([4, 0, 4, 7])


def table() -> nn.Parameter:
    return nn.Parameter(torch.arange(1.0, N_ROWS * DIM + 1).view(N_ROWS, DIM))


def gradient_of(vectors_KH: torch.Tensor, weights: nn.Parameter) -> torch.Tensor:
    factors = torch.arange(1.0, vectors_KH.numel() + 1).view_as(vectors_KH)
    (vectors_KH * factors).sum().backward()
    assert weights.grad is not None
    return weights.grad


@pytest.mark.parametrize("large", [N_ROWS * DIM, N_ROWS * DIM + 1])
def test_rows_and_their_gradient_are_those_of_indexing(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGE", large)
    own, other = table(), table()
    assert torch.equal(rows_of(own, READ), other[READ])
    found, expected = gradient_of(rows_of(own, READ), own), gradient_of(other[READ], other)
    assert found.is_sparse == (large == N_ROWS * DIM)
    assert torch.equal(found.to_dense(), expected)


def test_where_half_of_the_rows_are_read_the_gradient_is_dense(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LARGE", 1)
    for n_read, is_sparse in ((4, True), (5, False)):
        weights = table()
        assert gradient_of(rows_of(weights, torch.arange(n_read)), weights).is_sparse == is_sparse


def test_a_table_that_is_computed_gets_a_gradient_that_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LARGE", 1)
    own, other = table(), table()
    found = gradient_of(rows_of(torch.tanh(own), READ), own)
    assert torch.equal(found, gradient_of(torch.tanh(other)[READ], other))


@pytest.mark.parametrize("large", [1, 1 << 30])
def test_a_gradient_made_of_rows_has_them_in_their_places(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGE", large)
    values = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    gradient = row_gradient(table(), torch.tensor([7, 2]), values_KH=values)
    assert gradient.is_sparse == (large == 1)
    expected = torch.zeros(N_ROWS, DIM)
    expected[7], expected[2] = values
    assert torch.equal(gradient.to_dense(), expected)


def test_rows_that_are_spread_and_their_gradient_are_those_of_indexing() -> None:
    vectors = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    where = torch.tensor([[4, 0, 0], [2, 4, 0]])
    share = torch.randn(2, 3, 3, dtype=torch.float64)
    assert torch.equal(spread(vectors, where), vectors[where])
    (found,) = torch.autograd.grad((spread(vectors, where) * share).sum(), vectors)
    (expected,) = torch.autograd.grad((vectors[where] * share).sum(), vectors)
    torch.testing.assert_close(found, expected, rtol=1e-14, atol=0)
