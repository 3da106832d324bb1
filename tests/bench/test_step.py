"""What the benchmark of steps reports besides times, and what it refuses."""

import json
from collections.abc import Callable

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from typer.testing import CliRunner

from charlm.bench import step
from charlm.bench.machine import FLOPS, product
from charlm.bench.step import PRODUCTS, STEPS, StepBench, bench_step
from charlm.bench.timing import Timing
from charlm.cli import app
from charlm.errors import ConfigError


def test_the_ratio_is_of_processor_time_and_a_row_is_a_share_of_a_step() -> None:
    timings = {
        STEPS: Timing((4.0, 8.0, 6.0), 1, (3.0, 3.0, 9.0)),
        PRODUCTS: Timing((1.0,), 1, (2.0,)),
    }
    bench = StepBench(
        arch="a", n_words=10, n_rows=4, n_steps=3, n_tokens=12, machine="m", timings=timings
    )
    assert (bench.ratio, bench.seconds_per_row) == (1.5, 6.0 / 3 / 4)
    assert bench.to_dict()["ratio"] == 1.5


def test_steps_and_products_are_timed_on_a_beam() -> None:
    options = ["--rows", "3", "--steps", "1", "--repetitions", "1", "--threads", "1"]
    result = CliRunner().invoke(app, ["bench", "step", *options, "--device", "cpu", "--json"])
    value = json.loads(result.stdout)
    assert (value["n_rows"], value["n_steps"], value["n_words"]) == (3, 1, 10_000)
    assert all(each["seconds"][0] > 0 for each in value["paths"].values())


def test_the_products_are_those_of_all_layers_but_the_first_words_and_of_the_softmax(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flops: list[int] = []

    def counted(paths: dict[str, Callable[[], None]], *, repetitions: int) -> dict[str, Timing]:
        with FlopCounterMode(display=False) as counter:
            paths[PRODUCTS]()
        flops.append(counter.get_total_flops())
        return dict.fromkeys(paths, Timing((1.0,) * repetitions, 1, (1.0,)))

    monkeypatch.setattr(step, "in_turns", counted)
    bench_step(arch="char-small", rows=3, steps=2, repetitions=1, threads=1, device="cpu")
    layers = 300 * 4 * 300 + 2 * 300 * 4 * 300  # the second also reads the first
    assert flops == [2 * 3 * 2 * (layers + 300 * 10_000)]


def test_the_machines_limit_is_of_as_many_operations_as_it_is_said_to_be() -> None:
    with FlopCounterMode(display=False) as counter:
        product(torch.device("meta"), "fp32")()
    assert counter.get_total_flops() == FLOPS


def test_parts_whose_products_are_not_known_are_refused() -> None:
    with pytest.raises(ConfigError, match="knows the products of an LSTM and a plain softmax"):
        bench_step(arch="gru", device="cpu")
