"""The GRU against loops over the equations of Straka's slides and of Koehn's chapter."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.special import expit as sigmoid

from charlm.errors import ConfigError
from charlm.model.build import CONTEXT
from charlm.model.contexts.gru import GRU

Floats = npt.NDArray[np.float64]
Build = Callable[..., GRU]
Check = Callable[..., None]

INPUT_DIM, DIM, STEPS, STREAMS = 5, 4, 6, 3


def by_row(p: Any, name: str) -> tuple[Floats, ...]:
    """The parts of a parameter for r, u and the candidate."""
    return tuple(np.split(p[name], 3))


def straka(p: Any, x: Floats, h: Floats) -> Floats:
    w_r, w_u, w_h = by_row(p, "weight_ih_l0")
    v_r, v_u, v_h = by_row(p, "weight_hh_l0")
    b_r, b_u, b_h = by_row(p, "bias_ih_l0")
    r = sigmoid(x @ w_r.T + h @ v_r.T + b_r)
    u = sigmoid(x @ w_u.T + h @ v_u.T + b_u)
    candidate = np.tanh(x @ w_h.T + (r * h) @ v_h.T + b_h)
    return u * h + (1 - u) * candidate


def koehn(p: Any, x: Floats, h: Floats) -> Floats:
    """4.14 to 4.16, where update = 1 − u: his matrices are ours with the other sign."""
    w_r, w_u, w = by_row(p, "weight_ih_l0")
    u_r, u_u, u = by_row(p, "weight_hh_l0")
    b_r, b_u, bias = by_row(p, "bias_ih_l0")
    update = sigmoid(x @ -w_u.T + h @ -u_u.T - b_u)
    reset = sigmoid(x @ w_r.T + h @ u_r.T + b_r)
    combination = np.tanh(x @ w.T + (reset * h) @ u.T)
    return (1 - update) * h + update * combination + bias


def with_layer_norm(p: Any, x: Floats, h: Floats) -> Floats:
    """Each product is normalised: with x, the gates' with h, the candidate's with r ⊙ h."""
    from_x = p.normalised(x @ p["weight_ih_l0"].T, "norm_x") + p["bias_ih_l0"]
    x_r, x_u, x_h = np.split(from_x, 3, axis=-1)
    gates, last = p["weight_hh_l0"][: 2 * DIM], p["weight_hh_l0"][2 * DIM :]
    h_r, h_u = np.split(p.normalised(h @ gates.T, "norms.0"), 2, axis=-1)
    r, u = sigmoid(x_r + h_r), sigmoid(x_u + h_u)
    candidate = np.tanh(x_h + p.normalised((r * h) @ last.T, "norms.1"))
    return u * h + (1 - u) * candidate


def after_with_layer_norm(p: Any, x: Floats, h: Floats) -> Floats:
    """As torch's cell, but with each product normalised."""
    biases = np.split(p["bias_hh_l0"], [2 * DIM])
    from_x = p.normalised(x @ p["weight_ih_l0"].T, "norm_x") + p["bias_ih_l0"]
    x_r, x_u, x_h = np.split(from_x, 3, axis=-1)
    gates, last = p["weight_hh_l0"][: 2 * DIM], p["weight_hh_l0"][2 * DIM :]
    h_r, h_u = np.split(p.normalised(h @ gates.T, "norms.0") + biases[0], 2, axis=-1)
    r, u = sigmoid(x_r + h_r), sigmoid(x_u + h_u)
    candidate = np.tanh(x_h + r * (p.normalised(h @ last.T, "norms.1") + biases[1]))
    return u * h + (1 - u) * candidate


@pytest.mark.parametrize(
    ("options", "slow"),
    [
        ({}, straka),
        ({"bias": "state"}, koehn),
        ({"layer_norm": True}, with_layer_norm),
        ({"layer_norm": True, "reset": "after"}, after_with_layer_norm),
    ],
    ids=["straka", "koehn", "layer_norm", "after"],
)
def test_a_cell_equals_a_loop_over_its_equations(
    assert_is_loop: Check, options: dict[str, Any], slow: Callable[..., Floats]
) -> None:
    assert_is_loop({"type": "gru", "dim": DIM, "layers": 1, **options}, slow)


def test_resetting_before_and_after_the_product_are_different_cells(build: Build) -> None:
    x_TBE = torch.randn(STEPS, STREAMS, INPUT_DIM, generator=torch.Generator().manual_seed(1))
    after = build(CONTEXT, {"type": "gru", "reset": "after", "layers": 1}, leading=[INPUT_DIM])
    before = build(CONTEXT, {"type": "gru", "layers": 1}, leading=[INPUT_DIM])
    for parameter in (after.layers[0].bias_hh_l0, after.layers[0].bias_ih_l0):
        torch.nn.init.zeros_(parameter)
    before.load_state_dict(after.state_dict(), strict=False)
    start = before.initial_state(STREAMS)
    ours, theirs = before(x_TBE, start)[0], after(x_TBE, start)[0]
    torch.testing.assert_close(ours[0], theirs[0])  # there is nothing to reset
    assert bool(((ours[1:] - theirs[1:]).abs() > 0.1).any())


def test_a_bias_on_the_state_of_torchs_cell_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        GRU(INPUT_DIM, reset="after", bias="state")
    assert str(caught.value) == (
        "option 'bias' of context 'gru' is 'state'; expected 'candidate', since torch's cell has "
        "no other; set reset=before"
    )
