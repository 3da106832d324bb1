"""The rescoring benchmark: its counts against a hand count, and equal scores on all paths."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from charlm import runtime
from charlm.bench import score as score_module
from charlm.bench.score import APART, BF16, SHARED, bench_score
from charlm.bench.timing import Timing
from charlm.cli import app
from charlm.errors import DataError
from charlm.model.encoders.char_cnn import CharCNN
from charlm.training.train import train

LISTS = "u\tthe cat\nu\tthe dog\nu\tthe cat\nu\t\nv\tthe cat sat\n"


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    path = tmp_path / "lists.tsv"
    path.write_text(LISTS)
    return path


def test_sharing_is_tokens_over_distinct_prefixes(tiny_run: Path, lists: Path) -> None:
    found = bench_score(lists, model=tiny_run, repetitions=1, threads=1, device="cpu")
    assert (found.n_lists, found.n_hypotheses) == (2, 5)
    assert found.n_tokens == 3 + 3 + 3 + 1 + 4
    # Prefixes: the start, the, the cat, the dog, the cat sat.
    assert found.sharing == pytest.approx(14 / 5)
    assert found.sharing_of_distinct == pytest.approx((3 + 3 + 1 + 4) / 5)
    assert found.largest_difference < 1e-4
    assert {SHARED, APART} <= set(found.timings)
    speed = found.paths()[SHARED]["tokens_per_second"]
    assert speed == pytest.approx(14 / found.timings[SHARED].median)
    assert found.speed_up == pytest.approx(
        found.timings[APART].median / found.timings[SHARED].median
    )


def test_a_result_is_json(tiny_run: Path, lists: Path) -> None:
    found = bench_score(lists, model=tiny_run, repetitions=2, threads=1, device="cpu").to_dict()
    paths = json.loads(json.dumps(found))["paths"]
    assert [len(paths[name]["seconds"]) for name in (SHARED, APART)] == [2, 2]
    assert len(paths[SHARED]["processor_seconds"]) == 2


@pytest.mark.bf16
def test_bf16_is_measured_also_where_auto_would_not_take_it(
    tiny_run: Path, lists: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "is_bf16_fast_on_cpu", lambda: False)
    found = bench_score(lists, model=tiny_run, repetitions=1, threads=1, device="cpu")
    assert found.bf16_deviation is not None
    assert found.bf16_mean_deviation is not None
    assert BF16 in found.timings
    assert 0 < found.bf16_mean_deviation <= found.bf16_deviation < 0.5


def test_nothing_is_said_of_bf16_where_there_is_none(
    tiny_run: Path, lists: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "has_bf16_on_cpu", lambda: False)
    command = ["bench", "score", str(lists), "--model", str(tiny_run), "--repetitions", "1"]
    done = CliRunner().invoke(app, [*command, "--device", "cpu", "--threads", "1"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert APART in done.stdout
    assert "bf16" not in done.stdout


def test_whole_lists_are_taken_until_there_are_enough(tiny_run: Path, lists: Path) -> None:
    found = bench_score(lists, model=tiny_run, repetitions=1, threads=1, max_hypotheses=2)
    assert (found.n_lists, found.n_hypotheses) == (1, 4)


def test_a_list_without_hypotheses_cannot_be_measured(tiny_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text("\n")
    with pytest.raises(DataError) as caught:
        bench_score(path, model=tiny_run, format="jsonl", threads=1)
    assert str(caught.value) == f"{path}: no hypothesis; expected a list of some"


def test_no_path_encodes_an_unknown_word_while_it_is_measured(
    corpus_dir: Path, tiny_sizes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(
        data=corpus_dir,
        arch="char-small",
        out=tmp_path / "run",
        epochs=1,
        batch_size=4,
        overrides=[*tiny_sizes, "recipe.oov_input=spelling"],
        threads=1,
        device="cpu",
        precision="fp32",
    )
    (tmp_path / "lists.tsv").write_text("u\tthe cattish\nu\tthe dog\n")
    measured: list[str] = []
    encoded: list[int] = []
    forward = CharCNN.forward

    def encode(*given: Any) -> Any:
        encoded.append(1)
        return forward(*given)

    def in_turns(paths: Any, *, repetitions: int) -> dict[str, Timing]:
        monkeypatch.setattr(CharCNN, "forward", encode)
        for name, path in paths.items():
            path()
            measured.append(name)
        return dict.fromkeys(paths, Timing((1.0,), 1, (1.0,)))

    monkeypatch.setattr(score_module, "in_turns", in_turns)
    bench_score(tmp_path / "lists.tsv", model=tmp_path / "run", threads=1, device="cpu")
    assert {SHARED, APART} <= set(measured)
    assert not encoded
