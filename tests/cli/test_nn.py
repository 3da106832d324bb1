"""What `charlm nn` prints: hand-made neighbours in every layout, and a trained run asked."""

import json
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.nn import nn
from charlm.insight import neighbours as library
from charlm.insight.neighbours import Neighbour, Neighbourhood

KNOWN = {
    "cat": [("cats", 0.98765), ("mat", 0.5), ("a", -0.25)],
    "1986": [("1987", 0.9), ("N", 0.8), ("the", 0.7)],
    "東京": [("京都", 0.75), ("x", 0.5), ("y", 0.0)],
    "counterrevolutionaries-and-their-friends": [("revolution", 1.0), ("x", 0.5), ("y", 0.0)],
}
ONE = """\
cat
cats   0.988
mat    0.500
a     -0.250
"""
SEVERAL = """\
cat           1986         東京         looooook*
cats   0.988  1987  0.900  京都  0.750  look       0.600
mat    0.500  N     0.800  x     0.500  [noise]    0.500
a     -0.250  the   0.700  y     0.000

counterrevolutionaries-and-their-friends
revolution                                1.000
x                                         0.500
y                                         0.000
"""


def made_up(
    words: Sequence[str],
    *,
    model: Path,
    k: int,
    at: str | None,
    raw: bool,
    device: str,
) -> tuple[Neighbourhood, ...]:
    """Answers as the library gives them, of a table instead of a model."""
    unknown = [("look", 0.6), ("[noise]", 0.5)]  # one fewer: they need not be equally many
    return tuple(
        Neighbourhood(
            word,
            word.lower(),
            word.lower() in KNOWN,
            at or "highway",
            tuple(Neighbour(*near) for near in KNOWN.get(word.lower(), unknown)[:k]),
        )
        for word in words
    )


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trained run under exp/ of the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_run, "exp/first")
    return Path("exp/first")


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["nn", *arguments])


def test_one_word_is_a_table_of_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "neighbours", made_up)
    result = ask("cat", "--model", "toy", "--at", "highway")
    assert (result.exit_code, result.stdout, result.stderr) == (0, ONE, "")


def test_several_words_stand_side_by_side_as_far_as_they_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "neighbours", made_up)
    result = ask("Cat", "1986", "東京", "looooook", list(KNOWN)[-1], "--model", "toy")
    assert result.exit_code == 0
    assert result.stdout == SEVERAL
    assert result.stderr == (
        "at: highway\nCat is read as cat\n* not in the vocabulary: read by its spelling\n"
    )


def test_a_trained_run_answers_and_says_which_it_is(run: Path) -> None:
    result = ask("cat", "loooook", "-k", "2", "--device", "cpu")
    assert result.exit_code == 0
    assert result.stderr == (
        "model: exp/first\nat: highway\n* not in the vocabulary: read by its spelling\n"
    )
    found = charlm.neighbours(["cat", "loooook"], model=run, k=2, device="cpu")
    header, *lines = [line.split() for line in result.stdout.splitlines()]
    assert header == ["cat", "loooook*"]
    for line, row in zip(lines, zip(*(each.nearest for each in found), strict=True), strict=True):
        assert line == [cell for near in row for cell in (near.word, f"{near.similarity:.3f}")]


def test_json_is_one_object_with_what_the_library_returns(run: Path) -> None:
    options = ["--model", "exp/first", "-k", "3", "--at", "char-cnn", "--raw", "--device", "cpu"]
    result = ask("cat", "zz", *options, "--json")
    found = charlm.neighbours(["cat", "zz"], model=run, k=3, at="char-cnn", raw=True, device="cpu")
    assert json.loads(result.stdout) == {
        "model": "exp/first",
        "words": [each.to_dict() for each in found],
    }
    assert result.stderr == ""


def test_the_example_in_the_help_works(run: Path) -> None:
    (example,) = re.findall(r"^ *charlm nn (.*)$", nn.__doc__ or "", re.M)
    result = ask(*shlex.split(example), "--device", "cpu")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1 + 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--at", "top"], "at: found 'top'; expected one of char-cnn, transform, highway"),
        (["new york"], "word 'new york': is read as 2 words (new, york); expected one word"),
        (
            ["a", "--model", "none"],
            "none: not a run (run.json is missing); expected what `charlm train` writes",
        ),
    ],
)
def test_what_cannot_be_answered_is_one_line_and_status_1(
    run: Path, arguments: list[str], message: str
) -> None:
    result = ask("--model", "exp/first", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"charlm: {message}\n")


def test_a_word_with_terminal_escapes_reaches_stderr_escaped(run: Path) -> None:
    result = ask("\x1b[2J ", "--device", "cpu")
    assert result.exit_code == 0
    assert "\\x1b[2J  is read as \\x1b[2J\n" in result.stderr
    assert "\x1b" not in result.stderr


def test_nothing_to_ask_is_a_usage_error() -> None:
    result = ask()
    assert result.exit_code == 2
    assert "WORD" in result.stderr
