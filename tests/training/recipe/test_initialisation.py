"""Initial weights: how each parameter is drawn, moments, bounds, orthogonality, seeds.

The models are torch's modules with charlm's names; the expected bounds are computed by hand.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from charlm.model.contexts.log_bilinear import LogBilinear
from charlm.model.contexts.lstm import LSTMCell
from charlm.model.contexts.mogrifier import MogrifierCell
from charlm.settings import Family, build_part
from charlm.training.recipe.initialisation import (
    INITIALISATIONS,
    Initialisation,
    Orthogonal,
    Uniform,
    Xavier,
    glorot_bound,
    parameter_roles,
)


class Peephole(nn.Module):
    """A cell of our own: torch's names, a matrix on the memory, a vector that is no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.weight_ih_l0 = nn.Parameter(torch.ones(32, 6))
        self.weight_hh_l0 = nn.Parameter(torch.ones(32, 8))
        self.weight_ch_l0 = nn.Parameter(torch.ones(24, 8))
        self.bias_ih_l0 = nn.Parameter(torch.ones(32))
        self.gain = nn.Parameter(torch.ones(32))


def model() -> nn.ModuleDict:
    """Every kind of role, and every parameter 1."""
    built = nn.ModuleDict(
        {
            "encoder": nn.ModuleDict(
                {
                    "letters": nn.Embedding(50, 10),
                    "reader": nn.LSTM(10, 20),
                    "combination": nn.Linear(40, 12),
                }
            ),
            "context": nn.ModuleList([nn.LSTM(12, 16), nn.GRU(16, 9), Peephole()]),
            "output": nn.ModuleDict({"words": nn.Linear(16, 300)}),
        }
    )
    for parameter in built.parameters():
        nn.init.ones_(parameter)
    return built


def drawn(initialisation: Initialisation, *, seed: int = 4) -> dict[str, Tensor]:
    built = model()
    torch.manual_seed(seed)
    initialisation.apply(built)
    return {name: parameter.detach() for name, parameter in built.named_parameters()}


def reaches(values: Tensor, bound: float) -> bool:
    """Whether these are uniform in ±bound, as far as one can see: range, mean, variance b²/3."""
    n = values.numel()
    assert n >= 60
    return bool(
        bound * (1 - 8 / n) < values.abs().max() <= bound
        and values.mean().abs() < 4 * bound / math.sqrt(3 * n)
        and abs(float(values.var()) / (bound**2 / 3) - 1) < 4 / math.sqrt(n)
    )


BIASES = {
    *("encoder.reader.bias_ih_l0", "encoder.reader.bias_hh_l0", "encoder.combination.bias"),
    *("context.0.bias_ih_l0", "context.0.bias_hh_l0", "context.1.bias_ih_l0"),
    *("context.1.bias_hh_l0", "context.2.bias_ih_l0", "output.words.bias"),
}
VECTORS = {*BIASES, "context.2.gain"}


def test_every_place_of_a_model_is_known_for_what_it_is() -> None:
    kinds = {role.name: (role.kind, role.n_stacked) for role in parameter_roles(model())}
    assert {name for name, (kind, _) in kinds.items() if kind == "vector"} == VECTORS
    assert {name: kind for name, kind in kinds.items() if name not in VECTORS} == {
        "encoder.letters.weight": ("table", 1),
        "encoder.reader.weight_ih_l0": ("input", 4),
        "encoder.reader.weight_hh_l0": ("recurrent", 4),
        "encoder.combination.weight": ("matrix", 1),
        "context.0.weight_ih_l0": ("input", 4),
        "context.0.weight_hh_l0": ("recurrent", 4),
        "context.1.weight_ih_l0": ("input", 3),
        "context.1.weight_hh_l0": ("recurrent", 3),
        "context.2.weight_ih_l0": ("input", 4),
        "context.2.weight_hh_l0": ("recurrent", 4),
        "context.2.weight_ch_l0": ("recurrent", 3),
        "output.words.weight": ("matrix", 1),
    }


