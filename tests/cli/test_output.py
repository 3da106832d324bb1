"""What goes to stdout and to stderr, in a pipe and in a terminal."""

import json
import sys

import pytest

from charlm.cli import output


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
word   tokens      %
the    12,345  61.70
日本        7  -0.04
[noi]       0      -
"""


def test_a_table_is_aligned_by_what_the_eye_sees(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [["the", "12,345", "61.70"], ["日本", 7, "-0.04"], ["[noi]", 0, "-"]]
    output.table(rows, header=["word", "tokens", "%"])
    assert capsys.readouterr().out == TABLE


def test_a_table_in_a_terminal_is_aligned_with_its_escapes_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_a_terminal(monkeypatch)
    output.table([["\x1b", "a"], ["b\nc", "d"]], header=["x", "y"])
    assert capsys.readouterr().out == "x       y\n\\x1b    a\nb\\x0ac  d\n"


def test_a_table_without_rows_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    output.table([], header=["word", "tokens"])
    assert capsys.readouterr().out == "word  tokens\n"
