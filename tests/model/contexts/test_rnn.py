"""The simple and the deep transitional network against loops over their equations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.special import expit

from charlm.model.build import CONTEXT
from charlm.model.contract import Context

Floats = npt.NDArray[np.float64]
Parameters = Any  # of conftest.py
Build = Callable[..., Context]
Check = Callable[..., None]

INPUT_DIM, DIM, STEPS, STREAMS = 5, 4, 6, 3
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "tanh": np.tanh,
    "sigmoid": expit,
    "relu": lambda x: np.maximum(x, 0),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_simple_network_equals_a_loop_over_its_equation(
    assert_is_loop: Check, activation: str
) -> None:
    settings = {"type": "rnn", "dim": DIM, "layers": 1, "activation": activation}
    f = ACTIVATIONS[activation]

    def step(p: Parameters, x: Floats, h: Floats) -> Floats:
        from_x = x @ p["weight_ih_l0"].T + p["bias_ih_l0"]
        return f(from_x + h @ p["weight_hh_l0"].T + p["bias_hh_l0"])

    assert_is_loop(settings, step)


def test_layer_norm_stands_on_the_products_with_input_and_state(assert_is_loop: Check) -> None:
    settings = {"type": "rnn", "dim": DIM, "layers": 1, "layer_norm": True}

    def step(p: Parameters, x: Floats, h: Floats) -> Floats:
        from_x = p.normalised(x @ p["weight_ih_l0"].T, "norm_x")
        from_h = p.normalised(h @ p["weight_hh_l0"].T, "norms.0")
        return np.tanh(from_x + from_h + p["bias_ih_l0"] + p["bias_hh_l0"])

    assert_is_loop(settings, step)


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_deep_transition_equals_a_loop_over_equation_4_18(
    assert_is_loop: Check, activation: str, depth: int, layer_norm: bool
) -> None:
    settings: dict[str, Any] = {"type": "deep-transition", "dim": DIM, "depth": depth}
    settings |= {"activation": activation, "layer_norm": layer_norm}
    f = ACTIVATIONS[activation]

    def step(p: Parameters, x: Floats, h: Floats) -> Floats:
        from_x = p.normalised(x @ p["weight_ih_l0"].T, "norm_x")
        a = f(from_x + p.normalised(h @ p["weight_hh_l0"].T, "norms.0") + p["bias_ih_l0"])
        for i in range(1, depth):
            a = f(p.normalised(a @ p[f"weight_hh_l{i}"].T, f"norms.{i}") + p[f"bias_ih_l{i}"])
        return a

    assert_is_loop(settings, step)


def test_a_transition_of_one_layer_is_the_simple_network(build: Build) -> None:
    deep = build(CONTEXT, {"type": "deep-transition", "dim": DIM, "depth": 1}, leading=[INPUT_DIM])
    simple = build(CONTEXT, {"type": "rnn", "dim": DIM, "layers": 1}, leading=[INPUT_DIM])
    torch.nn.init.zeros_(simple.get_parameter("layers.0.bias_hh_l0"))
    simple.load_state_dict(deep.state_dict(), strict=False)
    x_TBE = torch.randn(STEPS, STREAMS, INPUT_DIM, generator=torch.Generator().manual_seed(1))
    start = deep.initial_state(STREAMS)
    torch.testing.assert_close(deep(x_TBE, start), simple(x_TBE, start))
