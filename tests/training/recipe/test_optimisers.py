"""Optimisers against their equations in plain numbers, and through a checkpoint.

The equations are those of the papers, with torch's ε and schedules as in its documentation. Each
generator takes gradients and yields the parameter after every step.
"""

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from charlm.errors import ConfigError
from charlm.run.folder import RESUME
from charlm.run.stored_weights import read_tensors
from charlm.settings import Family, build_part
from charlm.training.recipe.optimisers import OPTIMISERS, Optimiser
from charlm.training.watcher import Silence

FAMILY = Family("optimiser", Optimiser, OPTIMISERS)
TrainToy = Callable[..., Any]
Bits = Callable[[Path], dict[str, object]]
# A quadratic bowl: the gradient at p is 3 p − 1, so that each step affects the next.
START, N_STEPS = 0.7, 12


def slope(p: float) -> float:
    return 3.0 * p - 1.0


IN_A_FRESH_PROCESS = """
import sys
import torch
from charlm.training.recipe.optimisers import OPTIMISERS

for kind in OPTIMISERS.values():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimiser = kind().over([parameter])
    optimiser.zero_grad()
    parameter.grad = torch.ones(2)
    optimiser.step()
    optimiser.load_state_dict(optimiser.state_dict())
print("torch._dynamo" in sys.modules)
"""


def test_torchs_compiler_is_not_loaded() -> None:
    program = [sys.executable, "-c", IN_A_FRESH_PROCESS]
    assert subprocess.run(program, check=True, capture_output=True, text=True).stdout == "False\n"


def sgd(
    p: float, *, lr: float, momentum: float, nesterov: bool, weight_decay: float
) -> Iterator[float]:
    buffer = 0.0
    while True:
        gradient = slope(p) + weight_decay * p
        buffer = momentum * buffer + gradient
        p -= lr * (gradient + momentum * buffer if nesterov else buffer)
        yield p


def adam(
    p: float, *, lr: float, betas: list[float], eps: float, weight_decay: float
) -> Iterator[float]:
    (b1, b2), m, v, t = betas, 0.0, 0.0, 0
    while True:
        t += 1
        gradient = slope(p) + weight_decay * p
        m, v = b1 * m + (1 - b1) * gradient, b2 * v + (1 - b2) * gradient**2
        p -= lr * m / (1 - b1**t) / (math.sqrt(v / (1 - b2**t)) + eps)
        yield p


def adamw(
    p: float, *, lr: float, betas: list[float], eps: float, weight_decay: float
) -> Iterator[float]:
    (b1, b2), m, v, t = betas, 0.0, 0.0, 0
    while True:
        t += 1
        gradient = slope(p)
        m, v = b1 * m + (1 - b1) * gradient, b2 * v + (1 - b2) * gradient**2
        p -= lr * weight_decay * p
        p -= lr * m / (1 - b1**t) / (math.sqrt(v / (1 - b2**t)) + eps)
        yield p


def nadam(
    p: float, *, lr: float, betas: list[float], eps: float, weight_decay: float
) -> Iterator[float]:
    (b1, b2), m, v, t, product = betas, 0.0, 0.0, 0, 1.0
    while True:
        t += 1
        gradient = slope(p) + weight_decay * p
        now, after = (b1 * (1 - 0.5 * 0.96 ** (n * 0.004)) for n in (t, t + 1))
        product *= now
        m, v = b1 * m + (1 - b1) * gradient, b2 * v + (1 - b2) * gradient**2
        ahead = after * m / (1 - product * after) + (1 - now) * gradient / (1 - product)
        p -= lr * ahead / (math.sqrt(v / (1 - b2**t)) + eps)
        yield p


