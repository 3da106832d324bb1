"""Sums over known places, against a product with the matrix that says which row is in which sum."""

import pytest
import torch

from charlm.model.kernels.known_sums import known_sums, places_of

ROWS = 7


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda", marks=[pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]
        ),
    ],
)
def test_sums_and_gradients_are_those_of_a_matrix(device: str) -> None:
    random = torch.Generator().manual_seed(1)
    rows = torch.randint(0, ROWS - 1, (9, 5), generator=random)  # the last one is in no sum
    is_in = torch.rand(9, 5, generator=random) < 0.6
    is_in[4] = False  # a sum of nothing
    rows[:, 0], is_in[:4, 0] = 2, True  # one row in many sums
    times = torch.zeros(9, ROWS).index_put_(
        (torch.arange(9)[:, None].expand(9, 5)[is_in], rows[is_in]), torch.ones(()), accumulate=True
    )
    table = torch.randn(ROWS, 4, generator=random).to(device).requires_grad_()
    places = places_of(rows.to(device), is_in.to(device), n_rows=ROWS)
    found, weights = known_sums(table, places), torch.randn(9, 4, generator=random)
    torch.testing.assert_close(found.cpu(), times @ table.cpu())
    (gradient,) = torch.autograd.grad(found, table, weights.to(device))
    torch.testing.assert_close(gradient.cpu(), times.t() @ weights)
    assert torch.equal(places.counts_N.cpu(), is_in.sum(dim=1))
