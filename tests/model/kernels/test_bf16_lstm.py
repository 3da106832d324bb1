"""The LSTM in bf16 against torch's in float64."""

import pytest
import torch
from torch import Tensor, nn

from charlm.model.contexts.recurrence import masks_of_resets, run_fused
from charlm.model.kernels import bf16_lstm

pytestmark = pytest.mark.usefixtures("nan_in_new_memory")

STEPS, STREAMS, INPUT, DIM = 5, 3, 10, 6
TOLERANCE = 8e-3  # bf16 keeps 8 bits; errors of several products add up


@pytest.fixture(params=[10, 40], ids=["oneDNN's layer", "ours"])  # a tile of inputs, and two
def layer(request: pytest.FixtureRequest) -> nn.LSTM:
    torch.manual_seed(1)
    return nn.LSTM(request.param, DIM)


def tensors(layer: nn.LSTM, dtype: torch.dtype) -> list[Tensor]:
    """x, h, c and the weights, each a leaf of its own."""
    random = torch.Generator().manual_seed(2)
    shapes = [(STEPS, STREAMS, layer.input_size), (STREAMS, DIM), (STREAMS, DIM)]
    drawn = [torch.randn(shape, generator=random) for shape in shapes]
    return [t.detach().to(dtype).requires_grad_() for t in (*drawn, *layer.parameters())]


def error(found: Tensor, wanted: Tensor) -> float:
    """The relative Frobenius error."""
    return float((found.detach().double() - wanted).norm() / wanted.norm())


def in_float64(
    layer: nn.LSTM, leaves: list[Tensor], *, keep_TB: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """torch's layer, called for each step by itself."""
    x, h, c, *weights = leaves
    named = dict(zip(dict(layer.named_parameters()), weights, strict=True))
    state, outputs = (h[None], c[None]), []
    for step in range(STEPS):
        kept = tuple(leaf * keep_TB[step, :, None].double() for leaf in state)
        out, state = torch.func.functional_call(layer.double(), named, (x[step : step + 1], kept))
        outputs.append(out)
    return torch.cat(outputs), state


@pytest.mark.bf16
@pytest.mark.parametrize("resets", [[], [(0, 2), (3, 0), (3, 1)]], ids=["no resets", "resets"])
def test_outputs_states_and_gradients_are_those_of_float64_within_bf16(
    layer: nn.LSTM, resets: list[tuple[int, int]]
) -> None:
    x, h, c, *weights = ours = tensors(layer, torch.float32)
    keep_TB = torch.ones(STEPS, STREAMS)
    for step, stream in resets:
        keep_TB[step, stream] = 0
    masks = masks_of_resets(keep_TB)
    out, last_h, last_c = bf16_lstm.run(x, (h, c), weights=weights, masks=masks)
    precise = tensors(layer, torch.float64)
    exact, (exact_h, exact_c) = in_float64(layer, precise, keep_TB=keep_TB)
    pairs = [(out, exact), (last_h, exact_h[0]), (last_c, exact_c[0])]
    assert [error(a, b.detach()) < TOLERANCE for a, b in pairs] == [True] * 3
    share = torch.linspace(-1, 1, out.numel()).view(out.shape)
    found = torch.autograd.grad((out * share).sum() + last_h.sum() + last_c.sum(), ours)
    wanted = torch.autograd.grad((exact * share).sum() + exact_h.sum() + exact_c.sum(), precise)
    assert [grad.dtype for grad in found] == [torch.float32] * len(ours)
    assert [error(*pair) < 2 * TOLERANCE for pair in zip(found, wanted, strict=True)] == [
        True
    ] * len(ours)


@pytest.mark.bf16
def test_cutting_a_chunk_in_two_changes_nothing(layer: nn.LSTM) -> None:
    x, h, c, *weights = tensors(layer, torch.float32)
    whole, *_ = bf16_lstm.run(x, (h, c), weights=weights, masks={})
    first, *state = bf16_lstm.run(x[:2], (h, c), weights=weights, masks={})
    second, *_ = bf16_lstm.run(x[2:], state, weights=weights, masks={})
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=0, atol=1e-2)


@pytest.mark.parametrize(
    ("kind", "training", "gradients", "dtype", "taken"),
    [
        (nn.LSTM, True, True, torch.bfloat16, True),
        (nn.LSTM, True, True, None, False),
        (nn.LSTM, True, False, torch.bfloat16, False),
        (nn.LSTM, False, True, torch.bfloat16, False),
        (nn.GRU, True, True, torch.bfloat16, False),
    ],
    ids=["an LSTM that learns", "fp32", "without gradients", "in evaluation", "another kind"],
)
def test_it_is_for_lstms_that_learn_under_bf16(
    kind: type[nn.RNNBase],
    training: bool,
    gradients: bool,
    dtype: torch.dtype | None,
    taken: bool,
) -> None:
    layer = kind(INPUT, DIM).train(training)
    with (
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype is not None),
        torch.set_grad_enabled(gradients),
    ):
        assert bf16_lstm.takes(layer, torch.zeros(STEPS, STREAMS, INPUT)) is taken


@pytest.mark.bf16
@pytest.mark.parametrize("n_streams", [1, STREAMS + 1])
def test_a_state_for_another_number_of_streams_is_refused(layer: nn.LSTM, n_streams: int) -> None:
    state = (torch.zeros(n_streams, DIM), torch.zeros(n_streams, DIM))
    with (
        torch.autocast("cpu", torch.bfloat16),
        pytest.raises(ValueError, match=f"a state for {n_streams} streams; expected one for 3"),
    ):
        run_fused(layer, torch.zeros(STEPS, STREAMS, layer.input_size), state=state)
