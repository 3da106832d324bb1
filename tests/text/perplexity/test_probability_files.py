"""Published probabilities: how they are read, the word of each line, and what is refused."""

import math
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from charlm.errors import CharlmError
from charlm.text.io.lines import LIST
from charlm.text.perplexity.perplexity import ScoredSentence
from charlm.text.perplexity.probability_files import (
    START,
    of_split,
    probability_lines,
    read_probabilities,
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of two tokens, whose words stand beside it."""
    monkeypatch.chdir(tmp_path)
    Path("test").mkdir()
    Path("test/m.txt").write_text("5.0E-01\n0.25\n")
    Path("words_test.txt").write_text("b\n<eos>\n")
    return tmp_path


def test_the_words_of_probabilities_alone_stand_in_the_releases_file_of_words() -> None:
    scores = read_probabilities("test/m.txt")
    assert scores.words == ("b", "</s>")
    assert scores.log10_probs == pytest.approx([math.log10(0.5), math.log10(0.25)])
    assert scores.lacks_first


def test_the_words_behind_the_probabilities_need_no_other_file() -> None:
    Path("x").write_text("0\tb\n\n1.0000001 </s>\n")
    scores = read_probabilities("x")
    assert scores.words == ("b", "</s>")
    assert scores.log10_probs.tolist() == [-math.inf, 0.0]


@pytest.mark.parametrize("path", ["x", "test/m.txt"])
def test_words_are_read_in_the_encoding_that_is_said(path: str) -> None:
    Path("x").write_bytes(b"0.5 \xe9\n0.25 </s>\n")
    Path("words_test.txt").write_bytes(b"\xe9\n<eos>\n")
    scores = read_probabilities(path, rules=replace(LIST, encoding="latin-1"))
    assert scores.words == ("é", "</s>")


def test_what_is_written_is_read_again_less_the_first_token() -> None:
    sentence = ScoredSentence(("a", "zz"), (2, 1), (True, False), (-1.0, -2.5, -0.25))
    Path("x").write_text(probability_lines(sentence, first=1))
    scores = read_probabilities("x")
    assert scores.words == ("<unk>", "</s>")
    assert scores.log10_probs == pytest.approx([-2.5, -0.25], abs=1e-8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "test/m.txt: no probability; expected one a line"),
        ("0.5\n1.5\n", "test/m.txt:2: probability 1.5; expected a number from 0 to 1"),
        ("0.5\nnan\n", "test/m.txt:2: probability nan; expected a number from 0 to 1"),
        ("0.5\n-2.5\n", "test/m.txt:2: probability -2.5; expected a number from 0 to 1"),
        ("0.5 b\n0.5\n", "test/m.txt:2: a probability without its word; expected one behind each"),
        ("0.5 b b\n", "test/m.txt:1: 3 fields; expected a probability and its word"),
        ("0.5 b\n", "test/m.txt: ends with 'b', within a sentence; expected </s>; is the file cut"),
        (
            "0.5\n",
            "test/m.txt: 1 probabilities, and words_test.txt has 2 words; expected as many; are "
            "they of one text?",
        ),
    ],
)
def test_what_is_no_release_is_refused_with_its_line(content: str, message: str) -> None:
    Path("test/m.txt").write_text(content)
    with pytest.raises(CharlmError) as caught:
        read_probabilities("test/m.txt")
    assert str(caught.value).startswith(message)


def test_probabilities_without_words_are_refused_and_not_guessed() -> None:
    Path("words_test.txt").unlink()
    with pytest.raises(CharlmError) as caught:
        read_probabilities("test/m.txt")
    assert str(caught.value) == (
        "test/m.txt: probabilities without words; expected the word behind each, or words_test.txt "
        "with one a line"
    )


def test_another_split_is_a_file_of_the_same_name_beside() -> None:
    Path("valid").mkdir()
    Path("valid/m.txt").touch()
    assert of_split("test/m.txt", "valid") == Path("valid/m.txt")
    for path, message in (
        ("test/n.txt", "valid/n.txt: no such file; expected the probabilities of valid"),
        ("m.txt", "m.txt: holds the probabilities of one text; expected a file of a folder test/"),
    ):
        with pytest.raises(CharlmError) as caught:
            of_split(path, "valid")
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("path", ["m.txt", "./m.txt", "../test/m.txt"])
def test_a_release_is_found_from_inside_its_folder(
    path: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("valid").mkdir()
    Path("valid/m.txt").touch()
    monkeypatch.chdir("test")
    assert read_probabilities(path).words == ("b", "</s>")
    assert of_split(path, "valid").samefile(here / "valid/m.txt")


@pytest.mark.parametrize(
    ("content", "is_release"),
    [
        (b"0.5\n.25\n", True),
        (b"7.08e-05\tthe\r\n1\tof\r\n", True),
        (b"1", True),
        (b"\tp( a | <s> ) \t= [2gram] 0.1 [ -1 ]\n", False),
        (b"0.5\n\tp( 0.5 | <s> ) \t= [2gram] 0.1 [ -1 ]\n", False),  # SRILM's, of the word 0.5
        (b"0.5 b c\n", False),
        (b'{"words": []}\n', False),
        (b"\\data\\\n", False),
        (b"", False),
    ],
)
def test_a_release_is_known_by_its_beginning(content: bytes, is_release: bool) -> None:
    assert bool(START.match(content)) == is_release


def test_a_token_read_takes_tens_of_bytes(tmp_path: Path) -> None:
    path, n_lines = tmp_path / "m.txt", 20_000
    path.write_text("0.123456789\ta\n" * (n_lines - 1) + "0.5\t</s>\n")
    tracemalloc.start()
    read_probabilities(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * n_lines + 50_000
