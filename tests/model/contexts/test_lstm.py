"""The LSTM against a cell written by hand in NumPy, and where dropout applies."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.special import expit as sigmoid

from charlm.model.build import CONTEXT
from charlm.model.contexts import lstm
from charlm.model.contexts.lstm import LSTM
from charlm.model.contract import state_leaves

Floats = npt.NDArray[np.float64]
Build = Callable[..., LSTM]

INPUT_DIM, DIM, STEPS, STREAMS = 5, 4, 6, 3


@pytest.fixture
def context(build: Build) -> LSTM:
    return build(CONTEXT, {"type": "lstm", "dim": DIM, "layers": 2}, leading=[INPUT_DIM])


@pytest.fixture(name="x_TBE")
def fixture_x() -> torch.Tensor:
    return torch.randn(STEPS, STREAMS, INPUT_DIM, generator=torch.Generator().manual_seed(1))


def cell(context: LSTM, layer: int, x: Floats, h: Floats, c: Floats) -> tuple[Floats, Floats]:
    """One step of eq. 2 of Kim et al.; rows of the matrices stand in torch's order i, f, g, o."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    state = context.state_dict()
    w, u, b, d = (state[f"layers.{layer}.{name}_l0"].double().numpy() for name in names)
    i, f, g, o = np.split(x @ w.T + b + h @ u.T + d, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def by_hand(context: LSTM, x_TBE: torch.Tensor, state: list[Floats]) -> tuple[Floats, list[Floats]]:
    """Outputs and the final state [h, c of the first layer, h, c of the second]."""
    h_1, c_1, h_2, c_2 = state
    outputs = []
    for x in x_TBE.double().numpy():
        h_1, c_1 = cell(context, 0, x, h_1, c_1)
        h_2, c_2 = cell(context, 1, h_1, h_2, c_2)
        outputs.append(h_2)
    return np.stack(outputs), [h_1, c_1, h_2, c_2]


@pytest.mark.parametrize("least", [1, STEPS + 1])
def test_a_chain_of_levels_equals_that_cell_with_and_without_a_copy(
    context: LSTM, x_TBE: torch.Tensor, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    monkeypatch.setattr(lstm, "PRODUCTS_WORTH_A_COPY", least)
    start = context.initial_state(STREAMS)
    expected, _ = by_hand(context, x_TBE, [leaf.double().numpy() for leaf in state_leaves(start)])
    with torch.no_grad():
        h_NH, _ = context.eval().descend(
            context.project(x_TBE.flatten(0, 1)), start, parents=[torch.arange(STREAMS)] * STEPS
        )
    np.testing.assert_allclose(h_NH.numpy(), expected.reshape(h_NH.shape), rtol=0, atol=1e-6)


@pytest.mark.parametrize("start", ["initial", "given"])
def test_two_layers_equal_a_cell_written_by_hand(
    context: LSTM, x_TBE: torch.Tensor, start: str
) -> None:
    random = np.random.default_rng(3)
    shape = (4, STREAMS, DIM)
    leaves = list(random.normal(size=shape) if start == "given" else np.zeros(shape))
    h_1, c_1, h_2, c_2 = (torch.tensor(leaf, dtype=torch.float32) for leaf in leaves)
    state = context.initial_state(STREAMS) if start == "initial" else ((h_1, c_1), (h_2, c_2))
    h_TBH, after = context(x_TBE, state)
    expected, expected_after = by_hand(context, x_TBE, leaves)
    np.testing.assert_allclose(h_TBH.detach().numpy(), expected, atol=1e-5)
    for found, wanted in zip(state_leaves(after), expected_after, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), wanted, atol=1e-5)


WIDE = 64  # so wide that the share of dropped numbers is meaningful


def trained(build: Build, layers: int, dropout: float) -> LSTM:
    settings = {"type": "lstm", "dim": WIDE, "layers": layers, "dropout": dropout}
    return build(CONTEXT, settings, leading=[INPUT_DIM]).train()


def test_dropout_masks_the_output_afresh_at_each_position_and_leaves_input_and_state_alone(
    build: Build, x_TBE: torch.Tensor
) -> None:
    one_layer = trained(build, 1, 0.25)
    start = one_layer.initial_state(STREAMS)
    plain, plain_after = one_layer.eval()(x_TBE, start)
    dropped, dropped_after = one_layer.train()(x_TBE, start)
    kept = dropped != 0
    # If the input or the recurrent path were masked as well, kept numbers would have other values.
    torch.testing.assert_close(dropped, torch.where(kept, plain / 0.75, 0.0))
    torch.testing.assert_close(state_leaves(dropped_after), state_leaves(plain_after))
    assert float(kept.float().mean()) == pytest.approx(0.75, abs=0.04)  # 1,152 draws: 3 sigma
    assert len(kept.flatten(0, 1).unique(dim=0)) == STEPS * STREAMS


def test_dropout_also_stands_between_layers(build: Build, x_TBE: torch.Tensor) -> None:
    two_layers = trained(build, 2, 0.5)
    start = two_layers.initial_state(STREAMS)
    plain = state_leaves(two_layers.eval()(x_TBE, start)[1])
    two_layers.train()
    torch.manual_seed(1)
    once, once_after = two_layers(x_TBE, start)
    torch.manual_seed(2)
    again = state_leaves(two_layers(x_TBE, start)[1])
    after = state_leaves(once_after)
    torch.testing.assert_close(after[:2], plain[:2])  # nothing is masked before the first layer
    assert not torch.allclose(after[2], plain[2], atol=1e-3)
    assert not torch.allclose(after[2], again[2], atol=1e-3)
    kept = once[-1] != 0
    torch.testing.assert_close(once[-1], torch.where(kept, after[2] * 2, 0.0))
    assert 0.3 < float(kept.float().mean()) < 0.7


def test_without_dropout_training_computes_what_evaluation_does(
    build: Build, x_TBE: torch.Tensor
) -> None:
    context = trained(build, 2, 0.0)
    start = context.initial_state(STREAMS)
    assert torch.equal(context(x_TBE, start)[0], context.eval()(x_TBE, start)[0])
