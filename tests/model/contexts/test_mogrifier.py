"""The Mogrifier LSTM against a loop over the equations of Melis et al. (2020)."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import expit as sigmoid

Floats = npt.NDArray[np.float64]
Parameters = dict[str, Floats]

DIM, FORGET_BIAS = 4, 0.5


def step(p: Parameters, x: Floats, h: Floats, c: Floats) -> tuple[Floats, Floats]:
    """The next h and c; round i = 1, 2, … scales x where it is odd, and h where it is even."""
    n_rounds = sum(name.startswith("narrow") for name in p)
    for i in range(1, n_rounds + 1):
        matrix = p[f"broad.{i - 1}"] @ p[f"narrow.{i - 1}"]
        if i % 2:
            x = 2 * sigmoid(h @ matrix.T) * x
        else:
            h = 2 * sigmoid(x @ matrix.T) * h
    gates = x @ p["weight_ih_l0"].T + h @ p["weight_hh_l0"].T + p["bias_ih_l0"]
    i_gate, f_gate, new, o_gate = np.split(gates, 4, axis=-1)
    c = sigmoid(f_gate + FORGET_BIAS) * c + sigmoid(i_gate) * np.tanh(new)
    return sigmoid(o_gate) * np.tanh(c), c


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_a_mogrifier_equals_a_loop_over_its_equations(
    assert_is_loop: Callable[..., None], rounds: int
) -> None:
    settings = {"type": "mogrifier", "dim": DIM, "layers": 1, "rank": 3, "rounds": rounds}
    assert_is_loop(settings | {"forget_bias": FORGET_BIAS}, step, input_dim=DIM + 1)
