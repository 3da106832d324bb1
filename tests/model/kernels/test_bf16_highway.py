"""A highway layer trained in bf16, against the plain layer in float64."""

import pytest
import torch
from torch import Tensor

from charlm.model.encoders.highway import HighwayLayer
from charlm.model.kernels.tiles import TILE

pytestmark = pytest.mark.usefixtures("nan_in_new_memory")

FORMS = 7
# bf16 keeps 8 bits, and each number is rounded about three times.
TOLERANCE = 6e-3


def drawn(*shape: int, share: float = 1.0) -> Tensor:
    """Multiples of 1/8 up to 1, so that sums of a dozen products are numbers that bf16 has."""
    return torch.randint(-8, 9, shape) / 8 * (torch.rand(shape) < share)


@pytest.fixture(params=[TILE - 1, TILE, 520])
def layer(request: pytest.FixtureRequest) -> HighwayLayer:
    torch.manual_seed(1)
    layer = HighwayLayer(request.param)
    for part in (layer.transform, layer.gate):
        with torch.no_grad():
            part.weight.copy_(drawn(*part.weight.shape, share=8 / request.param).sign() / 2)
            part.bias.copy_(drawn(request.param))
    return layer


def passes(layer: HighwayLayer, y: Tensor, shares: Tensor) -> list[Tensor]:
    """The vectors, and the gradients of their weighted sum."""
    mixed = layer(y)
    return [mixed.detach(), *torch.autograd.grad((mixed * shares).sum(), [y, *layer.parameters()])]


def test_vectors_and_gradients_are_those_of_float64_within_bf16(layer: HighwayLayer) -> None:
    y, shares = drawn(FORMS, len(layer.gate.bias)).requires_grad_(), drawn(FORMS, 1)
    with torch.autocast("cpu", torch.bfloat16):
        found = passes(layer, y, shares)
    exact = passes(layer.double(), y.detach().double().requires_grad_(), shares)
    assert [tensor.dtype for tensor in found] == [torch.float32] * len(exact)
    errors = [float((a - b).norm() / b.norm()) for a, b in zip(found, exact, strict=True)]
    assert [error < TOLERANCE for error in errors] == [True] * len(exact)  # NaN is not


def test_what_does_not_learn_takes_the_plain_layer(layer: HighwayLayer) -> None:
    y = drawn(FORMS, len(layer.gate.bias))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        t = layer.shares(y)
        plain = torch.lerp(y, torch.relu(layer.transform(y)).float(), t)
        assert torch.equal(layer(y), plain)
