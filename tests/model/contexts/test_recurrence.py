"""Our loop over a cell against oneDNN's calls, and the noise on steps and matrices.

Noise is checked by what it must not change: a mask is read off the result, and a plain loop over
the equations with that mask must give the same numbers.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from charlm.model.build import CONTEXT
from charlm.model.contexts.recurrence import LayerNorm, masks_of_resets
from charlm.model.contract import Context, State, map_state, state_leaves

Build = Callable[..., Context]

INPUT_DIM, DIM, STEPS, STREAMS = 5, 4, 6, 3


@pytest.fixture(name="x_TBE")
def fixture_x() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(STEPS, STREAMS, INPUT_DIM, dtype=torch.float64, generator=generator)


def start_of(context: Context) -> State:
    """A state that is not the initial one."""
    generator = torch.Generator().manual_seed(2)
    zeros = context.initial_state(STREAMS)
    return map_state(lambda leaf: torch.randn(leaf.shape, generator=generator).double(), zeros)


def double(build: Build, **settings: Any) -> Context:
    return build(CONTEXT, settings, leading=[INPUT_DIM]).double()


@pytest.mark.parametrize(
    "settings",
    [
        {"type": "lstm"},
        {"type": "lstm", "forget_bias": 1.5},
        {"type": "gru", "reset": "after"},
        {"type": "rnn"},
        {"type": "rnn", "activation": "relu"},
    ],
    ids=str,
)
def test_our_cell_computes_what_one_call_of_torch_does_and_has_the_same_gradients(
    build: Build, x_TBE: torch.Tensor, settings: dict[str, Any]
) -> None:
    sizes = {"dim": DIM, "layers": 2, "dropout": 0.0}
    fused = double(build, **sizes, **settings)
    ours = double(build, **sizes, **settings, zoneout=0.5)
    ours.noise = ours.noise._replace(zoneout=())  # the option served only to select the loop
    assert not isinstance(ours.layers[0], torch.nn.RNNBase)
    assert isinstance(fused.layers[0], torch.nn.RNNBase)
    ours.load_state_dict(fused.state_dict())
    state = start_of(fused)
    for context in (fused, ours):
        h_TBH, after = context(x_TBE, state)
        (h_TBH.square().sum() + sum(leaf.sum() for leaf in state_leaves(after))).backward()
    torch.testing.assert_close(ours(x_TBE, state), fused(x_TBE, state))
    for name, parameter in fused.named_parameters():
        torch.testing.assert_close(ours.get_parameter(name).grad, parameter.grad)


GATED: list[dict[str, Any]] = [{"type": name} for name in ("lstm", "mogrifier", "gru", "mut1")]
WITH_STEPS = [*GATED, {"type": "rnn"}, {"type": "deep-transition"}]


def one_layer(build: Build, settings: dict[str, Any], **more: Any) -> Context:
    sizes = {"dim": 64, "layers": 1, "dropout": 0.0}
    return double(build, **sizes, **settings, **more)


def leaf_rates(settings: dict[str, Any]) -> dict[str, float]:
    """Zoneout of the output and, if there is a separate memory, another rate for it."""
    memory = {"memory_zoneout": 0.75} if settings["type"] in ("lstm", "mogrifier") else {}
    return {"zoneout": 0.25, **memory}


@pytest.mark.parametrize("settings", WITH_STEPS, ids=str)
def test_zoneout_keeps_old_numbers_at_its_rate_and_all_others_are_the_new_ones(
    build: Build, x_TBE: torch.Tensor, settings: dict[str, Any]
) -> None:
    rates = leaf_rates(settings)
    context, plain = one_layer(build, settings, **rates), one_layer(build, settings)
    state = start_of(context)
    new = state_leaves(plain(x_TBE[:1], state)[1])
    mixed = state_leaves(context.train()(x_TBE[:1], state)[1])
    for leaf, old, fresh, rate in zip(mixed, state_leaves(state), new, rates.values(), strict=True):
        kept = leaf == old
        torch.testing.assert_close(leaf, torch.where(kept, old, fresh))
        assert float(kept.double().mean()) == pytest.approx(rate, abs=0.1)  # 192 draws: 3 sigma


@pytest.mark.parametrize("settings", WITH_STEPS, ids=str)
def test_in_evaluation_zoneout_is_the_expectation_at_every_step(
    build: Build, x_TBE: torch.Tensor, settings: dict[str, Any]
) -> None:
    rates = leaf_rates(settings)
    context, plain = one_layer(build, settings, **rates), one_layer(build, settings)
    state = start_of(context)
    expected, outputs = state, []
    for x_BE in x_TBE:
        new = state_leaves(plain(x_BE[None], expected)[1])
        old = state_leaves(expected)
        mixed = [r * o + (1 - r) * n for r, o, n in zip(rates.values(), old, new, strict=True)]
        expected = (tuple(mixed),)
        outputs.append(mixed[0])
    h_TBH, after = context(x_TBE, state)
    torch.testing.assert_close(h_TBH, torch.stack(outputs))
    torch.testing.assert_close(state_leaves(after), state_leaves(expected))


def without_candidate(context: Context, state: State, x: torch.Tensor) -> torch.Tensor:
    """The last leaf of a state after a step whose candidate is 0: an LSTM's memory, else h."""
    cell = context.layers[0]
    matrices = [*cell.matrices(), *cell.whole_matrices()]
    return cell.step(
        cell.project(x)[0],
        state[0],
        times=lambda number, h: torch.nn.functional.linear(h, matrices[number]),
        drop=torch.zeros_like,
    )[-1]


