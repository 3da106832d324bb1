"""An LSTM that may restart at any step, against its equations written out for autograd."""

from functools import partial

import pytest
import torch
from torch import Tensor

from charlm.model.kernels.masked_lstm import masked_lstm

T, B, H = 5, 3, 4
DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=[pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")]
    ),
]


@pytest.fixture
def operands() -> list[Tensor]:
    """What input and biases add to the gates, h, c, and the weight on h."""
    random = torch.Generator().manual_seed(1)
    shapes = [(T, B, 4 * H), (B, H), (B, H), (4 * H, H)]
    return [torch.randn(shape, generator=random, dtype=torch.float64) for shape in shapes]


@pytest.fixture
def keep() -> Tensor:
    """The first stream runs on, the second begins anew at once, the last at two steps."""
    keep_TB = torch.ones(T, B)
    keep_TB[0, 1] = keep_TB[2, 2] = keep_TB[3, 2] = 0
    return keep_TB


def written_out(operands: list[Tensor], keep_TB: Tensor) -> list[Tensor]:
    x_TBG, h, c, weight = operands
    outputs = []
    for x_BG, keep_B in zip(x_TBG, keep_TB.to(x_TBG), strict=True):
        h, c = h * keep_B[:, None], c * keep_B[:, None]
        i, f, g, o = (x_BG + h @ weight.t()).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        outputs.append(h)
    return [torch.stack(outputs), c]


def all_of(function, operands: list[Tensor]) -> list[Tensor]:  # type: ignore[no-untyped-def]  # either
    """What it gives, and the gradients of all operands from both of that."""
    operands = [each.detach().requires_grad_() for each in operands]
    found = list(function(operands))
    total = (found[0] * torch.arange(T).to(found[0])[:, None, None]).sum() + found[1].square().sum()
    return [*found, *torch.autograd.grad(total, operands)]


def kernel(operands: list[Tensor], keep_TB: Tensor) -> tuple[Tensor, Tensor]:
    x_TBG, h, c, weight = operands
    return masked_lstm(x_TBG, (h, c), weight_GH=weight, keep_TB=keep_TB)


@pytest.mark.parametrize("device", DEVICES)
def test_values_and_gradients_are_those_of_the_equations(
    operands: list[Tensor], keep: Tensor, device: str
) -> None:
    operands, keep = [each.to(device) for each in operands], keep.to(device)
    found, wanted = (
        all_of(partial(function, keep_TB=keep), operands) for function in (kernel, written_out)
    )
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("device", [pytest.param("cpu", marks=pytest.mark.bf16), *DEVICES[1:]])
def test_with_a_weight_in_bf16_memory_and_outputs_stay_fp32(
    operands: list[Tensor], keep: Tensor, device: str
) -> None:
    rounded = [each.bfloat16() for each in operands]
    exact = all_of(partial(written_out, keep_TB=keep), [each.double() for each in rounded])
    x_TBG, h, c, weight = (each.to(device) for each in rounded)
    found = all_of(partial(kernel, keep_TB=keep.to(device)), [x_TBG, h.float(), c.float(), weight])
    assert [each.dtype for each in found[:2]] == [torch.float32] * 2
    torch.testing.assert_close([each.double().cpu() for each in found], exact, rtol=2e-2, atol=2e-2)
