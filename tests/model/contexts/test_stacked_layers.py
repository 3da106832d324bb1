"""What surrounds the layers of a recurrence, tested with stacks of known single layers."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.build import CONTEXT
from charlm.model.contexts import CONTEXTS
from charlm.model.contract import Context, state_leaves
from charlm.settings import build_part, options_of

Build = Callable[..., Context]

DIM, STEPS, STREAMS = 32, 6, 3
RECURRENT = ["lstm", "mogrifier", "gru", "rnn", "mut1", "mut2", "mut3", "deep-transition"]
AWD = {"dropout": 0.25, "input_dropout": 0.4, "output_dropout": 0.5, "variational": True}


WIDTHS = {"dim": 300, "layers": 2, "last_dim": 0}
DROPOUTS = {"dropout": 0.5, "input_dropout": 0.0, "output_dropout": -1.0, "variational": False}
SUMS = {"residual": False, "sum_layers": False, "initial_state": "zero"}
OF_RNN = {"layer_norm": False, **DROPOUTS, "zoneout": 0.0, "weight_drop": 0.0, **SUMS}
OF_GRU = {
    **{"layer_norm": False, **DROPOUTS, "recurrent_dropout": 0.0},
    **{"zoneout": 0.0, "weight_drop": 0.0, **SUMS},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "lstm": {
        **{**WIDTHS, "gates": "ifo", "forget_bias": 0.0, "peepholes": False, "layer_norm": False},
        **{**DROPOUTS, "recurrent_dropout": 0.0, "zoneout": 0.0, "memory_zoneout": 0.0},
        **{"weight_drop": 0.0, **SUMS},
    },
    "mogrifier": {
        **{**WIDTHS, "rounds": 5, "rank": 96, "forget_bias": 0.0, **DROPOUTS},
        **{"recurrent_dropout": 0.0, "zoneout": 0.0, "memory_zoneout": 0.0, "weight_drop": 0.0},
        **SUMS,
    },
    "gru": {**WIDTHS, "reset": "before", "bias": "candidate", **OF_GRU},
    "rnn": {**WIDTHS, "activation": "tanh", **OF_RNN},
    **dict.fromkeys(("mut1", "mut2", "mut3"), WIDTHS | OF_GRU),
    "deep-transition": {
        **{"dim": 300, "depth": 2, "layers": 1, "last_dim": 0, "activation": "tanh"},
        **OF_RNN,
    },
}


@pytest.fixture(name="x_TBE")
def fixture_x() -> torch.Tensor:
    return torch.randn(STEPS, STREAMS, DIM, generator=torch.Generator().manual_seed(1))


def stack(build: Build, name: str, **options: Any) -> Context:
    settings = {"type": name, "dim": DIM, "layers": 2, "dropout": 0.0, **options}
    return build(CONTEXT, settings, leading=[DIM])


def layer_outputs(context: Context, x_TBE: torch.Tensor, **options: bool) -> list[torch.Tensor]:
    """Each layer's output before dropout, in evaluation, run one by one."""
    outputs: list[torch.Tensor] = []
    state = context.initial_state(STREAMS)
    for layer, leaves in zip(context.layers, state, strict=True):
        h_TBH = context.run_layer(layer, x_TBE, state=leaves)[0]
        outputs.append(h_TBH)
        x_TBE = h_TBH + x_TBE if options.get("residual") and len(outputs) > 1 else h_TBH
    return outputs


@pytest.mark.parametrize("name", RECURRENT)
def test_a_parts_own_options_stand_behind_the_widths_in_the_settings_that_a_run_stores(
    name: str,
) -> None:
    _, resolved = build_part(CONTEXT, {"type": name}, leading=[DIM])
    assert list(resolved.items()) == [("type", name), *OPTIONS[name].items()]
    assert list(options_of(CONTEXTS[name])) == list(OPTIONS[name])


@pytest.mark.parametrize("name", RECURRENT)
def test_residuals_run_from_the_second_layer_on(
    build: Build, name: str, x_TBE: torch.Tensor
) -> None:
    context = stack(build, name, layers=3, residual=True)
    first, second, third = layer_outputs(context, x_TBE, residual=True)
    h_TBH, _ = context(x_TBE, context.initial_state(STREAMS))
    torch.testing.assert_close(h_TBH, first + second + third)


@pytest.mark.parametrize("name", RECURRENT)
def test_a_sum_of_layers_is_the_sum_of_what_each_gives(
    build: Build, name: str, x_TBE: torch.Tensor
) -> None:
    context = stack(build, name, layers=3, sum_layers=True)
    h_TBH, _ = context(x_TBE, context.initial_state(STREAMS))
    torch.testing.assert_close(h_TBH, torch.stack(layer_outputs(context, x_TBE)).sum(dim=0))


def test_output_dropout_comes_before_the_residual_is_added(
    build: Build, x_TBE: torch.Tensor
) -> None:
    context = stack(build, "rnn", residual=True, output_dropout=0.5)
    first, second = layer_outputs(context, x_TBE)
    dropped, _ = context.train()(x_TBE, context.initial_state(STREAMS))
    is_dropped = torch.isclose(dropped, first)
    torch.testing.assert_close(dropped, torch.where(is_dropped, first, first + 2 * second))
    assert 0.4 < float(is_dropped.float().mean()) < 0.6


