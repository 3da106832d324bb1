"""`charlm bench`: six commands, each with a table and a JSON object."""

import inspect
import json
import re
import shlex
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from charlm.bench import machine
from charlm.cli import app
from charlm.cli.bench import BENCHES

NAMES = list(BENCHES)
FUNCTIONS = {
    "train": "train.bench_train",
    "eval": "evaluate.bench_eval",
    "score": "score.bench_score",
    "step": "step.bench_step",
    "kn": "kn.bench_kn",
    "prep": "prep.bench_prep",
    "cost": "cost.bench_cost",
}


def called(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["bench", *arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def function_of(name: str) -> Callable[..., object]:
    module, _, function = FUNCTIONS[name].partition(".")
    found: Callable[..., object] = getattr(import_module(f"charlm.bench.{module}"), function)
    return found


def as_told(value: object) -> object:
    return None if value == "" or value == () or value is None else value


def defaults(function: Callable[..., object]) -> dict[str, object]:
    parameters = inspect.signature(function).parameters.items()
    return {name: as_told(p.default) for name, p in parameters if name != "as_json"}


def test_the_help_names_all_commands() -> None:
    shown = called("--help").partition("Commands:")[2]
    assert re.findall(r"^  (\w+)  ", shown, re.M) == NAMES
    assert "..." not in shown  # Typer cuts a sentence of some length


@pytest.mark.parametrize("name", NAMES)
def test_the_help_names_no_type_and_no_weights_where_there_are_none(name: str) -> None:
    shown = " ".join(called(name, "--help").split())
    assert "<int" not in shown
    assert ("of the weights" in shown) == (name in ("train", "eval", "cost"))


@pytest.mark.parametrize("name", NAMES)
def test_a_command_has_the_options_and_defaults_of_its_function(name: str) -> None:
    assert defaults(BENCHES[name]) == defaults(function_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_command_uses_options_that_it_has(name: str) -> None:
    (example,) = re.findall(rf"charlm bench {name}\b(.*)$", BENCHES[name].__doc__ or "", re.M)
    helped = called(name, "--help")
    assert all(word in helped for word in shlex.split(example) if word.startswith("--"))


@pytest.mark.parametrize(
    ("name", "paths", "asked"),
    [
        ("train", ["charlm", "naive"], ["--steps", "1", "--threads", "1"]),
        ("eval", ["charlm", "naive"], ["--threads", "1"]),
        ("kn", [], ["--order", "2"]),  # others with lmplz or KenLM than without
        ("prep", ["prep", "vocabulary", "encode", "read and split"], []),
    ],
)
def test_each_path_has_a_record_in_the_json_and_a_line_in_the_table(
    name: str,
    paths: list[str],
    asked: list[str],
    corpus_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = function_of(name)
    once = cache(function)  # both tell what it has measured
    monkeypatch.setattr(sys.modules[function.__module__], function.__name__, once)
    monkeypatch.setattr(machine, "SIZE", 64)  # of the matrix product, which takes most of the time
    arguments = [name, "--data", str(corpus_dir), "--repetitions", "1", *asked]
    told: dict[str, Any] = json.loads(called(*arguments, "--json"))
    assert told["data"] == str(corpus_dir)
    assert told["paths"]
    for path in told["paths"].values():
        assert {"seconds", "processor_seconds", "tokens_per_second", "peak_bytes"} <= set(path)
        assert path["tokens_per_second"] > 0
    lines = called(*arguments).splitlines()
    (head,) = (row for row, line in enumerate(lines) if line.startswith("path "))
    assert [re.split(r"  +", line)[0] for line in lines[head + 1 :][: len(paths)]] == paths


def test_a_list_is_scored_in_every_way(tiny_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "nbest.txt"
    path.write_text(
        "".join(
            f"{number} ||| {text} ||| 0 ||| -{rank}\n"
            for number in range(2)
            for rank, text in enumerate(["the cat sat", "the cat sat", "the cats sat", "a log"])
        )
    )
    wanted = ["score", str(path), "--model", str(tiny_run), "--repetitions", "1", "--threads", "1"]
    told = json.loads(called(*wanted, "--json"))
    assert (told["n_lists"], told["n_hypotheses"]) == (2, 8)
    shown = called(*wanted)
    assert f"sharing {told['sharing']:.2f}, {told['sharing_of_distinct']:.2f} without" in shown
    assert "times the batches" in shown


def test_a_preset_without_a_naive_path_is_one_line(corpus_dir: Path) -> None:
    result = CliRunner().invoke(
        app, ["bench", "train", "--arch", "word-small", "--data", str(corpus_dir), "--steps", "1"]
    )
    assert result.exit_code == 1
    assert result.stderr.startswith("charlm: bench: there is a naive path for char-cnn, highway")
    assert result.stderr.count("\n") == 1
