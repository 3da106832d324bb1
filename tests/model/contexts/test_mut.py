"""MUT1 to MUT3 against loops over the equations of Jozefowicz et al. (2015)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import expit as sigmoid

from charlm.model.build import CONTEXT
from charlm.model.contract import Context

Floats = npt.NDArray[np.float64]
Parameters = Any  # of conftest.py
Build = Callable[..., Context]
Check = Callable[..., None]

DIM = 4


def raw(p: Parameters, x: Floats) -> Floats:
    """The input itself, or its projection to the width of the state."""
    return x @ p["projection_l0"].T if "projection_l0" in p else x


def mut1(p: Parameters, x: Floats, h: Floats) -> Floats:
    b_z, b_r, b_h = np.split(p["bias_ih_l0"], 3)
    u_r, u_h = np.split(p["weight_hh_l0"], 2)
    x_z, x_r = np.split(p.normalised(x @ p["weight_ih_l0"].T, "norm_x"), 2, axis=-1)
    z = sigmoid(x_z + b_z)
    r = sigmoid(x_r + p.normalised(h @ u_r.T, "norms.0") + b_r)
    candidate = np.tanh(p.normalised((r * h) @ u_h.T, "norms.1") + np.tanh(raw(p, x)) + b_h)
    return candidate * z + h * (1 - z)


def mut2(p: Parameters, x: Floats, h: Floats) -> Floats:
    b_z, b_r, b_h = np.split(p["bias_ih_l0"], 3)
    u_z, u_r, u_h = np.split(p["weight_hh_l0"], 3)
    x_z, x_h = np.split(p.normalised(x @ p["weight_ih_l0"].T, "norm_x"), 2, axis=-1)
    gates = p.normalised(np.concatenate([h @ u_z.T, h @ u_r.T], axis=-1), "norms.0")
    h_z, h_r = np.split(gates, 2, axis=-1)
    z = sigmoid(x_z + h_z + b_z)
    r = sigmoid(raw(p, x) + h_r + b_r)
    candidate = np.tanh(p.normalised((r * h) @ u_h.T, "norms.1") + x_h + b_h)
    return candidate * z + h * (1 - z)


def mut3(p: Parameters, x: Floats, h: Floats) -> Floats:
    b_z, b_r, b_h = np.split(p["bias_ih_l0"], 3)
    u_z, u_r, u_h = np.split(p["weight_hh_l0"], 3)
    x_z, x_r, x_h = np.split(p.normalised(x @ p["weight_ih_l0"].T, "norm_x"), 3, axis=-1)
    z = sigmoid(x_z + p.normalised(np.tanh(h) @ u_z.T, "norms.0") + b_z)
    r = sigmoid(x_r + p.normalised(h @ u_r.T, "norms.1") + b_r)
    candidate = np.tanh(p.normalised((r * h) @ u_h.T, "norms.2") + x_h + b_h)
    return candidate * z + h * (1 - z)


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("input_dim", [DIM, DIM + 1], ids=["equal widths", "projected"])
@pytest.mark.parametrize("slow", [mut1, mut2, mut3])
def test_a_mutant_equals_a_loop_over_its_equations(
    assert_is_loop: Check, slow: Callable[..., Floats], input_dim: int, layer_norm: bool
) -> None:
    settings = {"type": slow.__name__, "dim": DIM, "layers": 1, "layer_norm": layer_norm}
    assert_is_loop(settings, slow, input_dim=input_dim)


@pytest.mark.parametrize("name", ["mut1", "mut2"])
def test_only_the_layer_whose_widths_differ_projects_its_input(build: Build, name: str) -> None:
    context = build(CONTEXT, {"type": name, "dim": DIM, "layers": 2}, leading=[DIM + 1])
    shapes = {key: p.shape for key, p in context.named_parameters() if "projection" in key}
    assert shapes == {"layers.0.projection_l0": (DIM, DIM + 1)}
