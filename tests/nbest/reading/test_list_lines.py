"""Lines of lists: peeking does not consume them, and lines that were read can be put back."""

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from charlm.errors import DataError
from charlm.nbest.reading.format import Source
from charlm.nbest.reading.list_lines import (
    SAMPLE_BYTES,
    Lines,
    lines_of,
    names_in,
    open_lines,
    opened,
)
from charlm.text.io.lines import LineRules

LATIN2 = LineRules(encoding="latin2")


def lines_in(content: bytes) -> Lines:
    return Lines(io.BytesIO(content), "a.txt")


def test_a_mark_and_line_ends_stand_around_the_text_and_not_in_it() -> None:
    found = list(lines_in(b"\xef\xbb\xbfwe know\r\nwe do\nlast\r"))
    assert [(line.start, line.text, line.end) for line in found] == [
        ("\ufeff", "we know", "\r\n"),
        ("", "we do", "\n"),
        ("", "last", "\r"),
    ]
    assert [line.place for line in found] == ["a.txt:1", "a.txt:2", "a.txt:3"]


def test_lists_in_utf_8_are_not_read_as_another_encoding() -> None:
    lines = Lines(io.BytesIO("řekl že může být příště".encode()), "a.txt", rules=LATIN2)
    lines.sample()
    with pytest.raises(DataError, match=r"^a.txt:1: found UTF-8; expected latin2, as --encoding"):
        next(lines)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_raw_lines_are_the_file(text: str) -> None:
    assume("\n" in text or "\r" not in text.rstrip("\r"))  # else lines end in CR, which is refused
    assert "".join(line.raw for line in lines_in(text.encode())) == text


@given(st.lists(st.sampled_from(["a\n", "\r\n", "b c", "é" * 50, "\u2028"])), st.booleans())
def test_a_sample_takes_nothing_away(parts: list[str], looks: bool) -> None:
    text = "".join(parts)
    lines = lines_in(text.encode())
    if looks:
        lines.sample()
    assert "".join(line.raw for line in lines) == text


def test_a_sample_is_whole_lines_and_the_line_it_ends_in_is_taken_whole() -> None:
    content = b"ab\n" * (SAMPLE_BYTES // 3) + b"x" * 100 + b"\nend"
    lines = lines_in(content)
    assert set(lines.sample()) == {"ab"}
    *_, long, end = (line.text for line in lines)
    assert (long, end) == ("x" * 100, "end")


def test_a_sample_of_one_long_line_is_its_beginning() -> None:
    lines = lines_in(b"\xef\xbb\xbf[" + b"1," * SAMPLE_BYTES)
    assert [line[:4] for line in lines.sample()] == ["[1,1"]
    assert len(next(lines).text) == 2 * SAMPLE_BYTES + 1


def test_a_cr_in_a_long_line_is_no_end_of_it() -> None:
    lines = lines_in(b"a\rb" * SAMPLE_BYTES + b"\nend")
    lines.sample()
    assert [len(line.text) for line in lines] == [3 * SAMPLE_BYTES, 3]
    with pytest.raises(DataError, match=r"^a\.txt:1: found a CR at byte 2 and no LF"):
        lines_in(b"a\rb" * SAMPLE_BYTES).sample()


def test_a_line_that_was_peeked_at_is_the_next() -> None:
    lines = lines_in(b"a\nb\n")
    assert lines.peek() == lines.peek() == next(lines)
    assert next(lines).text == "b"
    assert lines.peek() is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\0\n", "a.txt:2: found a NUL byte; expected text, not a binary file"),
        (b"a\n\xff\n", "a.txt:2: invalid UTF-8 (byte 0xff at column 1); expected UTF-8 text"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(content: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(lines_in(content))
    assert str(caught.value).startswith(message)


def test_an_opened_source_is_read_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a\nb"))))
    with opened(Source("-", on_nan="worst")) as source:
        assert source.sample.lines == ("a", "b")
        assert source.on_nan == "worst"
        with lines_of(source) as lines:
            assert [line.place for line in lines] == ["standard input:1", "standard input:2"]


def test_a_packed_file_is_read_and_a_broken_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"we know\n" * 100))
    with open_lines(path) as lines:
        assert len(list(lines)) == 100
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="broken compressed file"), open_lines(path) as lines:
        list(lines)


def test_names_of_a_folder_are_sorted_and_neither_hidden_nor_too_deep(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden/x", "c/d/e/f", "c/d/e/f2/g"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert names_in(tmp_path) == ("a", "b", "c/d/e/f")
    with opened(Source(tmp_path)) as source:
        assert source.sample.names == ("a", "b", "c/d/e/f")
        assert source.lines is None


def test_lists_in_utf_16_are_called_so(tmp_path: Path) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text("u1\ta\nu1\tb\n", encoding="utf-16")
    with (
        pytest.raises(DataError, match=r"lists\.tsv:1: looks like UTF-16, "),
        opened(Source(path)) as source,
    ):
        assert source.sample
