"""The output of `charlm nn`: made-up neighbours in every layout, and those of a trained run."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.nn import nn
from charlm.cli.printing import output
from charlm.insight.vectors import neighbours as library
from charlm.insight.vectors.measures.analogies import analogy
from charlm.insight.vectors.neighbourhood import Neighbour, Neighbourhood

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
    words: Sequence[str], *, k: int, at: list[str] | None, **_: object
) -> tuple[Neighbourhood, ...]:
    """Answers as the library gives them, from a table instead of a model."""
    unknown = [("look", 0.6), ("[noise]", 0.5)]  # one fewer, since the numbers may differ
    return tuple(
        Neighbourhood(
            word,
            word.lower(),
            word.lower() in KNOWN,
            tap,
            tuple(Neighbour(*near) for near in KNOWN.get(word.lower(), unknown)[:k])
            if tap != "output" or word.lower() in KNOWN
            else (),
        )
        for tap in at or ["highway"]
        for word in words
    )


TABLE_6 = """\
          cat           looooook*         1986
char-cnn  cats   0.988  look       0.600  1987  0.900
          mat    0.500  [noise]    0.500  N     0.800
          a     -0.250                    the   0.700

output    cats   0.988  –                 1987  0.900
          mat    0.500                    N     0.800
          a     -0.250                    the   0.700
"""
BANDS = """\
        counterrevolutionaries-and-their-friends         cat
word    revolution                                1.000  cats  0.988
        x                                         0.500  mat   0.500

output  revolution                                1.000  cats  0.988
        x                                         0.500  mat   0.500

        looooook*
word    look       0.600
        [noise]    0.500

output  –
"""
NARROW = """\
        cat
word    cats  0.988

output  cats  0.988

        1986
word    1987  0.900

output  1987  0.900
"""


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


def test_several_taps_are_blocks_as_in_table_6(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "neighbours", made_up)
    taps = ["--at", "char-cnn", "--at", "output"]
    result = ask("cat", "looooook", "1986", "--model", "toy", *taps)
    assert result.stdout == TABLE_6
    assert result.stderr == "* not in the vocabulary: read by its spelling\n"


def test_words_that_do_not_fit_beside_each_other_make_further_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "neighbours", made_up)
    words = [list(KNOWN)[-1], "cat", "looooook"]
    result = ask(*words, "--model", "toy", "-k", "2", "--at", "word", "--at", "output")
    assert result.stdout == BANDS


def test_a_narrow_terminal_keeps_a_similarity_with_its_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "neighbours", made_up)
    monkeypatch.setattr(output, "terminal_width", lambda: 26)  # room for 1986 alone
    shown = ask("cat", "1986", "--model", "toy", "-k", "1", "--at", "word", "--at", "output").stdout
    assert shown == NARROW


def test_an_analogy_is_a_column_under_what_was_asked(run: Path) -> None:
    result = ask("--analogy", "cats - cat + caat", "-k", "2", "--device", "cpu")
    (found,) = analogy("cats - cat + caat", model=run, k=2, device="cpu")
    assert result.exit_code == 0
    assert result.stderr == (
        "model: exp/first\nat: highway\ncaat is not in the vocabulary: read by its spelling\n"
    )
    lines = result.stdout.splitlines()
    assert lines[0] == "cats - cat + caat"
    assert [line.split() for line in lines[1:]] == [
        [near.word, f"{near.similarity:.3f}"] for near in found.nearest
    ]
    result = ask("--analogy", "cats - cat + caat", "-k", "2", "--device", "cpu", "--json")
    assert json.loads(result.stdout) == {"model": "exp/first", "analogies": [found.to_dict()]}


def test_vectors_are_written_and_what_they_are_is_told(run: Path) -> None:
    result = ask("--vectors", "v.txt", "--at", "char-cnn", "--device", "cpu")
    n_words = len(charlm.load(run, device="cpu").words)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        f"model: exp/first\nv.txt: {n_words} vectors of 16 numbers, at char-cnn\n"
    )
    assert Path("v.txt").read_text().startswith(f"{n_words} 16\n</s> ")
    result = ask("cat", "--vectors", "w.txt", "--at", "char-cnn", "--device", "cpu")
    assert result.stderr == (
        "model: exp/first\nw.txt: 1 vector of 16 numbers, at char-cnn; of the given words alone, "
        "without WORD of the whole vocabulary\n"
    )
    result = ask("cat", "caat", "--vectors", "w.txt", "--device", "cpu", "--json")
    value = {"model": "exp/first", "file": "w.txt", "at": "highway", "n_words": 2, "dim": 16}
    assert json.loads(result.stdout) == value


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
    result = ask("cat", "caat", *options, "--json")
    found = charlm.neighbours(
        ["cat", "caat"], model=run, k=3, at="char-cnn", raw=True, device="cpu"
    )
    assert json.loads(result.stdout) == {
        "model": "exp/first",
        "words": [each.to_dict() for each in found],
    }
    assert result.stderr == ""


@pytest.mark.parametrize("number", range(5))
def test_the_examples_in_the_help_work(run: Path, number: int) -> None:
    Path("en-rg65.tsv").write_text("cat\tcats\t3\ndog\tcats\t2\n")
    Path("en-simlex999.tsv").write_text("cat\tcats\t3\ndog\tcats\t2\n")
    examples = re.findall(r"^ *charlm nn (.*)$", nn.__doc__ or "", re.M)
    assert len(examples) == 5
    result = ask(*shlex.split(examples[number]), "--device", "cpu")
    assert result.exit_code == 0
    n_lines = len(result.stdout.splitlines())
    assert n_lines == [1 + 5, 1 + 10 + 1 + 10, 1 + 10, 1 + 2, 0][number]


def test_a_word_with_terminal_escapes_reaches_stderr_escaped(run: Path) -> None:
    result = ask("\x1b[2Jcat ", "--device", "cpu")
    assert result.exit_code == 0
    assert "\\x1b[2Jcat  is read as \\x1b[2Jcat\n" in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing is asked; give a WORD, or one of the options."),
        (
            ["--analogy", "a - b", "--edit-distance", "3"],
            "--analogy and --edit-distance are different questions; ask one of them.",
        ),
        (["cat", "--analogy", "a - b"], "--analogy takes no WORD beside it; a sum stands in quo"),
        (["cat", "--edit-distance", "3"], "--edit-distance takes no WORD beside it; leave it out."),
        (["--edit-distance", "3", "--lower"], "--lower says nothing with --edit-distance; leave"),
        (["--normalise", "pairs", "-k", "20"], "-k says nothing with --normalise; leave it out."),
        (["--vectors", "v.txt", "-k", "20"], "-k says nothing with --vectors; leave it out."),
        (["--vectors", "v.txt", "--lower"], "--lower says nothing with --vectors; leave it out."),
    ],
)
def test_a_question_that_is_none_or_two_or_not_heeded_is_a_usage_error(
    arguments: list[str], message: str
) -> None:
    result = ask(*arguments)
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.stderr)
