"""The output for a model whose training diverged: its perplexity has 200 digits."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from charlm.cli import app
from charlm.run.folder import MODEL
from charlm.run.stored_weights import read_tensors, save_best


@pytest.fixture
def diverged(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that is sure of one word of the vocabulary and finds all others impossible."""
    monkeypatch.chdir(tmp_path)
    run = Path("exp/diverged")
    shutil.copytree(tiny_run, run)
    tensors, meta = read_tensors(run / MODEL)
    tensors["output.words.bias"][2] += 500.0
    save_best(run, tensors, meta=meta)
    return run


@pytest.mark.parametrize(
    "command",
    [
        ("eval", "--data", "corpus"),
        ("compare-kn", "--data", "corpus", "--order", "2"),
        ("mix", "exp/diverged", "kn.arpa", "--data", "corpus", "--weights", "1,0"),
    ],
    ids=lambda command: command[0],
)
def test_a_perplexity_beyond_measure_is_as_short_as_any(
    diverged: Path, corpus_dir: Path, command: Sequence[str]
) -> None:
    shutil.copytree(corpus_dir, "corpus")
    CliRunner().invoke(app, ["ngram", "--train", "corpus/train.txt", "--out", "kn.arpa"])
    model = [] if command[0] == "mix" else ["--model", str(diverged)]
    result = CliRunner().invoke(app, [*command, *model, "--device", "cpu"])
    assert result.exit_code == 0, result.output
    assert re.search(r"\de\+\d{2,3}\b", result.stdout)
    assert re.findall(r"\d{10,}\.\d*", result.stdout) == []
