"""LSTMs without a gate, with peepholes or layer normalisation, against loops over equations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.special import expit as sigmoid

from charlm.errors import ConfigError
from charlm.model.build import CONTEXT
from charlm.model.contexts.lstm import LSTM
from charlm.settings import build_part

Floats = npt.NDArray[np.float64]
Check = Callable[..., None]
Slow = Callable[[Any, Floats, Floats, Floats], tuple[Floats, Floats]]

INPUT_DIM, DIM = 5, 4


def affine(p: Any, x: Floats, h: Floats) -> Floats:
    bias = p["bias_ih_l0"] + p["bias_hh_l0"]
    return x @ p["weight_ih_l0"].T + h @ p["weight_hh_l0"].T + bias


def without_forget_gate(p: Any, x: Floats, h: Floats, c: Floats) -> Any:
    """The LSTM of 1997: c = c + i ⊙ tanh(…)."""
    i, g, o = np.split(affine(p, x, h), 3, axis=-1)
    c = c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def without_input_gate(p: Any, x: Floats, h: Floats, c: Floats) -> Any:
    f, g, o = np.split(affine(p, x, h), 3, axis=-1)
    c = sigmoid(f) * c + np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def without_output_gate(p: Any, x: Floats, h: Floats, c: Floats) -> Any:
    i, f, g = np.split(affine(p, x, h), 3, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return np.tanh(c), c


def with_forget_bias(p: Any, x: Floats, h: Floats, c: Floats) -> Any:
    """The −b of the tables: here 1.5 more on the forget gate than what is drawn."""
    i, f, g, o = np.split(affine(p, x, h), 4, axis=-1)
    c = sigmoid(f + 1.5) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def koehn(p: Any, x: Floats, h: Floats, c: Floats) -> Any:
    """4.10 to 4.13: no biases, gates that see the memory before the step, activation outside."""
    w = dict(zip("ifgo", np.split(p["weight_ih_l0"], 4), strict=True))
    u = dict(zip("ifgo", np.split(p["weight_hh_l0"], 4), strict=True))
    m = dict(zip("ifo", np.split(p["weight_ch_l0"], 3), strict=True))
    gate = {a: sigmoid(x @ w[a].T + h @ u[a].T + c @ m[a].T) for a in "ifo"}
    memory = gate["i"] * np.tanh(x @ w["g"].T + h @ u["g"].T) + gate["f"] * c
    return np.tanh(gate["o"] * memory), memory


def with_layer_norm(p: Any, x: Floats, h: Floats, c: Floats) -> Any:
    """Ba et al. (2016), eq. 20 to 22."""
    of_x = p.normalised(x @ p["weight_ih_l0"].T, "norm_x")
    of_h = p.normalised(h @ p["weight_hh_l0"].T, "norms.0")
    i, f, g, o = np.split(of_x + of_h + p["bias_ih_l0"] + p["bias_hh_l0"], 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(p.normalised(c, "norm_c")), c


VARIANTS: dict[str, tuple[dict[str, Any], Slow]] = {
    "gates=io": ({"gates": "io"}, without_forget_gate),
    "gates=fo": ({"gates": "fo"}, without_input_gate),
    "gates=if": ({"gates": "if"}, without_output_gate),
    "forget_bias": ({"forget_bias": 1.5}, with_forget_bias),
    "forget_bias in steps": ({"forget_bias": 1.5, "recurrent_dropout": 0.5}, with_forget_bias),
    "peepholes": ({"peepholes": True}, koehn),
    "layer_norm": ({"layer_norm": True}, with_layer_norm),
}


@pytest.mark.parametrize(("options", "slow"), VARIANTS.values(), ids=list(VARIANTS))
def test_a_variant_equals_a_loop_over_its_equations(
    assert_is_loop: Check, options: dict[str, Any], slow: Slow
) -> None:
    assert_is_loop({"type": "lstm", "dim": DIM, "layers": 1, **options}, slow)


@pytest.mark.parametrize(
    ("options", "in_steps"),
    [
        ({"forget_bias": 1.0, "weight_drop": 0.5, "input_dropout": 0.4}, False),
        ({"residual": True, "variational": True, "initial_state": "learned"}, False),
        ({"gates": "io"}, True),
        ({"peepholes": True}, True),
        ({"layer_norm": True}, True),
        ({"recurrent_dropout": 0.1}, True),
        ({"zoneout": 0.1}, True),
        ({"memory_zoneout": 0.1}, True),
    ],
    ids=str,
)
def test_only_what_reaches_into_a_step_takes_the_slow_loop(
    options: dict[str, Any], in_steps: bool
) -> None:
    part, _ = build_part(CONTEXT, {"type": "lstm", "dim": DIM, **options}, leading=[INPUT_DIM])
    assert [isinstance(layer, torch.nn.LSTM) for layer in part.layers] == [not in_steps] * 2


def test_a_bias_for_a_forget_gate_that_is_not_there_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        LSTM(INPUT_DIM, gates="io", forget_bias=1.0)
    assert str(caught.value) == (
        "option 'forget_bias' of context 'lstm' is 1.0; expected 0, since gates 'io' have no "
        "forget gate; set gates=ifo"
    )