def test_an_output_dropout_of_0_is_none_beside_a_dropout(build: Build, x_TBE: torch.Tensor) -> None:
    context = stack(build, "rnn", layers=1, dropout=0.5, output_dropout=0.0).train()
    start = context.initial_state(STREAMS)
    torch.testing.assert_close(context(x_TBE, start), context.eval()(x_TBE, start))


def test_a_sum_of_layers_is_dropped_once(build: Build, x_TBE: torch.Tensor) -> None:
    context = stack(build, "rnn", sum_layers=True, output_dropout=0.5)
    total = torch.stack(layer_outputs(context, x_TBE)).sum(dim=0)
    dropped, _ = context.train()(x_TBE, context.initial_state(STREAMS))
    torch.testing.assert_close(dropped, torch.where(dropped != 0, 2 * total, 0.0))
    assert 0.4 < float((dropped != 0).float().mean()) < 0.6


@pytest.mark.parametrize("name", RECURRENT)
def test_each_place_has_its_own_rate_of_dropout(
    build: Build, name: str, x_TBE: torch.Tensor
) -> None:
    context = stack(build, name, layers=3, **AWD).train()
    seen = []
    run = context.run_layer

    def spy(layer: Any, x: torch.Tensor, *, state: Any) -> Any:
        seen.append(x)  # the input of a layer shows its mask
        return run(layer, x, state=state)

    context.run_layer = spy
    h_TBH, _ = context(x_TBE, context.initial_state(STREAMS))
    kept = [float((tensor != 0).float().mean()) for tensor in (*seen, h_TBH)]
    assert kept == pytest.approx([0.6, 0.75, 0.75, 0.5], abs=0.16)  # 96 draws: 3 sigma


@pytest.mark.parametrize("name", RECURRENT)
def test_a_variational_mask_is_one_for_all_steps_and_another_for_each_stream_and_chunk(
    build: Build, name: str, x_TBE: torch.Tensor
) -> None:
    context = stack(build, name, **AWD).train()
    start = context.initial_state(STREAMS)
    once, again = (context(x_TBE, start)[0] != 0 for _ in range(2))
    assert bool((once == once[0]).all())
    assert len(once[0].unique(dim=0)) == STREAMS
    assert not torch.equal(once, again)


def test_a_variational_mask_leaves_numbers_scaled_or_zero(
    build: Build, x_TBE: torch.Tensor
) -> None:
    context = stack(build, "lstm", layers=1, output_dropout=0.75, variational=True)
    start = context.initial_state(STREAMS)
    plain = context(x_TBE, start)[0]
    dropped = context.train()(x_TBE, start)[0]
    torch.testing.assert_close(dropped, torch.where(dropped != 0, 4 * plain, 0.0))


@pytest.mark.parametrize("name", RECURRENT)
def test_in_evaluation_all_dropout_is_off(build: Build, name: str, x_TBE: torch.Tensor) -> None:
    noisy, plain = stack(build, name, **AWD, weight_drop=0.5), stack(build, name)
    start = plain.initial_state(STREAMS)
    torch.testing.assert_close(noisy(x_TBE, start), plain(x_TBE, start))


@pytest.mark.parametrize("name", RECURRENT)
def test_learned_starts_are_one_vector_a_leaf_that_every_stream_begins_with(
    build: Build, name: str, x_TBE: torch.Tensor
) -> None:
    context = stack(build, name, last_dim=8, initial_state="learned")
    leaves = state_leaves(context.initial_state(STREAMS))
    learned = [p for key, p in context.named_parameters() if key.startswith("start")]
    assert [tuple(leaf.shape) for leaf in leaves] == [(STREAMS, len(p)) for p in learned]
    for leaf, parameter in zip(leaves, learned, strict=True):
        assert all(torch.equal(row, parameter) for row in leaf)
    assert {len(p) for p in learned} == {DIM, 8}
    assert context(x_TBE, context.initial_state(STREAMS))[0].shape == (STEPS, STREAMS, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"residual": True, "last_dim": 3},
            "option 'residual' of context 'gru' adds layers of widths 5, 5, 3; expected equal "
            "widths; leave out last_dim",
        ),
        (
            {"sum_layers": True, "last_dim": 3},
            "option 'sum_layers' of context 'gru' adds layers of widths 5, 5, 3; expected equal "
            "widths; leave out last_dim",
        ),
        (
            {"sum_layers": True, "residual": True},
            "options 'residual' and 'sum_layers' of context 'gru' are both true; expected one of "
            "them; leave one out",
        ),
        (
            {"residual": True, "layers": 1},
            "option 'residual' of context 'gru' is true where there is one layer, to which it does "
            "nothing; expected two or more; set context.layers=2, or leave it out",
        ),
        (
            {"sum_layers": True, "layers": 1},
            "option 'sum_layers' of context 'gru' is true where there is one layer, to which it "
            "does nothing; expected two or more; set context.layers=2, or leave it out",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_added_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    settings = {"type": "gru", "dim": 5, "layers": 3, **options}
    with pytest.raises(ConfigError) as caught:
        build_part(CONTEXT, settings, leading=[4])
    assert str(caught.value) == message
