"""What goes to stdout and to stderr, in a pipe and in a terminal."""

import json
import sys

import pytest

from charlm.cli.printing import output


def claim_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


HOSTILE = "a\x1b[31mb\x07\x7f\x9b\u202e\u2028"
HARMLESS = r"a\x1b[31mb\x07\x7f\x9b\u202e\u2028"


def test_an_escaped_text_is_one_line() -> None:
    assert output.escape(HOSTILE + "\n\t") == HARMLESS + r"\x0a\x09"


@pytest.mark.parametrize("text", ["naïve 語", "می\u200cخواهم", "क्\u200dष", "a\u00adb", "e\u0301"])
def test_an_escape_leaves_the_letters_and_joiners_of_a_script_alone(text: str) -> None:
    assert output.escape(text) == text


def test_a_pipe_gets_a_word_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    output.write(f"[noise] {HOSTILE}\t:smile:\nb")
    assert capsys.readouterr().out == f"[noise] {HOSTILE}\t:smile:\nb\n"


def test_a_terminal_gets_a_word_without_its_escapes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_a_terminal(monkeypatch)
    output.write(f"{HOSTILE}\tb\nc")
    assert capsys.readouterr().out == f"{HARMLESS}\tb\nc\n"


def test_what_is_said_goes_to_stderr_whole_and_without_escapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = f"[bold]run[/bold] :smile: {HOSTILE} " + "long " * 100 + "end"
    output.say(text)
    assert capsys.readouterr() == ("", text.replace(HOSTILE, HARMLESS) + "\n")


def test_json_is_one_object_with_its_letters_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.write_json({"word": "größer", "ppl": 1.5})
    written = capsys.readouterr().out
    assert "größer" in written
    assert json.loads(written) == {"word": "größer", "ppl": 1.5}


def test_json_refuses_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        output.write_json({"ppl": float("nan")})


TABLE = """\
word   tokens      %        混ぜ
the    12,345  61.70        1.5*
日本        7  -0.04      12.25
[noi]       0      -  undefined
"""


def test_a_table_is_aligned_by_what_the_eye_sees(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        ["the", "12,345", "61.70", "1.5*"],
        ["日本", 7, "-0.04", "12.25 "],
        ["[noi]", 0, "-", "undefined "],
    ]
    output.table(rows, header=["word", "tokens", "%", "混ぜ"])
    assert capsys.readouterr().out == TABLE


def test_a_table_in_a_terminal_is_aligned_with_its_escapes_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_a_terminal(monkeypatch)
    output.table([["\x1b", "a"], ["b\nc", "d"]], header=["x", "y"])
    assert capsys.readouterr().out == "x       y\n\\x1b    a\nb\\x0ac  d\n"


IN_PARTS = """\
name   first
a     123456
日本       2

name  weight    ppl
a        0.5  77.76
日本       -   9.00
"""


def test_a_table_that_is_wider_than_the_terminal_comes_in_parts_with_its_labels(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [["a", 123456, "0.5", "77.76"], ["日本", 2, "-", "9.00"]]
    header = ["name", "first", "weight", "ppl"]
    claim_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "22")  # room for the weight, but not for what belongs to it
    output.table(rows, header=header, groups=[1, 2])
    assert capsys.readouterr().out == IN_PARTS
    monkeypatch.setenv("COLUMNS", "27")
    output.table(rows, header=header, groups=[1, 2])
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_table_without_labels_repeats_no_column_in_its_parts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "12")
    output.table([["the", "0.5", "a", "0.4"]], header=["x", "", "y", ""], labels=0, groups=[2, 2])
    assert capsys.readouterr().out == "x\nthe  0.5\n\ny\na  0.4\n"


def test_a_column_that_no_terminal_has_room_for_stays_in_its_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_a_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "12")
    output.table([["a", 1, "w" * 12]], header=["x", "n", "as"])
    assert capsys.readouterr().out == f"x  n  as\na  1  {'w' * 12}\n"


def test_a_pipe_gets_a_table_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "5")
    output.table([["the", 12345]], header=["word", "tokens"])
    assert capsys.readouterr().out == "word  tokens\nthe    12345\n"


def test_a_table_without_rows_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    output.table([], header=["word", "tokens"])
    assert capsys.readouterr().out == "word  tokens\n"