def test_an_input_kernel_may_hold_fewer_gates_than_the_recurrent_one() -> None:
    cell = nn.Module()
    cell.weight_ih_l0 = nn.Parameter(torch.empty(10, 7))  # as in MUT2, whose reset gate reads x
    cell.weight_hh_l0 = nn.Parameter(torch.empty(15, 5))
    assert [(role.kind, role.n_stacked) for role in parameter_roles(cell)] == [
        ("input", 2),
        ("recurrent", 3),
    ]


def test_uniform_draws_the_bits_that_a_loop_over_the_parameters_draws() -> None:
    found = drawn(Uniform(), seed=9)
    torch.manual_seed(9)
    for parameter in found.values():
        assert torch.equal(parameter, torch.empty_like(parameter).uniform_(-0.05, 0.05))


def test_uniform_leaves_biases_at_zero_and_draws_every_other_parameter() -> None:
    found = drawn(Uniform(range=0.1, biases="zero"))
    assert {name for name, values in found.items() if not values.any()} == BIASES
    assert reaches(found["context.0.weight_hh_l0"], 0.1)
    assert found["context.2.gain"].abs().max() <= 0.1


@pytest.mark.parametrize("initialisation", [Xavier(), Xavier(where="cells"), Orthogonal()])
def test_vectors_are_zero_and_nothing_else_is(initialisation: Initialisation) -> None:
    found = drawn(initialisation)
    assert {name for name, values in found.items() if not values.any()} == VECTORS


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("encoder.letters.weight", 0.1),
        ("encoder.reader.weight_ih_l0", math.sqrt(6 / (10 + 20))),
        ("encoder.reader.weight_hh_l0", math.sqrt(6 / (20 + 20))),
        ("encoder.combination.weight", math.sqrt(6 / (40 + 12))),
        ("context.1.weight_ih_l0", math.sqrt(6 / (16 + 9))),
        ("context.2.weight_ih_l0", math.sqrt(6 / (6 + 8))),
        ("context.2.weight_ch_l0", math.sqrt(6 / (8 + 8))),
        ("output.words.weight", math.sqrt(6 / (16 + 300))),
    ],
)
def test_xavier_takes_one_gate_of_a_stacked_kernel_as_the_matrix(name: str, bound: float) -> None:
    assert reaches(drawn(Xavier())[name], bound)


def test_the_gain_of_xavier_multiplies_matrices_and_no_table() -> None:
    found = drawn(Xavier(gain=3.0, range=0.2))
    assert reaches(found["encoder.combination.weight"], 3 * math.sqrt(6 / 52))
    assert reaches(found["encoder.letters.weight"], 0.2)


@pytest.mark.parametrize("kernel", ["weight_ih_l0", "weight_hh_l0"])
@pytest.mark.parametrize("where", ["cells", "encoder-cells"])
def test_miyamoto_and_cho_widen_the_three_gates_and_not_the_candidate(
    where: Any, kernel: str
) -> None:
    found = drawn(Xavier(gates=4.0, where=where))
    bound = math.sqrt(6 / ((10 if "ih" in kernel else 20) + 20))
    i, f, g, o = found[f"encoder.reader.{kernel}"].chunk(4)  # torch's order
    assert reaches(g, bound)
    for gate in (i, f, o):
        assert reaches(gate, 4 * bound)


def test_where_says_which_matrices_are_xaviers() -> None:
    of_encoder = drawn(Xavier(gates=4.0, where="encoder-cells"))
    of_all = drawn(Xavier(gates=4.0, where="cells"))
    for name in ("encoder.letters.weight", "encoder.combination.weight", "output.words.weight"):
        assert reaches(of_encoder[name], 0.1)
        assert reaches(of_all[name], 0.1)
    candidate = slice(32, 48)
    assert reaches(of_encoder["context.0.weight_hh_l0"][candidate], 0.1)
    assert reaches(of_all["context.0.weight_hh_l0"][candidate], math.sqrt(6 / 32))
    assert reaches(of_all["context.1.weight_hh_l0"], math.sqrt(6 / 18))  # a GRU's are not widened