@pytest.mark.parametrize("settings", GATED, ids=str)
def test_recurrent_dropout_masks_the_candidate_alone_and_afresh_at_each_step(
    build: Build, x_TBE: torch.Tensor, settings: dict[str, Any]
) -> None:
    context = one_layer(build, settings, recurrent_dropout=0.25)
    plain = one_layer(build, settings)
    state = start_of(context)
    masks = []
    context.train()
    for x_BE in x_TBE:
        without = without_candidate(context, state, x_BE[None])
        full = state_leaves(plain(x_BE[None], state)[1])[-1]
        state = context(x_BE[None], state)[1]
        found = state_leaves(state)[-1]
        dropped = torch.isclose(found, without, rtol=0, atol=1e-12)
        expected = torch.where(dropped, without, without + (full - without) / 0.75)
        torch.testing.assert_close(found, expected)
        masks.append(dropped)
    shares = torch.stack(masks)
    assert float(shares.double().mean()) == pytest.approx(0.25, abs=0.04)  # 1,152 draws: 3 sigma
    assert len(shares.flatten(0, 1).unique(dim=0)) == STEPS * STREAMS


@pytest.mark.parametrize("settings", GATED, ids=str)
def test_within_one_chunk_recurrent_dropout_differs_from_step_to_step(
    build: Build, settings: dict[str, Any]
) -> None:
    context = one_layer(build, settings, recurrent_dropout=0.5).train()
    with torch.no_grad():
        for name, parameter in context.named_parameters():
            parameter.zero_()
            if "bias_ih" in name:
                parameter.fill_(1.0)  # then the numbers of a state differ by their masks alone
    x_TBE = torch.zeros(2, 1, INPUT_DIM, dtype=torch.float64)
    h_TBH, _ = context(x_TBE, context.initial_state(1))
    first = h_TBH[0, 0] != 0
    assert len(h_TBH[1, 0].round(decimals=9).unique()) == 4  # dropped or not, at either step
    assert bool(first.any())
    assert not bool(first.all())


# Without ReLU: an inactive unit has no gradient, by which the tests recognise a mask.
DROPPED = [
    *WITH_STEPS,
    {"type": "lstm", "forget_bias": 1.5},
    {"type": "lstm", "peepholes": True},
    {"type": "gru", "reset": "after"},
]
IN_LOOPS = [
    {"type": "lstm", "zoneout": 0.1},
    {"type": "gru", "reset": "after", "recurrent_dropout": 0.1},
]