def radam(
    p: float, *, lr: float, betas: list[float], eps: float, weight_decay: float
) -> Iterator[float]:
    (b1, b2), m, v, t = betas, 0.0, 0.0, 0
    longest = 2 / (1 - b2) - 1
    while True:
        t += 1
        gradient = slope(p) + weight_decay * p
        m, v = b1 * m + (1 - b1) * gradient, b2 * v + (1 - b2) * gradient**2
        length = longest - 2 * t * b2**t / (1 - b2**t)
        step = m / (1 - b1**t)
        if length > 5:
            above = (length - 4) * (length - 2) * longest
            below = (longest - 4) * (longest - 2) * length
            step *= math.sqrt(above / below) * math.sqrt(1 - b2**t) / (math.sqrt(v) + eps)
        p -= lr * step
        yield p


def rmsprop(
    p: float, *, lr: float, alpha: float, eps: float, momentum: float, weight_decay: float
) -> Iterator[float]:
    v = buffer = 0.0
    while True:
        gradient = slope(p) + weight_decay * p
        v = alpha * v + (1 - alpha) * gradient**2
        buffer = momentum * buffer + gradient / (math.sqrt(v) + eps)
        p -= lr * buffer
        yield p


def adagrad(p: float, *, lr: float, eps: float, weight_decay: float) -> Iterator[float]:
    total = 0.0
    while True:
        gradient = slope(p) + weight_decay * p
        total += gradient**2
        p -= lr * gradient / (math.sqrt(total) + eps)
        yield p


def adadelta(
    p: float, *, lr: float, rho: float, eps: float, weight_decay: float
) -> Iterator[float]:
    v = u = 0.0
    while True:
        gradient = slope(p) + weight_decay * p
        v = rho * v + (1 - rho) * gradient**2
        change = math.sqrt(u + eps) / math.sqrt(v + eps) * gradient
        u = rho * u + (1 - rho) * change**2
        p -= lr * change
        yield p


SLOW: dict[str, Callable[..., Iterator[float]]] = {
    "sgd": sgd,
    "adam": adam,
    "adamw": adamw,
    "nadam": nadam,
    "radam": radam,
    "rmsprop": rmsprop,
    "adagrad": adagrad,
    "adadelta": adadelta,
}
CASES = [
    *({"type": kind} for kind in OPTIMISERS),
    *({"type": kind, "lr": 0.05, "weight_decay": 0.3} for kind in OPTIMISERS),
    {"type": "sgd", "lr": 0.1, "momentum": 0.8},
    {"type": "sgd", "lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.2},
    {"type": "adam", "lr": 0.1, "betas": [0, 0.99], "eps": 0.1},
    {"type": "radam", "lr": 0.1, "betas": [0.5, 0.9]},
    {"type": "rmsprop", "alpha": 0.5, "momentum": 0.5, "eps": 0.01},
    {"type": "adadelta", "rho": 0.5, "eps": 0.001},
]


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_an_optimiser_makes_the_steps_of_its_equations(settings: dict[str, Any]) -> None:
    optimiser, resolved = build_part(FAMILY, settings)
    parameter = nn.Parameter(torch.full((3,), START, dtype=torch.float64))
    steps = optimiser.over(iter([parameter]))
    slow = SLOW[resolved.pop("type")](START, **resolved)
    for _ in range(N_STEPS):
        parameter.grad = 3.0 * parameter.detach() - 1.0
        steps.step()
        assert parameter.tolist() == pytest.approx([next(slow)] * 3, rel=1e-6)


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_the_rate_that_is_set_before_a_step_is_the_one_that_it_is_made_with(kind: str) -> None:
    parameters = [nn.Parameter(torch.ones(2)) for _ in range(2)]
    for parameter, lr in zip(parameters, (1e-3, 0.5), strict=True):
        steps = OPTIMISERS[kind](lr=lr).over([parameter])  # type: ignore[call-arg]
        for group in steps.param_groups:
            group["lr"] = 0.0625
        parameter.grad = torch.tensor([1.0, -2.0])
        steps.step()
    assert torch.equal(*parameters)
    assert not torch.equal(parameters[0], torch.ones(2))


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_a_parameter_without_a_gradient_stays_where_it_is(kind: str) -> None:
    # In a training with phases, the character side has no gradient while words alone are read.
    moved, left = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))
    steps = OPTIMISERS[kind](weight_decay=0.1).over([moved, left])  # type: ignore[call-arg]
    moved.grad = torch.ones(2)
    steps.step()
    assert torch.equal(left, torch.ones(3))
    assert (moved != 1).all()


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_a_parameter_whose_first_gradient_comes_late_begins_there(settings: dict[str, Any]) -> None:
    optimiser, resolved = build_part(FAMILY, settings)
    first, late = (nn.Parameter(torch.full((3,), START, dtype=torch.float64)) for _ in range(2))
    steps = optimiser.over([first, late])
    slow = SLOW[resolved.pop("type")](START, **resolved)
    for step in range(N_STEPS):
        first.grad = None if step == 3 else 3.0 * first.detach() - 1.0
        late.grad = 3.0 * late.detach() - 1.0 if step > 1 else None
        steps.step()
        wanted = START if late.grad is None else next(slow)
        assert late.tolist() == pytest.approx([wanted] * 3, rel=1e-6)


