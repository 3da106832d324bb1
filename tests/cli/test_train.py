"""`charlm train` from the user's side."""

import importlib
import json
import re
import signal
from collections.abc import Iterator
from io import StringIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from charlm.cli import app
from charlm.cli.printing import output
from charlm.cli.train import ProgressBar
from charlm.run.folder import VOCABULARY
from charlm.text.io.files import write_bytes
from charlm.text.vocabulary.vocabulary import load_inventory
from charlm.training import session
from charlm.training.loop import trainer
from charlm.training.loop.progress import Position

runner = CliRunner(env={"COLUMNS": "200"})
SIZES = [
    *["--arch", "char-small"],
    *["--set", "encoder.encoder.dim=3", "--set", "encoder.encoder.widths=1,2"],
    *["--set", "encoder.encoder.filters=3,4", "--set", "context.dim=5"],
    *["--batch-size", "4", "--bptt", "5", "--epochs", "2"],
    *["--threads", "1", "--precision", "fp32", "--device", "cpu"],
]
CONTEXT = 4 * 5 * (7 + 5 + 2) + 4 * 5 * (5 + 5 + 2)  # four gates, two layers, two biases each


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "save_curve", lambda history, path, title: write_bytes(path, b""))
    n_threads = torch.get_num_threads()
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture
def _one_second_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances by a second at each look of the trainer, on busy machines as well."""
    clock = SimpleNamespace(perf_counter=map(float, count()).__next__)
    monkeypatch.setattr(trainer, "time", clock)


def logged_seconds() -> list[float]:
    log = [json.loads(line) for line in Path("r/log.jsonl").read_text().splitlines()]
    return [record["seconds"] + record["validation_seconds"] for record in log]


@pytest.mark.usefixtures("_one_second_a_step")
def test_train_prints_the_best_perplexity_and_on_stderr_what_it_takes_and_each_epoch_gave(
    corpus_dir: Path,
) -> None:
    result = runner.invoke(app, ["train", "--data", str(corpus_dir), "--out", "r", *SIZES])
    assert result.exit_code == 0, result.stderr
    log = [json.loads(line) for line in Path("r/log.jsonl").read_text().splitlines()]
    best = min(log, key=lambda record: record["valid_ppl"])
    assert result.stdout == (
        f"r: finished after 2 epochs, {sum(logged_seconds()):.0f} s of training\n"
        f"best valid ppl {best['valid_ppl']:.2f} (epoch {best['epoch']})\n"
    )
    lines = result.stderr.splitlines()
    assert len(lines) == 5
    counted, n_words = lines[0].split("; vocabulary of ")
    assert n_words == f"{load_inventory(Path('r') / VOCABULARY).n_words} words"
    parts = re.fullmatch(
        r"([\d,]+) parameters: encoder ([\d,]+), context ([\d,]+), output ([\d,]+)", counted
    )
    assert parts
    total, *each = (int(number.replace(",", "")) for number in parts.groups())
    assert total == sum(each)
    assert each[1] == CONTEXT
    assert re.fullmatch(r"about \d+ s for epochs 1 to 2, \d+\.\d GB of memory; cpu, fp32", lines[1])
    assert lines[2] == "valid ppl with *: the best so far, whose weights are kept"
    for number, (line, seconds) in enumerate(zip(lines[3:], logged_seconds(), strict=True), 1):
        assert re.fullmatch(
            rf"epoch   {number}  train ppl +\d+\.\d\d  valid ppl +\d+\.\d\d[* ]  rate 1  "
            rf"[\d,]+ tokens/s  {seconds:.0f} s",
            line,
        )
    assert "*" in lines[3]


def test_a_training_that_may_not_fit_says_so_before_it_begins(
    corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("charlm.cli.train"), "memory_there", lambda: 10**8)
    result = runner.invoke(app, ["train", "--data", str(corpus_dir), "--out", "r", *SIZES])
    assert result.exit_code == 0, result.stderr
    assert result.stderr.splitlines()[2] == (
        "note: there are 0.1 GB: the system may kill this training when it saves for the first "
        "time; a smaller --arch or --batch-size needs less"
    )


def test_epochs_whose_best_gives_way_to_the_first_of_both_sides_are_marked(
    corpus_dir: Path,
) -> None:
    sides = [f'encoder.{side}={{"type": "word", "dim": 2}}' for side in ("word", "char")]
    phases = ["recipe.schedule.type=pretraining", "recipe.schedule.epochs=1"]
    sets = [w for each in ("encoder.type=add", *sides, *phases) for w in ("--set", each)]
    asked = ["--arch", "word-small", "--epochs", "3", "--set", "context.dim=2", *sets]
    result = runner.invoke(app, ["train", "--data", str(corpus_dir), "--out", "r", *asked])
    epochs = [line for line in result.stderr.splitlines() if line.startswith("epoch ")]
    assert [line.endswith(" s  pre-training") for line in epochs] == [True, True, False]
    assert "*" in epochs[2]


def test_the_bar_tells_the_time_left_of_every_epoch() -> None:
    bar, now = ProgressBar(), 0.0
    bar.progress.get_time = lambda: now
    left = []
    for epoch in range(3):
        for step in range(1, 5):
            now += 10.0
            position = Position(epoch=epoch, step=step, n_tokens=1, seconds=1.0)
            recipe = SimpleNamespace(epochs=3)
            bar.stepped(
                cast(Any, SimpleNamespace(position=position, recipe=recipe, batches="abcd"))
            )
            left.append(bar.progress.tasks[0].time_remaining)
    assert left == [None, 20.0, 10.0, 0.0] * 3  # the first step alone gives no speed


def test_the_bar_leaves_room_in_its_line_for_the_ctrl_c_that_a_terminal_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Console(file=StringIO(), force_terminal=True, width=80, no_color=True, _environ={})
    monkeypatch.setattr(output, "console", lambda: terminal)
    bar = ProgressBar()
    position = Position(epoch=9, step=12_345, n_tokens=219_000, seconds=1.0)
    recipe = SimpleNamespace(epochs=25)
    bar.stepped(cast(Any, SimpleNamespace(position=position, recipe=recipe, batches=range(13_276))))
    with terminal.capture() as shown:
        terminal.print(bar.progress.get_renderable())
    (line,) = shown.get().splitlines()
    assert line.startswith("epoch 10/25 ")
    assert line.rstrip().endswith(" 12345/13276 steps, 219,000 tokens/s -:--:--")
    assert len(line.rstrip()) <= 80 - len("^C")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_without_a_bar_a_line_a_minute_tells_where_a_training_is(
    is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dumb = Console(stderr=True, force_terminal=is_terminal, _environ={"TERM": "dumb"})
    monkeypatch.setattr(output, "console", lambda: dumb)
    now = 0.0
    bar = ProgressBar(clock=lambda: now)
    for step in range(1, 10):
        now += 20.0
        position = Position(epoch=0, step=step, n_tokens=4000 * step, seconds=20.0 * step)
        recipe = SimpleNamespace(epochs=3)
        bar.stepped(cast(Any, SimpleNamespace(position=position, recipe=recipe, batches="x" * 50)))
    assert capsys.readouterr().err.splitlines() == [
        f"epoch 1/3, step {step} of 50, 200 tokens/s" for step in (3, 6, 9)
    ]


@pytest.mark.usefixtures("_one_second_a_step")
def test_an_interrupt_says_what_is_there_and_how_to_go_on(
    corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["train", "--data", str(corpus_dir), "--out", "r", *SIZES]
    in_epoch = 0

    def stepped(_: ProgressBar, trainer: trainer.Trainer) -> None:
        if trainer.position.epoch == in_epoch:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgressBar, "stepped", stepped)
    first = runner.invoke(app, arguments)
    assert first.exit_code == 130
    assert first.stderr.endswith(
        "note: nothing is learnt yet; the same command begins again in r\ncharlm: interrupted\n"
    )
    assert Path("r", "run.json").is_file()
    in_epoch = 1
    second = runner.invoke(app, arguments)  # does not fail with "holds a run already"
    assert (second.exit_code, second.stdout) == (130, "")
    assert second.stderr.endswith(
        "r: stopped by Ctrl-C after 1 epoch and 1 step, 6 s of training; go on with --resume\n"
    )
    in_epoch = -1
    assert runner.invoke(app, arguments).exit_code == 1
    assert runner.invoke(app, [*arguments, "--resume"]).exit_code == 0


def test_the_time_that_is_told_holds_the_validation(
    corpus_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def slow_validation(_: trainer.Trainer) -> float:
        nonlocal now
        now += 50.0
        return 9.0

    monkeypatch.setattr(trainer.time, "perf_counter", lambda: now)
    monkeypatch.setattr(trainer.Trainer, "validate", slow_validation)
    result = runner.invoke(app, ["train", "--data", str(corpus_dir), "--out", "r", *SIZES])
    assert result.stdout.startswith("r: finished after 2 epochs, 2 min of training\n")
    assert [line.split("  ")[-1] for line in result.stderr.splitlines()[3:]] == ["50 s", "50 s"]


def test_train_as_json_prints_what_the_function_returns(corpus_dir: Path) -> None:
    arguments = ["train", "--data", str(corpus_dir), "--out", "r", *SIZES, "--json"]
    result = runner.invoke(app, arguments)
    told = json.loads(result.stdout)
    assert (told["run"], told["is_finished"], told["epochs"]) == ("r", True, 2)
    again = runner.invoke(app, ["train", "--data", str(corpus_dir), "--out", "r", "--resume"])
    assert again.stdout.endswith(f"best valid ppl {told['valid_ppl']:.2f} (epoch 2)\n")


@pytest.mark.usefixtures("_one_second_a_step")
def test_a_training_that_ran_out_of_time_says_how_to_go_on(corpus_dir: Path) -> None:
    arguments = ["train", "--data", str(corpus_dir), "--out", "r", *SIZES]
    result = runner.invoke(app, [*arguments, "--max-time", "0.000001"])
    assert result.exit_code == 0
    assert result.stdout == "r: stopped by --max-time after 0 epochs and 1 step, 1 s of training\n"
    assert result.stderr.endswith(
        "go on with --resume; there are no weights to use before the end of epoch 1\n"
    )
    assert "in its first epoch, 0 of 2 epochs\n" in runner.invoke(app, ["info", "r"]).stdout
    more = runner.invoke(app, ["train", "--data", str(corpus_dir), "--out", "r", "--resume"])
    assert sum(logged_seconds()) > 2
    told = f"r: finished after 2 epochs, {sum(logged_seconds()):.0f} s of training\nbest valid ppl "
    assert more.stdout.startswith(told)


def test_one_epoch_is_told_as_one_and_notes_as_such(corpus_dir: Path) -> None:
    arguments = ["train", "--data", str(corpus_dir), "--out", "r"]
    first = runner.invoke(app, [*arguments, *SIZES, "--epochs", "1"])
    assert first.stdout.startswith("r: finished after 1 epoch, ")
    result = runner.invoke(app, [*arguments, "--resume", "--threads", "2"])
    assert result.stderr == (
        "note: other threads than the run's (1, now 2): results agree closely, not to the bit\n"
    )
