"""A check of one-layer contexts against slow loops over the equations of a step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from charlm.model.build import CONTEXT
from charlm.model.contract import Context, state_leaves
from charlm.settings import Settings

STEPS, STREAMS = 6, 3


class Parameters(dict[str, Any]):
    """A layer's parameters by name."""

    def normalised(self, x: Any, name: str) -> Any:
        """x by the layer norm of this name, as in Straka's slides; x itself where there is none."""
        if f"{name}.gain" not in self:
            return x
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 0.001)
        return (1 + self[f"{name}.gain"]) * centred / scale + self[f"{name}.shift"]


@pytest.fixture(scope="session")
def assert_is_loop(build: Callable[..., Context]) -> Callable[..., None]:
    """Compares a context with a loop over `slow`, in float64, from a random state.

    `slow` takes `Parameters`, an input, and the state as one array or several. It returns
    the next state, whose first array is the output.
    """

    def compare(settings: Settings, slow: Callable[..., Any], *, input_dim: int = 5) -> None:
        context = build(CONTEXT, settings, leading=[input_dim]).double()
        named = context.state_dict().items()
        p = Parameters({name.removeprefix("layers.0."): t.numpy() for name, t in named})
        random = np.random.default_rng(3)
        x_TBE = random.normal(size=(STEPS, STREAMS, input_dim))
        n_leaves = len(state_leaves(context.initial_state(STREAMS)))
        state = tuple(random.normal(size=(n_leaves, STREAMS, settings["dim"])))
        found, after = context(torch.from_numpy(x_TBE), (tuple(map(torch.from_numpy, state)),))
        outputs = []
        for x in x_TBE:
            state = slow(p, x, *state)
            state = state if isinstance(state, tuple) else (state,)
            outputs.append(state[0])
        np.testing.assert_allclose(found.detach().numpy(), np.stack(outputs), atol=1e-12)
        for leaf, expected in zip(state_leaves(after), state, strict=True):
            np.testing.assert_allclose(leaf.detach().numpy(), expected, atol=1e-12)

    return compare
