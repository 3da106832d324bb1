"""Products with a matrix that is laid out once, against plain ones."""

import pytest
import torch

from charlm.model.kernels.laid_out import FEWEST_ROWS, laid_out

E, G = 40, 24


@pytest.mark.parametrize("n_rows", [FEWEST_ROWS - 1, FEWEST_ROWS])
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, pytest.param(torch.bfloat16, marks=[pytest.mark.bf16])],
    ids=str,
)
def test_products_are_those_with_the_matrix_however_it_lies(
    dtype: torch.dtype, is_transposed: bool, n_rows: int
) -> None:
    random = torch.Generator().manual_seed(1)
    weight_GE = torch.randn(G, E, generator=random).to(dtype)
    if is_transposed:
        weight_GE = weight_GE.t().contiguous().t()
    times = laid_out(weight_GE, n_rows=n_rows)
    for _ in range(2):
        x_BE = torch.randn(n_rows, E, generator=random).to(dtype)
        exact = x_BE.double() @ weight_GE.double().t()
        torch.testing.assert_close(times(x_BE), exact.to(dtype))


def test_without_onednn_a_product_in_bf16_is_a_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    weight_GE, x_BE = torch.eye(G, E).bfloat16(), torch.ones(2, E).bfloat16()
    assert torch.equal(laid_out(weight_GE, n_rows=2)(x_BE), torch.ones(2, G).bfloat16())
