"""The LSTM in fp16 against torch's in float64; on a GPU also that the kernel takes it."""

import pytest
import torch
from torch import Tensor, nn

from charlm.model.contexts.recurrence import run_fused
from charlm.model.kernels import fp16_lstm
from charlm.runtime import FAST_GPU

STEPS, STREAMS, INPUT, DIM = 5, 3, 10, 6
TOLERANCE = 4e-3  # fp16 keeps 11 bits; errors of several products add up


@pytest.fixture
def layer() -> nn.LSTM:
    torch.manual_seed(1)
    return nn.LSTM(INPUT, DIM)


def tensors(layer: nn.LSTM, dtype: torch.dtype) -> list[Tensor]:
    """x, h, c and the weights, each a leaf of its own."""
    random = torch.Generator().manual_seed(2)
    shapes = [(STEPS, STREAMS, INPUT), (STREAMS, DIM), (STREAMS, DIM)]
    drawn = [torch.randn(shape, generator=random) for shape in shapes]
    return [t.detach().to(dtype).requires_grad_() for t in (*drawn, *layer.parameters())]


def error(found: Tensor, wanted: Tensor) -> float:
    """The relative Frobenius error."""
    return float((found.detach().double() - wanted.detach()).norm() / wanted.detach().norm())


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
def test_outputs_and_gradients_of_any_size_are_those_of_float64(
    layer: nn.LSTM, size: float
) -> None:
    """fp16 itself holds neither 1e-9 nor 1e9."""
    x, h, c, *weights = ours = tensors(layer, torch.float32)
    found = fp16_lstm.run(x, (h, c), weights=weights)
    precise = tensors(layer, torch.float64)
    exact, (exact_h, exact_c) = torch.func.functional_call(
        layer.double(),
        dict(zip(dict(layer.named_parameters()), precise[3:], strict=True)),
        (precise[0], (precise[1][None], precise[2][None])),
    )
    wanted = (exact, exact_h[0], exact_c[0])
    assert [out.dtype for out in found] == [torch.float32] * 3
    assert max(error(*pair) for pair in zip(found, wanted, strict=True)) < TOLERANCE
    share = size * torch.linspace(-1, 1, exact.numel()).view(exact.shape)
    of_ours, of_precise = (
        torch.autograd.grad((out * share).sum() + size * last.sum(), leaves)
        for (out, _, last), leaves in ((found, ours), (wanted, precise))
    )
    assert [grad.dtype for grad in of_ours] == [torch.float32] * len(ours)
    assert max(error(*pair) for pair in zip(of_ours, of_precise, strict=True)) < 2 * TOLERANCE


def test_a_gradient_of_nothing_is_nothing(layer: nn.LSTM) -> None:
    x, h, c, *weights = ours = tensors(layer, torch.float32)
    out, *_ = fp16_lstm.run(x, (h, c), weights=weights)
    assert all(not grad.any() for grad in torch.autograd.grad((0 * out).sum(), ours))


def test_two_layers_have_a_scale_each(layer: nn.LSTM) -> None:
    """The lower one's gradients come in when the upper one's have gone out."""
    weights = [w.detach() for w in layer.parameters()]
    x, h, c, *_ = tensors(layer, torch.float32)
    further = [w.detach() for w in nn.LSTM(DIM, DIM).parameters()]
    zero = torch.zeros(STREAMS, DIM)

    def both(x: Tensor, run: object) -> Tensor:
        assert callable(run)
        middle, *_ = run(x, (h.detach(), c.detach()), weights=weights)
        top, *_ = run(middle * 1e-6, (zero, zero), weights=further)
        return top

    def plain(x: Tensor, state: tuple[Tensor, Tensor], *, weights: list[Tensor]) -> Tensor:
        hx = tuple(leaf[None] for leaf in state)
        return torch._VF.lstm(x, hx, weights, True, 1, 0.0, True, False, False)

    (found,), (wanted,) = (
        torch.autograd.grad(both(x, run).sum(), [x]) for run in (fp16_lstm.run, plain)
    )
    assert error(found, wanted) < 2 * TOLERANCE


@pytest.mark.parametrize(
    ("widths", "n_streams", "expected"),
    [
        ((384, 1024), 64, True),
        ((1024, 384), 128, True),
        ((650, 650), 20, False),
        ((384, 1024), 20, False),
        ((384, 1024), 136, False),
        ((384, 1152), 64, False),
        ((100, 1024), 64, False),
    ],
)
def test_the_shapes_are_those_that_the_kernel_takes(
    widths: tuple[int, int], n_streams: int, expected: bool
) -> None:
    with torch.device("meta"):
        assert fp16_lstm.fits(nn.LSTM(*widths), n_streams) is expected


def test_no_layer_is_run_so_on_a_cpu() -> None:
    layer = nn.LSTM(128, 128)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not fp16_lstm.takes(layer, torch.zeros(2, 8, 128))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_gives_the_same_within_fp16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FAST_GPU, "1")
    torch.manual_seed(1)
    layer = nn.LSTM(128, 256).cuda()
    x = torch.randn(6, 8, 128, device="cuda")
    state = tuple(torch.zeros(8, 256, device="cuda") for _ in range(2))
    exact, _ = layer(x)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert fp16_lstm.takes(layer, x)
        found, _ = run_fused(layer, x, state=state)
    assert error(found, exact.double()) < TOLERANCE
    wanted = torch.autograd.grad(exact.square().sum(), list(layer.parameters()))
    gradients = torch.autograd.grad(found.square().sum(), list(layer.parameters()))
    assert max(error(*pair) for pair in zip(gradients, wanted, strict=True)) < 4 * TOLERANCE
