"""Gradients prepared for a step, against dense ones and torch's own clipping."""

import pytest
import torch
from torch import Tensor, nn

from charlm.training.loop.step import gradient_values, shorten, total_norm

DENSE = torch.tensor([[0.0, 0.0], [3.0, -1.0], [0.0, 0.0], [0.5, 2.0], [0.0, 4.0]])
TWICE = ([3, 1, 4, 1], [[0.5, 2.0], [1.0, 0.0], [0.0, 4.0], [2.0, -1.0]])  # row 1 twice
ONCE = ([3, 1, 4], [[0.5, 2.0], [3.0, -1.0], [0.0, 4.0]])  # not in order


def sparse(rows: list[int], values: list[list[float]]) -> Tensor:
    return torch.sparse_coo_tensor(
        torch.tensor([rows]), torch.tensor(values), (5, 2), check_invariants=False
    )


def parameters(gradient: Tensor) -> list[nn.Parameter]:
    table, unused, bias = (nn.Parameter(torch.ones(n, 2)) for n in (5, 3, 1))
    table.grad, bias.grad = gradient.clone(), torch.tensor([[1.0, -2.0]])
    return [table, unused, bias]


@pytest.mark.parametrize("rows", [TWICE, ONCE])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_numbers_have_the_dense_gradients_norm_and_are_clipped_as_by_torch(
    rows: tuple[list[int], list[list[float]]], is_sparse: bool
) -> None:
    own, other = parameters(sparse(*rows)), parameters(DENSE)
    numbers = gradient_values(own, is_sparse=is_sparse)
    norm = total_norm(numbers)
    expected = torch.nn.utils.clip_grad_norm_(other, 1.5)
    assert float(norm) == pytest.approx(float(expected), rel=1e-6)
    shorten(numbers, longest=1.5, norm=norm)
    table = own[0].grad
    assert table is not None and table.is_sparse == is_sparse
    if is_sparse:
        assert table._indices()[0].tolist() == (ONCE[0] if rows is ONCE else [1, 3, 4])
    assert other[0].grad is not None
    torch.testing.assert_close(table.to_dense(), other[0].grad)
    assert own[1].grad is None


@pytest.mark.parametrize("rows", [TWICE, ONCE])
def test_a_step_of_sgd_moves_the_rows_as_a_dense_one(
    rows: tuple[list[int], list[list[float]]],
) -> None:
    own, other = parameters(sparse(*rows)), parameters(DENSE)
    gradient_values(own, is_sparse=True)
    for each in (own, other):
        torch.optim.SGD(each, lr=0.7, foreach=True).step()
    assert torch.equal(own[0], other[0])


def test_a_norm_that_is_short_enough_changes_no_bit() -> None:
    own = parameters(DENSE)
    shorten(gradient_values(own, is_sparse=True), longest=100.0, norm=torch.tensor(5.0))
    assert own[0].grad is not None and torch.equal(own[0].grad, DENSE)


def test_the_norm_of_many_small_numbers_is_exact() -> None:
    torch.manual_seed(1)
    gradients = [torch.randn(4000, 650) * 1e-3, torch.randn(50), torch.randn(2, 3, 40)]
    exact = sum(float(g.double().square().sum()) for g in gradients) ** 0.5
    assert float(total_norm(gradients)) == pytest.approx(exact, rel=1e-6)