@pytest.mark.parametrize("kind", [kind for kind in OPTIMISERS if kind != "sgd"])
def test_a_number_whose_gradient_was_always_zero_stays_where_it_is(kind: str) -> None:
    parameter = nn.Parameter(torch.ones(2))
    optimiser, _ = build_part(FAMILY, {"type": kind, "eps": 1e-30, "weight_decay": 0})
    steps = optimiser.over([parameter])
    parameter.grad = torch.zeros(2)
    steps.step()
    assert torch.equal(parameter, torch.ones(2))


class StoppedError(Exception):
    """What ends a training behind its first epoch."""


class Stopping(Silence):
    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        raise StoppedError


SLOTS = {  # torch's state of a parameter between steps
    "sgd": {"momentum_buffer"},
    "adam": {"step", "exp_avg", "exp_avg_sq"},
    "adamw": {"step", "exp_avg", "exp_avg_sq"},
    "nadam": {"step", "mu_product", "exp_avg", "exp_avg_sq"},
    "radam": {"step", "exp_avg", "exp_avg_sq"},
    "rmsprop": {"step", "square_avg", "momentum_buffer"},
    "adagrad": {"step", "sum"},
    "adadelta": {"step", "square_avg", "acc_delta"},
}


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_a_training_goes_on_from_its_checkpoint_to_the_same_bits(
    kind: str, train_toy: TrainToy, tiny: tuple[str, ...], bits: Bits, tmp_path: Path
) -> None:
    options = [f"type={kind}", "weight_decay=0.001"]
    options += ["momentum=0.5"] if kind in ("sgd", "rmsprop") else []
    overrides = (*tiny, *(f"recipe.optimiser.{option}" for option in options))
    train_toy("whole", overrides=overrides)
    with pytest.raises(StoppedError):
        train_toy(overrides=overrides, watcher=Stopping())
    names, _ = read_tensors(tmp_path / "run" / RESUME)
    slots = {name.rpartition(".")[2] for name in names if name.startswith("optimiser.")}
    assert slots == SLOTS[kind]
    assert train_toy(overrides=overrides, resume=True).is_finished
    assert bits(tmp_path / "run") == bits(tmp_path / "whole")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"type": "sgd", "nesterov": True},
            "option 'nesterov' of optimiser 'sgd' is true where momentum is 0; expected a "
            "momentum; use --set recipe.optimiser.momentum=0.9",
        ),
        *(
            (
                {"type": kind, "betas": [0.9]},
                f"option 'betas' of optimiser '{kind}' holds 1 numbers; expected two; "
                "use --set recipe.optimiser.betas=0.9,0.999",
            )
            for kind in ("adam", "adamw", "nadam", "radam")
        ),
    ],
)
def test_an_optimiser_that_cannot_be_is_one_line(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_part(FAMILY, settings)
    assert str(caught.value) == line
