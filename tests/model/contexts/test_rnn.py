"""The simple and the deep transitional network against loops over their equations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from charlm.model.build import CONTEXT
from charlm.model.contract import Context

Floats = npt.NDArray[np.float64]
Build = Callable[..., Context]

INPUT_DIM, DIM, STEPS, STREAMS = 5, 4, 6, 3
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
}


def normalised(x: Floats, p: dict[str, Floats], name: str) -> Floats:
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 0.001)
    return (1 + p[f"{name}.gain"]) * centred / scale + p[f"{name}.shift"]


def parameters(context: Context) -> dict[str, Floats]:
    return {name.removeprefix("layers.0."): t.numpy() for name, t in context.state_dict().items()}


def outputs(context: Context, step: Callable[[Floats, Floats], Floats]) -> tuple[Floats, Floats]:
    """What the part gives on random inputs from a random state, and what a loop of `step` does."""
    random = np.random.default_rng(3)
    x_TBE = random.normal(size=(STEPS, STREAMS, INPUT_DIM))
    h = random.normal(size=(STREAMS, DIM))
    found, ((last,),) = context(torch.from_numpy(x_TBE), ((torch.from_numpy(h),),))
    expected = []
    for x in x_TBE:
        h = step(x, h)
        expected.append(h)
    np.testing.assert_allclose(last.detach().numpy(), h, atol=1e-12)
    return found.detach().numpy(), np.stack(expected)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_simple_network_equals_a_loop_over_its_equation(build: Build, activation: str) -> None:
    settings = {"type": "rnn", "dim": DIM, "layers": 1, "activation": activation}
    context = build(CONTEXT, settings, leading=[INPUT_DIM]).double()
    p, f = parameters(context), ACTIVATIONS[activation]

    def step(x: Floats, h: Floats) -> Floats:
        from_x = x @ p["weight_ih_l0"].T + p["bias_ih_l0"]
        return f(from_x + h @ p["weight_hh_l0"].T + p["bias_hh_l0"])

    found, expected = outputs(context, step)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_layer_norm_stands_on_the_products_with_input_and_state(build: Build) -> None:
    settings = {"type": "rnn", "dim": DIM, "layers": 1, "layer_norm": True}
    context = build(CONTEXT, settings, leading=[INPUT_DIM]).double()
    p = parameters(context)

    def step(x: Floats, h: Floats) -> Floats:
        from_x = normalised(x @ p["weight_ih_l0"].T, p, "norm_x")
        from_h = normalised(h @ p["weight_hh_l0"].T, p, "norms.0")
        return np.tanh(from_x + from_h + p["bias_ih_l0"] + p["bias_hh_l0"])

    found, expected = outputs(context, step)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_deep_transition_equals_a_loop_over_equation_4_18(
    build: Build, activation: str, depth: int, layer_norm: bool
) -> None:
    settings: dict[str, Any] = {"type": "deep-transition", "dim": DIM, "depth": depth}
    settings |= {"activation": activation, "layer_norm": layer_norm}
    context = build(CONTEXT, settings, leading=[INPUT_DIM]).double()
    p, f = parameters(context), ACTIVATIONS[activation]

    def norm(x: Floats, name: str) -> Floats:
        return normalised(x, p, name) if layer_norm else x

    def step(x: Floats, h: Floats) -> Floats:
        from_x = norm(x @ p["weight_ih_l0"].T, "norm_x")
        a = f(from_x + norm(h @ p["weight_hh_l0"].T, "norms.0") + p["bias_ih_l0"])
        for i in range(1, depth):
            a = f(norm(a @ p[f"weight_hh_l{i}"].T, f"norms.{i}") + p[f"bias_ih_l{i}"])
        return a

    found, expected = outputs(context, step)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_transition_of_one_layer_is_the_simple_network(build: Build) -> None:
    deep = build(CONTEXT, {"type": "deep-transition", "dim": DIM, "depth": 1}, leading=[INPUT_DIM])
    simple = build(CONTEXT, {"type": "rnn", "dim": DIM, "layers": 1}, leading=[INPUT_DIM])
    torch.nn.init.zeros_(simple.get_parameter("layers.0.bias_hh_l0"))
    simple.load_state_dict(deep.state_dict(), strict=False)
    x_TBE = torch.randn(STEPS, STREAMS, INPUT_DIM, generator=torch.Generator().manual_seed(1))
    start = deep.initial_state(STREAMS)
    torch.testing.assert_close(deep(x_TBE, start), simple(x_TBE, start))
