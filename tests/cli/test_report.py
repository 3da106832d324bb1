"""What `charlm report` prints and refuses; the page itself is tested with the library."""

import inspect
import json
import os
import shlex
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from charlm.cli import app
from charlm.cli.report import report
from charlm.insight.pictures import PICTURES
from charlm.model.build import build_model
from charlm.text.vocabulary.vocabulary import Inventory


def invoke(*arguments: object) -> Result:
    options = ["--device", "cpu", "--threads", "1"]
    return CliRunner().invoke(app, ["report", *map(str, arguments), *options])


def test_the_page_is_named_on_stdout_and_what_it_lacks_on_stderr(
    tiny_run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.html"
    result = invoke(tiny_run, "--out", out)
    assert result.exit_code == 0
    assert result.stdout == f"{out}\n"
    assert out.read_text().startswith("<!doctype html>\n")
    assert result.stderr.splitlines()[1:] == [
        f"not there: gate between words and characters: {tiny_run}: its encoder 'highway' has no "
        "gate between words and characters; expected one with gate",
        "not there: perplexities, perplexity by frequency, perplexity by position, hardest and "
        "easiest sentences: need a text; make the report with --data DIR, the corpus directory of "
        "'tiny'",
    ]


def test_the_examples_run(
    tiny_run: Path, gated: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated.with_name("first").symlink_to(tiny_run)
    (tmp_path / "corpus").symlink_to(corpus_dir)
    monkeypatch.chdir(tmp_path)
    docstring = inspect.getdoc(report) or ""
    examples = [shlex.split(line) for line in docstring.splitlines() if "charlm report" in line]
    assert len(examples) == 4
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    for _, _, *arguments in examples:
        result = invoke(*(each for each in arguments if each != "exp/second"))
        assert result.exit_code == 0, result.stderr
    made = {"report.html", "words.svg", "words.tsv", "gate.png"}
    assert made <= {path.name for path in tmp_path.iterdir()}


@pytest.fixture
def gated(tmp_path: Path, save_run: Callable[..., Path]) -> Path:
    """A run with gates of sigmoid(-1), sigmoid(0), sigmoid(2) for its words, sigmoid(1) for <unk>.

    The rarer the word, the more its spelling counts.
    """
    inventory = Inventory(("</s>", "<unk>", "ab", "ba", "aa"), (9, 4, 3, 2, 1), ("a", "b"))
    char = {"type": "char-ngram", "dim": 2, "min_n": 1, "max_n": 1, "buckets": 50}
    parts = {
        "encoder": {"type": "gate", "word": {"type": "word", "dim": 2}, "char": char},
        "context": {"type": "lstm", "dim": 2, "layers": 1},
        "output": {"type": "softmax"},
    }
    model, settings = build_model(parts, inventory)
    weights = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    weights["encoder.gate.weight"][0, 0] = 1
    weights["encoder.sides.word.table.weight"][1:, 0] = torch.tensor([1.0, -1.0, 0.0, 2.0])
    model.load_state_dict(weights)
    folder = tmp_path / "exp" / "gated"
    return save_run(folder, model, settings=settings, inventory=inventory, epochs=1)


def test_the_picture_of_a_gate_tells_how_it_goes_with_the_rank(gated: Path, tmp_path: Path) -> None:
    out, numbers = tmp_path / "gate.svg", tmp_path / "gate.tsv"
    result = invoke(gated, "--picture", "gate", "--out", out, "--data-out", numbers)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == (
        "gate: Spearman's rho with the frequency rank +1.000 over 3 words, +1.000 over the 3 "
        "most frequent; mean 0.55; <unk> 0.731, above 66.67 % of the words\n"
    )
    _, *rows = [line.split("\t") for line in numbers.read_text().splitlines()]
    gates = {row[1]: float(row[2]) for row in rows}
    by_hand = {"<unk>": 0.731059, "ab": 0.268941, "ba": 0.5, "aa": 0.880797}
    assert gates == pytest.approx(by_hand, abs=1e-6)
    assert result.stdout == f"{out}\n{numbers}\n"


def test_json_tells_what_was_written_and_what_was_not(tiny_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.png"
    result = invoke(tiny_run, "--picture", "curves", "--out", out, "--json")
    assert json.loads(result.stdout) == {
        "runs": [str(tiny_run)],
        "files": [str(out)],
        "missing": [],
        "notes": [],
        "gate": None,
    }


def test_without_a_run_it_is_the_newest_and_named(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "newest").symlink_to(tiny_run)
    monkeypatch.chdir(tmp_path)
    result = invoke("--picture", "transform")
    assert result.exit_code == 0
    assert result.stderr == "model: exp/newest\n"
    assert result.stdout == "transform.png\n"
    assert (tmp_path / "transform.png").is_file()


def test_where_there_is_no_run_the_message_says_how_this_command_is_given_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke().stderr == (
        "charlm: no model was given and exp/ holds no finished one; train one, or name a RUN or "
        "set CHARLM_MODEL\n"
    )


def test_the_help_names_every_picture() -> None:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["report", "--help"])
    shown = " ".join(result.stdout.split())
    *first, last = PICTURES
    assert f"{', '.join(first)} or {last}." in shown


@pytest.mark.parametrize(("has_browser", "told"), [(True, ""), (False, "found no browser; open ")])
def test_the_page_is_opened_where_there_is_a_browser(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_browser: bool, told: str
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or has_browser)
    out = tmp_path / "a page.html"
    result = invoke(tiny_run, "--out", out, "--open")
    assert (result.exit_code, opened) == (0, [out.as_uri()])
    assert (told in result.stderr) and ("no browser" in result.stderr) != has_browser


def test_a_picture_is_not_opened(tiny_run: Path, tmp_path: Path) -> None:
    result = invoke(tiny_run, "--picture", "words", "--out", tmp_path / "a.png", "--open")
    assert result.exit_code == 1
    assert "--open: is for the page, which is not made; leave it out" in result.stderr


@pytest.mark.parametrize("home", ["/dev/null", "read-only"])
def test_a_home_that_cannot_be_written_is_nothing_to_tell(
    home: str, tiny_run: Path, tmp_path: Path
) -> None:
    config, out = tmp_path / "read-only" / ".config", tmp_path / "curves.svg"
    (config / "matplotlib").mkdir(parents=True)
    script = (  # root may write anywhere
        "import os; access = os.access\n"
        "os.access = lambda path, *_: not str(path).endswith('matplotlib') and access(path, *_)\n"
        "from charlm.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "report", tiny_run, "--picture", "curves", "--out", out],
        env={
            **os.environ,
            "HOME": str(tmp_path / home),
            "XDG_CONFIG_HOME": str(tmp_path / home / ".config"),
            "MPLCONFIGDIR": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{out}\n", "")


@pytest.mark.parametrize(
    ("options", "name"), [((), "report.html"), (("--picture", "curves"), "curves.png")]
)
def test_the_default_place_is_looked_at_before_the_work(
    options: tuple[str, ...],
    name: str,
    tiny_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    result = invoke(tiny_run.resolve(), *options)
    assert result.exit_code == 1
    assert result.stderr == f"charlm: --out {name}: is a folder; expected a file or a new name\n"