@pytest.mark.parametrize("settings", [*DROPPED, *IN_LOOPS], ids=str)
def test_weight_drop_draws_a_matrix_a_chunk_and_only_what_it_kept_has_a_gradient(
    build: Build, x_TBE: torch.Tensor, settings: dict[str, Any]
) -> None:
    context = one_layer(build, {"weight_drop": 0.5, **settings}).train()
    state = start_of(context)
    kept = []
    for _ in range(2):
        context.zero_grad()
        context(x_TBE, state)[0].sum().backward()
        gradients = [p.grad for name, p in context.named_parameters() if "weight_hh" in name]
        kept.append(torch.cat([each.flatten() for each in gradients if each is not None]) != 0)
    assert float(kept[0].double().mean()) == pytest.approx(0.5, abs=0.03)
    assert float((kept[0] == kept[1]).double().mean()) == pytest.approx(0.5, abs=0.05)
    inputs = context.get_parameter("layers.0.weight_ih_l0").grad
    assert inputs is not None
    assert bool((inputs != 0).all())


@pytest.mark.parametrize("settings", DROPPED, ids=str)
def test_weight_drop_computes_with_the_kept_half_of_the_matrix_doubled(
    build: Build, x_TBE: torch.Tensor, settings: dict[str, Any]
) -> None:
    context, plain = one_layer(build, {"weight_drop": 0.5, **settings}), one_layer(build, settings)
    state = start_of(context)
    h_TBH, _ = context.train()(x_TBE, state)
    h_TBH.sum().backward()
    for name, parameter in plain.named_parameters():
        if "weight_hh" in name or "weight_ch" in name:
            gradient = context.get_parameter(name).grad
            assert gradient is not None
            parameter.data *= 2.0 * (gradient != 0)
    torch.testing.assert_close(h_TBH, plain(x_TBE, state)[0])


@pytest.mark.parametrize("settings", DROPPED, ids=str)
def test_in_evaluation_the_whole_matrix_counts_and_training_left_it_as_it_was(
    build: Build, x_TBE: torch.Tensor, settings: dict[str, Any]
) -> None:
    context, plain = one_layer(build, {"weight_drop": 0.5, **settings}), one_layer(build, settings)
    state = start_of(context)
    context.train()(x_TBE, state)
    torch.testing.assert_close(context.eval()(x_TBE, state), plain(x_TBE, state))


def test_a_layer_norm_of_bf16_is_in_its_parameters_precision() -> None:
    x_BG = torch.randn(3, DIM, generator=torch.Generator().manual_seed(1)).bfloat16()
    torch.testing.assert_close(LayerNorm(DIM)(x_BG), LayerNorm(DIM)(x_BG.float()))


@pytest.mark.parametrize("settings", [{"type": "lstm"}, {"type": "mogrifier"}], ids=str)
def test_under_bf16_only_products_are_rounded(build: Build, settings: dict[str, Any]) -> None:
    context = build(CONTEXT, {"dim": DIM, "layers": 1, **settings}, leading=[INPUT_DIM]).eval()
    for name, parameter in context.named_parameters():
        torch.nn.init.constant_(parameter, 0.5 if "bias" in name else 0.0)  # exact sums
    x, start = torch.ones(1, INPUT_DIM), context.initial_state(1)
    found = []
    for enabled in (False, True):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            _, after = context.descend(context.project(x), start, parents=[torch.tensor([0])])
        found.append(state_leaves(after))
    torch.testing.assert_close(*found)


def test_only_steps_with_a_reset_have_a_mask() -> None:
    masks = masks_of_resets(torch.tensor([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]))
    assert {step: mask.tolist() for step, mask in masks.items()} == {
        1: [[0.0], [1.0]],
        3: [[0.0], [0.0]],
    }


def test_without_resets_there_are_no_masks() -> None:
    assert masks_of_resets(None) == {} == masks_of_resets(torch.ones(3, 2))
