"""`charlm prep` from the user's side."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from charlm.cli import app
from charlm.cli.prep import prep as command
from charlm.text.corpus.preparation.prepare import prep

runner = CliRunner()


@pytest.fixture(autouse=True)
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "raw.txt"
    path.write_bytes(b"".join(b"This is line %d.\n" % n for n in range(10)) + b"\nbad \xff\n")
    return path


def test_prep_prints_what_each_split_holds_and_what_became_of_the_lines(raw: Path) -> None:
    options = ["--tokenise", "simple", "--split", "80,10,10", "--invalid", "drop"]
    result = runner.invoke(app, ["prep", str(raw), "--out", "c", *options])
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout == (
        "split  lines  words  characters\n"
        "train      8     40         128\n"
        "valid      1      5          16\n"
        "test       1      5          16\n"
        "\n"
        "lines             number\n"
        "read                  12\n"
        "empty                  1\n"
        "invalid encoding       1\n"
        "kept                  10\n"
    )


def test_prep_tells_of_lines_that_were_mended_and_of_an_early_end(raw: Path) -> None:
    mended = runner.invoke(app, ["prep", str(raw), "--out", "c", "--invalid", "replace"])
    assert "kept        11\nmended       1\n" in mended.stdout
    assert "that are not utf-8 became U+FFFD in 1 of 12 lines; is --encoding" in mended.stderr
    cut = runner.invoke(app, ["prep", str(raw), "--out", "d", "--max-tokens", "10"])
    assert cut.stderr == "stopped after 12 tokens; the rest was not read\n"


def test_prep_tells_what_it_took_out_and_what_is_odd_about_the_words(raw: Path) -> None:
    raw.write_text("co\xadop \x0bnews\ndon't isn't it's he's we're I'm\nl\u2019eau\nсoм\n")
    result = runner.invoke(app, ["prep", str(raw), "--out", "c", "--invalid", "replace"])
    assert result.stdout.endswith(
        "\n"
        "taken out           number\n"
        "soft hyphens             1\n"
        "control characters       1\n"
        "\n"
        "odd                     words  as\n"
        "apostrophe \u2019                1  l\u2019eau\n"
        "letters of two scripts      1  сoм\n"
    )


def test_prep_as_json_prints_what_corpus_json_holds(raw: Path) -> None:
    result = runner.invoke(
        app, ["prep", str(raw), "--out", "c", "--invalid", "drop", "--lower", "--json"]
    )
    assert json.loads(result.stdout) == json.loads(Path("c", "corpus.json").read_text())


def test_prep_and_the_public_function_write_the_same_corpus(raw: Path) -> None:
    options = {"valid": "v", "test": "t", "min_words": 2, "max_words": 5, "max_tokens": 30}
    words = [
        "--valid",
        "v",
        "--test",
        "t",
        *["--min-words", "2", "--max-words", "5", "--max-tokens", "30"],
    ]
    Path("v").write_text("one two\n")
    Path("t").write_text("three four 5\n")
    flags = ["--lower", "--numbers", "--dedup", "--unicode", "NFKC", "--invalid", "drop"]
    assert runner.invoke(app, ["prep", str(raw), "--out", "c", *words, *flags]).exit_code == 0
    chosen = {"lower": True, "numbers": True, "dedup": True, "unicode": "NFKC", "invalid": "drop"}
    prep([str(raw)], out="d", **options, **chosen)  # type: ignore[arg-type]
    for name in ("train.txt", "valid.txt", "test.txt", "corpus.json"):
        assert Path("c", name).read_bytes() == Path("d", name).read_bytes()


def test_the_example_in_the_help_runs() -> None:
    example = re.search(r"^ *charlm (prep .*)$", command.__doc__ or "", re.M)
    assert example
    arguments = shlex.split(example[1])
    named = next(word for word in arguments if word.startswith("news"))
    Path(named).write_text("".join(f"Line {n}.\n" for n in range(9)))
    assert runner.invoke(app, arguments).exit_code == 0
    assert Path("corpus", "train.txt").read_text().startswith("line N .\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("prep . --out c", ".: is a folder; expected files; ./*.txt names 2"),
        ("prep folder --out c", "folder: is a folder; expected files; name those in it"),
    ],
)
def test_a_folder_is_one_line_that_names_its_texts(arguments: str, message: str) -> None:
    Path("test.txt").write_text("mine")
    Path("folder").mkdir()
    result = runner.invoke(app, shlex.split(arguments))
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"charlm: {message}\n")
    assert not Path("c").exists()


def test_a_text_that_is_marked_up_is_told_so_on_stderr() -> None:
    lines = (f"\\tx kari na {n}\n\\mb kari na {n}\n\n" for n in range(9))
    Path("toolbox.txt").write_text("".join(lines))
    result = runner.invoke(app, ["prep", "toolbox.txt", "--out", "c"])
    assert result.exit_code == 0
    assert result.stderr.startswith("note: 25% of the words are field markers (\\tx \\mb), ")
    assert result.stderr.count("\n") == 1


def test_prep_reads_a_pipe_and_loads_neither_torch_nor_numpy() -> None:
    program = (
        "import sys; from charlm.text.corpus.preparation.prepare import prep;"
        "prep(['-'], out='c', dedup=True);"
        "assert {'torch', 'numpy'}.isdisjoint(sys.modules)"
    )
    root = str(Path(__file__).parents[2])
    subprocess.run(
        [sys.executable, "-c", program],
        input=b"a\nb\nc\nb\n",
        check=True,
        env={"PYTHONPATH": root},
    )
    assert Path("c", "test.txt").read_text() == "c\n"
