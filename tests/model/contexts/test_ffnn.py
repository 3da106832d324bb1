"""The contexts of n-gram models against loops over positions, written from the equations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.special import expit

from charlm.model.build import CONTEXT
from charlm.model.contract import Context, state_leaves

Floats = npt.NDArray[np.float64]
Build = Callable[..., Context]

INPUT_DIM, DIM, STEPS, STREAMS = 3, 4, 6, 2
ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "tanh": np.tanh,
    "sigmoid": expit,
    "relu": lambda x: np.maximum(x, 0),
}


def words_before(x_TBE: Floats, before_BNE: Floats, t: int, n_read: int) -> list[Floats]:
    """The vectors that position t reads, newest first: its own, then those before it."""
    read = []
    for j in range(n_read):
        place = t - j
        read.append(x_TBE[place] if place >= 0 else before_BNE[:, place])
    return read


def run(build: Build, **settings: Any) -> tuple[dict[str, Floats], list[list[Floats]], Floats]:
    """The parameters, what each position reads, and the part's output, from a given state."""
    context = build(CONTEXT, settings, leading=[INPUT_DIM]).double()
    random = np.random.default_rng(3)
    x_TBE = random.normal(size=(STEPS, STREAMS, INPUT_DIM))
    n_read = settings["order"] - 1
    before = random.normal(size=(STREAMS, n_read - 1, INPUT_DIM))
    h_TBH, after = context(torch.from_numpy(x_TBE), torch.from_numpy(before))
    last = [x_TBE[STEPS - k] for k in range(n_read - 1, 0, -1)]
    assert after.shape == before.shape
    np.testing.assert_array_equal(
        after.transpose(0, 1).numpy(), np.array(last).reshape(n_read - 1, STREAMS, INPUT_DIM)
    )
    p = {name: t.numpy() for name, t in context.state_dict().items()}
    reads = [words_before(x_TBE, before, t, n_read) for t in range(STEPS)]
    return p, reads, h_TBH.detach().numpy()


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("order", [2, 3, 5])
def test_the_feed_forward_network_equals_a_loop_over_4_2(
    build: Build, order: int, activation: str, direct: bool
) -> None:
    settings = {"type": "ffnn", "order": order, "dim": DIM}
    p, reads, found = run(build, **settings, activation=activation, direct=direct)
    matrices = np.split(p["layers.0.weight"], order - 1, axis=1)
    for t, vectors in enumerate(reads):
        total = p["layers.0.bias"] + sum(c @ h.T for h, c in zip(matrices, vectors, strict=True))
        h = ACTIVATIONS[activation](total)
        # What a linear output with [W U] makes of it is W h + Σ U C(w): 4.5.
        expected = np.concatenate([h, sum(vectors)], axis=-1) if direct else h
        np.testing.assert_allclose(found[t], expected, atol=1e-12)


def test_further_hidden_layers_stand_on_the_first(build: Build) -> None:
    p, reads, found = run(build, type="ffnn", order=3, dim=DIM, layers=3)
    for t, vectors in enumerate(reads):
        h = np.concatenate(vectors, axis=-1)
        for layer in range(3):
            h = np.tanh(h @ p[f"layers.{layer}.weight"].T + p[f"layers.{layer}.bias"])
        np.testing.assert_allclose(found[t], h, atol=1e-12)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("matrices", ["diagonal", "full"])
def test_the_log_bilinear_context_sums_one_matrix_a_place(
    build: Build, matrices: str, order: int
) -> None:
    p, reads, found = run(build, type="log-bilinear", order=order, matrices=matrices)
    for t, vectors in enumerate(reads):
        expected = np.zeros((STREAMS, INPUT_DIM))
        for part, x in zip(p["weight"], vectors, strict=True):
            expected += x @ (part.T if matrices == "full" else np.diag(part))
        np.testing.assert_allclose(found[t], expected, atol=1e-12)


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("name", ["ffnn", "log-bilinear"])
def test_a_stream_starts_behind_zeros_or_behind_learned_vectors(
    build: Build, name: str, order: int
) -> None:
    zeros, learned = (
        build(CONTEXT, {"type": name, "order": order, "initial_state": start}, leading=[INPUT_DIM])
        for start in ("zero", "learned")
    )
    assert not state_leaves(zeros.initial_state(STREAMS))[0].any()
    (first,) = state_leaves(learned.initial_state(STREAMS))
    assert first.shape == (STREAMS, order - 2, INPUT_DIM)
    assert bool((first != 0).all())
    torch.testing.assert_close(first[0], first[1])


@pytest.mark.parametrize("name", ["ffnn", "log-bilinear"])
def test_dropout_on_the_input_reaches_the_carried_words_but_not_what_is_carried_on(
    build: Build, name: str
) -> None:
    settings = {"type": name, "order": 3, "input_dropout": 0.5}
    context = build(CONTEXT, settings, leading=[INPUT_DIM]).train()
    x_TBE, carried = torch.ones(1, 200, INPUT_DIM), torch.ones(200, 1, INPUT_DIM)
    h_TBH, after = context(x_TBE, carried)
    torch.testing.assert_close(after, torch.ones(200, 1, INPUT_DIM))
    n_ways = len(h_TBH[0, :, 0].detach().unique())
    assert n_ways == 4 if name == "log-bilinear" else n_ways > 8  # 2 words in and out, or 6 numbers


@pytest.mark.parametrize(
    "settings", [{"type": "ffnn", "dim": 50}, {"type": "log-bilinear"}], ids=str
)
def test_variational_dropout_drops_the_same_numbers_of_a_stream_at_all_steps(
    build: Build, settings: dict[str, Any]
) -> None:
    dropout = {"order": 3, "dropout": 0.5, "variational": True}
    context = build(CONTEXT, {**settings, **dropout}, leading=[50]).train()
    h_TBH, _ = context(torch.randn(STEPS, 2, 50), context.initial_state(2))
    kept = h_TBH != 0
    assert bool((kept == kept[0]).all())
    assert 0.3 < float(kept.float().mean()) < 0.7
    assert not torch.equal(kept[0, 0], kept[0, 1])