@pytest.mark.parametrize(
    "name", [f"context.{n}.weight_{m}h_l0" for n, m in ((0, "h"), (1, "h"), (2, "h"), (2, "c"))]
)
def test_the_whole_recurrent_kernel_has_orthonormal_columns(name: str) -> None:
    kernel_GH = drawn(Orthogonal())[name]
    assert torch.allclose(kernel_GH.T @ kernel_GH, torch.eye(kernel_GH.shape[1]), atol=1e-5)
    gate_HH = kernel_GH[: kernel_GH.shape[1]]
    assert not torch.allclose(gate_HH.T @ gate_HH, torch.eye(len(gate_HH)), atol=0.1)


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("encoder.letters.weight", 0.05),
        ("context.0.weight_ih_l0", math.sqrt(6 / (12 + 4 * 16))),
        ("output.words.weight", math.sqrt(6 / (16 + 300))),
    ],
)
def test_beside_orthogonal_matrices_an_input_kernel_is_one_of_glorots(
    name: str, bound: float
) -> None:
    assert reaches(drawn(Orthogonal())[name], bound)


@pytest.mark.parametrize("initialisation", [Xavier(), Orthogonal()])
def test_each_matrix_of_a_log_bilinear_model_has_fans_of_its_own(
    initialisation: Initialisation,
) -> None:
    context = LogBilinear(40, order=4, matrices="full", initial_state="learned")
    nn.init.ones_(context.history.first)
    initialisation.apply(context)
    assert reaches(context.weight.detach(), math.sqrt(6 / 80))
    assert not context.history.first.any()  # which maps no word


@pytest.mark.parametrize(
    ("gates", "rows"),
    [("ifo", [4, 4, 1, 4]), ("fo", [4, 1, 4]), ("io", [4, 1, 4]), ("if", [4, 4, 1])],
)
def test_the_gates_of_every_lstm_are_widened_and_its_candidate_not(
    gates: str, rows: list[int]
) -> None:
    cell = LSTMCell(30, 40, gates=gates, forget_bias=0.0, peepholes=True, layer_norm=False)
    Xavier(gates=4.0).apply(cell)
    for name, fan in (("weight_ih_l0", 70), ("weight_hh_l0", 80)):
        matrices = getattr(cell, name).detach().chunk(len(rows))
        for matrix, factor in zip(matrices, rows, strict=True):
            assert reaches(matrix, factor * math.sqrt(6 / fan))
    for matrix in cell.weight_ch_l0.detach().split(40):
        assert reaches(matrix, 4 * math.sqrt(6 / 80))


def test_the_gates_of_a_mogrifier_lstm_are_widened_and_its_scales_not() -> None:
    cell = MogrifierCell(30, 40, rounds=2, rank=8, forget_bias=0.0)
    Xavier(gates=4.0).apply(cell)
    for kernel, fan in ((cell.weight_ih_l0, 70), (cell.weight_hh_l0, 80)):
        for matrix, factor in zip(kernel.detach().chunk(4), (4, 4, 1, 4), strict=True):
            assert reaches(matrix, factor * math.sqrt(6 / fan))
    assert reaches(cell.narrow[0].detach(), math.sqrt(6 / 48))


def test_the_fans_of_a_tensor_of_three_dimensions_are_those_of_torch() -> None:
    tensor = torch.empty(6, 4, 5)
    fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(tensor)
    assert glorot_bound(tensor) == pytest.approx(math.sqrt(6 / (fan_in + fan_out)))


@pytest.mark.parametrize("kind", INITIALISATIONS)
def test_a_seed_draws_the_same_bits_and_another_does_not(kind: str) -> None:
    family = Family("initialisation", Initialisation, INITIALISATIONS)
    initialisation, settings = build_part(family, {"type": kind})
    assert build_part(family, settings)[1] == settings
    first, again, other = (drawn(initialisation, seed=seed) for seed in (4, 4, 5))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first.keys() - VECTORS)


@pytest.mark.parametrize("kind", INITIALISATIONS)
def test_what_was_there_before_does_not_matter(kind: str) -> None:
    initialisation: Any = INITIALISATIONS[kind]()
    built = model()
    for parameter in built.parameters():
        nn.init.constant_(parameter, torch.nan)
    torch.manual_seed(4)
    initialisation.apply(built)
    expected = drawn(initialisation)
    for name, parameter in built.named_parameters():
        assert torch.equal(parameter, expected[name])
