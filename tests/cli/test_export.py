"""The output of `charlm export`, and that a model must be given."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.export import export
from charlm.scoring.export import export as library
from charlm.scoring.export.export import Export
from charlm.scoring.export.onnx_export import OnnxExport
from charlm.scoring.export.page.model_page import PageExport

TABLE = """\
part     weight  valid ppl
train     0.570     151.20
sample    0.001     250.00
average   0.429   1.16e+21
file          -     138.90
"""
MADE_UP = Export(
    model=Path("exp/a"),
    arpa=Path("a.arpa"),
    n_sampled=1_999_000,
    sizes=(10_001, 2_000_000, 3_000_000),
    n_bytes=12_345_678,
    weights={"train": 0.57, "sample": 0.0012, "average": 0.4288},
    valid_ppls={"train": 151.2, "sample": 250.0, "average": 1.155119e21, "file": 138.9},
    seconds=61.7,
)
SMALL = ["--tokens", "200", "--order", "2", "--followers", "2", "--device", "cpu", "--threads", "1"]


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["export", *arguments])


def test_the_parts_and_the_file_stand_on_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "export", lambda _: MADE_UP)
    result = ask("--arpa", "a.arpa", "--data", "d", "--model", "exp/a")
    sizes = "10,001 + 2,000,000 + 3,000,000"
    assert result.exit_code == 0
    assert result.stdout == f"{TABLE}a.arpa: {sizes} n-grams, 12,345,678 bytes\n"
    assert result.stderr == "1,999,000 tokens drawn in whole sentences, 62 s\n"


def test_json_is_one_object_with_what_the_library_returns(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path
) -> None:
    arpa = tmp_path / "a.arpa"
    options = ["--arpa", str(arpa), "--data", str(corpus_dir), "--model", str(tiny_run), *SMALL]
    result = ask(*options, "--json")
    assert result.exit_code == 0
    value = json.loads(result.stdout)
    again = charlm.export(
        tiny_run,
        arpa=arpa,
        data=corpus_dir,
        tokens=200,
        order=2,
        followers=2,
        device="cpu",
        threads=1,
    )
    assert {**value, "seconds": 0} == {**again.to_dict(), "seconds": 0}
    assert "n-grams of the training and the drawn text" in result.stderr


def test_the_example_in_the_help_works(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_run, "exp/ptb")
    shutil.copytree(corpus_dir, "ptb")
    example, *_ = re.findall(r"^ *charlm export (.*)$", export.__doc__ or "", re.M)
    result = ask(*shlex.split(example), *SMALL)
    assert result.exit_code == 0
    n_bytes = Path("ptb.gz").stat().st_size
    assert re.search(rf"^ptb.gz: 17 \+ \d+ n-grams, {n_bytes} bytes$", result.stdout, re.M)


def test_of_a_pipe_no_size_is_said(tiny_run: Path, corpus_dir: Path) -> None:
    reader, writer = os.pipe()
    options = ["--model", str(tiny_run), "--data", str(corpus_dir), *SMALL]
    result = ask("--arpa", f"/dev/fd/{writer}", *options)
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert pipe.read().endswith(b"\\end\\\n")
    assert result.exit_code == 0
    assert re.search(r" n-grams$", result.stdout, re.M)


def test_the_newest_run_is_not_taken(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_run, "exp/ptb")
    result = ask("--arpa", "a.arpa", "--data", str(corpus_dir))
    message = "charlm: no model was given; use --model RUN or set CHARLM_MODEL\n"
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)
    assert not Path("a.arpa").exists()


@pytest.mark.parametrize(
    ("places", "found"),
    [([], "none of --arpa, --onnx, --page"), (["--arpa", "a", "--onnx", "o"], "--arpa and --onnx")],
)
def test_an_export_goes_to_one_place(places: list[str], found: str) -> None:
    result = ask("--model", "r", "--data", "d", *places)
    message = f"charlm: found {found}; expected one of them\n"
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)


def test_an_arpa_file_asks_for_a_corpus() -> None:
    result = ask("--model", "r", "--arpa", "a")
    message = "charlm: --arpa: found no --data; expected the corpus that weights are found on\n"
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", message)


def test_the_files_of_a_network_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = OnnxExport(
        model=Path("exp/a"),
        folder=Path("o"),
        precision="fp32",
        n_bytes={"step.onnx": 17_064_123, "export.json": 2549},
        largest_difference=5.7e-6,
        seconds=19.4,
    )
    monkeypatch.setattr(library, "export", lambda _: made)
    result = ask("--model", "exp/a", "--onnx", "o")
    told = "file              bytes\nstep.onnx    17,064,123\nexport.json       2,549\n"
    assert (result.exit_code, result.stdout) == (0, told)
    assert result.stderr == "o: fp32; at most 6e-06 nats from torch where it was tried, 19 s\n"


def test_the_size_of_a_page_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = PageExport(model=Path("exp/a"), page=Path("p.html"), n_bytes=8_420_510, seconds=9.0)
    monkeypatch.setattr(library, "export", lambda _: made)
    result = ask("--model", "exp/a", "--page", "p.html")
    assert (result.exit_code, result.stdout) == (0, "p.html: 8,420,510 bytes\n")
    assert result.stderr == "open it in a browser; 9 s\n"


def test_the_help_promises_no_model_that_was_not_said() -> None:
    told = ask("--help")
    assert "--model RUN" in told.stdout
    assert "newest" not in told.stdout
