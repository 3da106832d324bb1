"""The contract of contexts, for every entry of CONTEXTS; and the helpers for their states.

ARGUMENTS lists the settings of a part that take other paths through it; a part that is not listed
is tested with its defaults.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from charlm.model.build import CONTEXT
from charlm.model.contexts import CONTEXTS
from charlm.model.contract import (
    Context,
    State,
    detached,
    gather_state,
    map_state,
    merge_states,
    state_leaves,
    with_leaves,
)
from charlm.settings import build_part, options_of

INPUT_DIM, STEPS, STREAMS = 5, 7, 3
MUT: list[dict[str, Any]] = [
    {},
    {"dim": INPUT_DIM, "layer_norm": True, "initial_state": "learned"},
]
ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "lstm": [
        {},
        {"layers": 1, "zoneout": 0.3},
        {"layer_norm": True, "last_dim": 4, "initial_state": "learned"},
        {"layers": 3, "residual": True, "forget_bias": 1.0, "weight_drop": 0.5},
        {"sum_layers": True, "variational": True, "gates": "io"},
        {"gates": "fo", "recurrent_dropout": 0.5},
        {"gates": "if", "peepholes": True, "forget_bias": 1.0},
        {"peepholes": True, "layer_norm": True, "memory_zoneout": 0.5},
    ],
    "gru": [
        {},
        {"bias": "state", "recurrent_dropout": 0.5, "initial_state": "learned"},
        {"reset": "after", "weight_drop": 0.5},
        {"reset": "after", "zoneout": 0.1, "layer_norm": True},
    ],
    "mogrifier": [
        {"rank": 3},
        {"rank": 2, "rounds": 2, "forget_bias": 1.0, "weight_drop": 0.5, "zoneout": 0.1},
        {"rank": 2, "rounds": 1, "last_dim": 4, "initial_state": "learned"},
    ],
    "rnn": [
        {},
        {"activation": "sigmoid", "layers": 3, "residual": True},
        {"activation": "relu", "last_dim": 4, "weight_drop": 0.5},
    ],
    "mut1": MUT,
    "mut2": MUT,
    "mut3": MUT,
    "deep-transition": [
        {},
        {"depth": 3, "activation": "sigmoid", "layer_norm": True, "initial_state": "learned"},
    ],
    "ffnn": [
        {"layers": 1},
        {"order": 2},
        {"order": 3, "initial_state": "learned"},
        {"layers": 2, "direct": True, "activation": "relu"},
    ],
    "log-bilinear": [{}, {"order": 3, "matrices": "full", "initial_state": "learned"}],
}
OF_ALL = {"dim": 6, "layers": 2}  # for parts that have these options


def all_settings() -> list[dict[str, Any]]:
    """Small settings of every context, with all listed variants."""
    return [
        {"type": name} | {k: v for k, v in OF_ALL.items() if k in options_of(part)} | options
        for name, part in CONTEXTS.items()
        for options in ARGUMENTS.get(name, [{}])
    ]


def named(settings: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in settings.items())


each_setting = pytest.mark.parametrize("settings", all_settings(), ids=named)


@pytest.fixture(params=all_settings(), ids=named)
def context(request: pytest.FixtureRequest, build: Callable[..., Context]) -> Context:
    return build(CONTEXT, request.param, leading=[INPUT_DIM])


@pytest.fixture(name="x_TBE")
def fixture_x() -> torch.Tensor:
    return torch.randn(STEPS, STREAMS, INPUT_DIM, generator=torch.Generator().manual_seed(8))


@pytest.fixture
def state(context: Context) -> State:
    """A state that is not the initial one."""
    before = torch.randn(4, STREAMS, INPUT_DIM, generator=torch.Generator().manual_seed(9))
    after: State = context(before, context.initial_state(STREAMS))[1]
    return after


def test_a_context_gives_one_vector_of_its_width_a_position(
    context: Context, x_TBE: torch.Tensor, state: State
) -> None:
    h_TBH, _ = context(x_TBE, state)
    assert h_TBH.shape == (STEPS, STREAMS, context.dim)


LEVELS = ([0, 2], [0, 0, 1, 1], [3], [0, 0, 0], [1, 2])  # each node's parent in the level before


def test_descending_a_tree_is_reading_each_of_its_paths(context: Context, state: State) -> None:
    context.eval()
    n_nodes = sum(map(len, LEVELS))
    x_NE = torch.randn(n_nodes, INPUT_DIM, generator=torch.Generator().manual_seed(7))
    above = [(x_NE[:0], root) for root in range(STREAMS)]  # what is read on the way, and the start
    expected, last = [], []
    with torch.no_grad():
        rows_E = iter(x_NE)
        for level in LEVELS:
            above = [(torch.vstack([above[i][0], next(rows_E)]), above[i][1]) for i in level]
            alone = [
                context(path_TE[:, None], gather_state(state, torch.tensor([root])))
                for path_TE, root in above
            ]
            expected += [h_TBH[-1, 0] for h_TBH, _ in alone]
            last = [after for _, after in alone]
        h_NH, after = context.descend(
            context.project(x_NE), state, parents=[torch.tensor(level) for level in LEVELS]
        )
    torch.testing.assert_close(h_NH, torch.stack(expected), rtol=0, atol=1e-5)
    for row, alone_after in enumerate(last):
        own = gather_state(after, torch.tensor([row]))
        for ours, theirs in zip(state_leaves(own), state_leaves(alone_after), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("sizes", [[1, 6], [3, 4], [6, 1], [2, 2, 2, 1], [1] * STEPS], ids=str)
def test_cutting_a_stream_into_chunks_changes_nothing(
    context: Context, x_TBE: torch.Tensor, state: State, sizes: list[int]
) -> None:
    whole, after_whole = context(x_TBE, state)
    pieces, after = [], state
    for chunk in x_TBE.split(sizes):
        piece, after = context(chunk, after)
        pieces.append(piece)
    torch.testing.assert_close(torch.cat(pieces), whole)
    torch.testing.assert_close(state_leaves(after), state_leaves(after_whole))


@pytest.mark.parametrize("first", [0, 3])
def test_a_masked_stream_begins_anew_and_the_others_run_on(
    context: Context, x_TBE: torch.Tensor, state: State, first: int
) -> None:
    if not context.takes_masks:
        pytest.skip("it takes no masks")
    where_B = torch.tensor([False, True, False])
    before, middle = context(x_TBE[:first], state) if first else (x_TBE[:0, :, :0], state)
    begun = merge_states(context.initial_state(STREAMS), middle, where_B=where_B)
    after, last = context(x_TBE[first:], begun)
    keep_TB = torch.ones(STEPS, STREAMS)
    keep_TB[first, 1] = 0
    h_TBH, found = context.forward_masked(x_TBE, state, keep_TB=keep_TB)
    torch.testing.assert_close(h_TBH, torch.cat([before, after]) if first else after)
    torch.testing.assert_close(state_leaves(found), state_leaves(last))


@pytest.mark.parametrize("step", range(STEPS))
def test_no_position_sees_the_future_and_each_sees_itself(
    context: Context, x_TBE: torch.Tensor, state: State, step: int
) -> None:
    other = x_TBE.clone()
    other[step:] += 1.0
    before, after = context(x_TBE, state)[0], context(other, state)[0]
    torch.testing.assert_close(after[:step], before[:step], rtol=0, atol=0)
    assert bool((after[step:] != before[step:]).flatten(1).any(dim=1).all())


def test_every_leaf_of_a_state_has_its_streams_on_axis_0(context: Context, state: State) -> None:
    for each in (context.initial_state(STREAMS), state):
        assert {len(leaf) for leaf in state_leaves(each)} == {STREAMS}


def test_the_initial_state_is_the_same_for_every_stream(context: Context) -> None:
    many, one = context.initial_state(STREAMS), context.initial_state(1)
    torch.testing.assert_close(
        state_leaves(many), [leaf.expand(STREAMS, *leaf.shape[1:]) for leaf in state_leaves(one)]
    )


@pytest.mark.parametrize("rows", [[0], [2, 0], [1, 1, 2, 0]], ids=str)
def test_a_gathered_state_goes_on_as_each_row_alone(
    context: Context, x_TBE: torch.Tensor, state: State, rows: list[int]
) -> None:
    gathered, _ = context(x_TBE[:, rows], gather_state(state, torch.tensor(rows)))
    for column, row in enumerate(rows):
        alone, _ = context(x_TBE[:, [row]], gather_state(state, torch.tensor([row])))
        torch.testing.assert_close(gathered[:, [column]], alone)


def test_every_parameter_of_a_context_has_a_gradient(context: Context, x_TBE: torch.Tensor) -> None:
    h_TBH, _ = context(x_TBE, context.initial_state(STREAMS))
    h_TBH.square().sum().backward()
    without = [n for n, p in context.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


@each_setting
def test_a_contexts_state_dict_round_trips(
    settings: dict[str, Any], build: Callable[..., Context], x_TBE: torch.Tensor
) -> None:
    def output(part: Context) -> torch.Tensor:
        h_TBH: torch.Tensor = part(x_TBE, part.initial_state(STREAMS))[0]
        return h_TBH

    one = build(CONTEXT, settings, leading=[INPUT_DIM], seed=1)
    other = build(CONTEXT, settings, leading=[INPUT_DIM], seed=2)
    assert not torch.equal(output(other), output(one))
    other.load_state_dict(one.state_dict())
    assert torch.equal(output(other), output(one))


@each_setting
def test_on_the_meta_device_a_context_has_the_same_parameters(settings: dict[str, Any]) -> None:
    part, _ = build_part(CONTEXT, settings, leading=[INPUT_DIM])
    with torch.device("meta"):
        shadow, _ = build_part(CONTEXT, settings, leading=[INPUT_DIM])
    shapes = {key: tensor.shape for key, tensor in part.state_dict().items()}
    assert {key: tensor.shape for key, tensor in shadow.state_dict().items()} == shapes
    assert all(tensor.is_meta for tensor in shadow.state_dict().values())


@pytest.mark.bf16
@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
def test_under_bf16_the_state_stays_in_fp32_and_the_output_is_near(
    context: Context, x_TBE: torch.Tensor, training: bool
) -> None:
    start = context.initial_state(STREAMS)
    exact = context(x_TBE, start)[0]
    with torch.autocast("cpu", torch.bfloat16):
        h_TBH, after = context.train(training)(x_TBE, start)
        h_TBH.float().sum().backward()
    assert {leaf.dtype for leaf in state_leaves(after)} == {torch.float32}
    assert bool(h_TBH.isfinite().all())
    if not training:
        torch.testing.assert_close(h_TBH.float(), exact, atol=0.1, rtol=0.1)


@each_setting
def test_a_contexts_resolved_settings_rebuild_it(settings: dict[str, Any]) -> None:
    part, resolved = build_part(CONTEXT, settings, leading=[INPUT_DIM])
    again, resolved_again = build_part(CONTEXT, resolved, leading=[INPUT_DIM])
    assert resolved_again == resolved
    shapes = {key: tensor.shape for key, tensor in part.state_dict().items()}
    assert {key: tensor.shape for key, tensor in again.state_dict().items()} == shapes


def tree() -> State:
    return (torch.tensor([[1.0], [2.0]]), (torch.tensor([[3.0], [4.0]]),))


def test_gathering_a_state_takes_the_same_rows_of_every_leaf() -> None:
    gathered = gather_state(tree(), torch.tensor([1, 1, 0]))
    assert [leaf.flatten().tolist() for leaf in state_leaves(gathered)] == [[2, 2, 1], [4, 4, 3]]


def test_a_state_is_rebuilt_from_its_leaves_in_its_own_shape() -> None:
    first, second = torch.zeros(1), torch.ones(1)
    rebuilt = with_leaves(tree(), [first, second])
    assert isinstance(rebuilt, tuple)
    assert rebuilt[0] is first
    assert isinstance(rebuilt[1], tuple)
    assert rebuilt[1][0] is second


def test_a_detached_state_passes_no_gradient() -> None:
    grown = map_state(lambda leaf: leaf.requires_grad_() * 2, tree())
    assert [leaf.requires_grad for leaf in state_leaves(grown)] == [True, True]
    assert [leaf.requires_grad for leaf in state_leaves(detached(grown))] == [False, False]
