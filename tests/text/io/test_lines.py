"""Lines of files: where they end, how they are numbered, and what is not a line."""

import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from charlm.errors import ConfigError, DataError
from charlm.text.io.files import open_bytes
from charlm.text.io.lines import (
    MIB,
    CutLine,
    Invalid,
    LineRules,
    raw_lines,
    read_lines,
    split_words,
)

Pack = Callable[[bytes], bytes]


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def on_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    stream = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(content)))  # type: ignore[type-var]
    monkeypatch.setattr("sys.stdin", stream)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\xef\xbb\xbf", []),
        (b"\n", [""]),
        (b"a b\nc\n", ["a b", "c"]),
        (b"a b\nc", ["a b", "c"]),
        (b"a b\r\nc\r\n", ["a b", "c"]),
        (b"a b\r\nc\r", ["a b", "c"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"\xef\xbb\xbf\nb\n", ["", "b"]),
        (b"a\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        ("a\u0085b\u2028c\u2029d\x0be\x0cf\rg\n".encode(), ["a\u0085b\u2028c\u2029d\x0be\x0cf\rg"]),
    ],
)
def test_lines_end_at_lf_alone_and_lose_bom_and_crlf(
    tmp_path: Path, content: bytes, lines: list[str], pack: Pack
) -> None:
    path = written(tmp_path / "text", pack(content))
    assert list(read_lines(path)) == list(enumerate(lines, 1))


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, pack: Pack) -> None:
    on_stdin(monkeypatch, pack(b"a\nb\n"))
    assert list(read_lines("-")) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("invalid", ["error", "replace", "drop"])
def test_a_nul_byte_is_an_error_whatever_is_asked(tmp_path: Path, invalid: Invalid) -> None:
    path = written(tmp_path / "text", b"a\nb\0c\n")
    with pytest.raises(DataError) as caught:
        list(read_lines(path, rules=LineRules(invalid=invalid)))
    expected = f"{path}:2: found a NUL byte; expected text, not a binary file"
    assert str(caught.value) == expected


def test_invalid_utf_8_is_an_error_with_file_line_and_column(tmp_path: Path) -> None:
    path = written(tmp_path / "text", b"good\nbad \xff here\n")
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    assert str(caught.value) == (
        f"{path}:2: invalid UTF-8 (byte 0xff at column 5); expected UTF-8 text; convert the file"
    )


def test_messages_call_a_dash_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    on_stdin(monkeypatch, b"\xff\n")
    with pytest.raises(DataError, match=r"^standard input:1: invalid UTF-8"):
        list(read_lines("-"))


def test_invalid_utf_8_can_be_replaced_or_dropped(tmp_path: Path) -> None:
    path = written(tmp_path / "text", b"a\nb\xff\nc\n\xed\xa0\x80\n")
    replaced = [(1, "a"), (2, "b\ufffd"), (3, "c"), (4, "\ufffd\ufffd\ufffd")]
    assert list(read_lines(path, rules=LineRules(invalid="replace"))) == replaced
    assert list(read_lines(path, rules=LineRules(invalid="drop"))) == [(1, "a"), (3, "c")]


def test_words_end_at_space_and_tab_alone() -> None:
    line = " a\t\tb  c\u00a0d\u3000e\u2028f\u0085g\x0bh "
    assert split_words(line) == ["a", "b", "c\u00a0d\u3000e\u2028f\u0085g\x0bh"]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_may_be_as_long_as_allowed(tmp_path: Path, end: bytes) -> None:
    path = written(tmp_path / "text", b"a\n" + b"b" * 9 + end)
    assert list(read_lines(path, rules=LineRules(longest=9))) == [(1, "a"), (2, "b" * 9)]
    with pytest.raises(DataError) as caught:
        list(read_lines(path, rules=LineRules(longest=8, shorten="cut it")))
    assert str(caught.value) == f"{path}:2: longer than 8 bytes; expected shorter lines; cut it"


def test_a_line_can_be_cut_and_the_next_ones_keep_their_numbers(tmp_path: Path, pack: Pack) -> None:
    path = written(tmp_path / "text", pack(b"a\n" + b"b\0" * 99_999 + b"\nc\n" + b"d" * 9))
    with open_bytes(path) as file:
        found = list(raw_lines(file, "text", rules=LineRules(longest=8, cuts=True)))
    assert found == [(1, b"a"), (2, b"b\0b\0b\0b\0b"), (3, b"c"), (4, b"d" * 9)]
    assert [isinstance(line, CutLine) for _, line in found] == [False, True, False, True]


def test_an_endless_line_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            buffer[:] = b"b" * len(buffer)
            return len(buffer)

    stream = SimpleNamespace(buffer=io.BufferedReader(Endless()))
    monkeypatch.setattr("sys.stdin", stream)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"^standard input:1: longer than 1 MiB; "):
        list(read_lines("-", rules=LineRules(longest=MIB)))
    assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["latin-1", "ISO8859_15", "cp1252", "koi8-r", "shift_jis"])
def test_a_file_in_another_encoding_is_read_as_it_would_be_in_utf_8(
    tmp_path: Path, encoding: str, pack: Pack
) -> None:
    text = (
        "Жук 7\r\nжуки"
        if encoding == "koi8-r"
        else "表 ソ"
        if encoding == "shift_jis"
        else "naïve é"
    )
    path = written(tmp_path / "text", pack(text.encode(encoding)))
    found = list(read_lines(path, rules=LineRules(encoding=encoding)))
    assert found == list(enumerate(text.replace("\r", "").split("\n"), 1))


@pytest.mark.parametrize(
    "encoding",
    [
        "utf-16",
        "utf-7",
        "utf-8-sig",
        "cp037",
        "hex",
        "rot13",
        "idna",
        "klingon",
        "",
        "\0",
    ],
)
def test_an_encoding_that_moves_ascii_or_is_none_is_refused(encoding: str) -> None:
    with pytest.raises(
        ConfigError, match="^--encoding .*: expected one that Python knows .* mark or without\\), "
    ):
        LineRules(encoding=encoding)


def test_what_is_not_of_an_encoding_is_named_by_it_and_can_be_replaced(tmp_path: Path) -> None:
    path = written(tmp_path / "text", b"a\nb\x81\n")
    assert list(read_lines(path, rules=LineRules(encoding="cp1252", invalid="replace"))) == [
        (1, "a"),
        (2, "b\ufffd"),
    ]
    with pytest.raises(DataError) as caught:
        list(read_lines(path, rules=LineRules(encoding="cp1252", mend="mend it")))
    assert str(caught.value) == (
        f"{path}:2: invalid cp1252 (byte 0x81 at column 2); expected cp1252 text; mend it"
    )


def test_the_mark_of_utf_8_is_none_of_another_encoding(tmp_path: Path) -> None:
    path = written(tmp_path / "text", b"\xef\xbb\xbfa\n")
    assert list(read_lines(path, rules=LineRules(encoding="UTF8"))) == [(1, "a")]
    with pytest.raises(DataError) as caught:
        list(read_lines(path, rules=LineRules(encoding="latin-1")))
    assert str(caught.value) == (
        f"{path}:1: found the byte order mark of UTF-8; expected latin-1, as --encoding says; "
        "leave it out"
    )


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r"])
def test_utf_16_is_called_by_its_name(codec: str, encoding: str, end: str, tmp_path: Path) -> None:
    path = written(tmp_path / "text", f"\ufeffein Wort{end}".encode(codec))
    with pytest.raises(DataError) as caught:
        list(read_lines(path, rules=LineRules(encoding=encoding, invalid="replace")))
    assert str(caught.value).startswith(f"{path}:1: looks like UTF-16, as PowerShell's > and ")


@pytest.mark.parametrize("codec", ["utf-32-le", "utf-32-be"])
def test_utf_32_is_called_by_its_name(codec: str, tmp_path: Path) -> None:
    path = written(tmp_path / "text", "\ufeffein Wort\n".encode(codec))
    with pytest.raises(DataError, match="text:1: looks like UTF-32; .* -f UTF-32 -t UTF-8"):
        list(read_lines(path))


def test_two_letters_of_latin_1_are_no_utf_16(tmp_path: Path) -> None:
    path = written(tmp_path / "text", b"\xff\xfe a\n")
    assert list(read_lines(path, rules=LineRules(encoding="latin-1"))) == [(1, "\xff\xfe a")]


@pytest.mark.parametrize("text", ["in the beginning\n", "на пути я и ты\n", " \n", "1\n"])
@pytest.mark.parametrize("ends", ["le", "be"])
def test_utf_16_without_a_mark_is_no_text_with_nuls(text: str, ends: str, tmp_path: Path) -> None:
    path = written(tmp_path / "text", text.encode(f"utf-16-{ends}"))
    with pytest.raises(DataError, match=f"text:1: looks like UTF-16.*-f UTF-16{ends.upper()} -t"):
        list(read_lines(path, rules=LineRules(invalid="replace", takes_controls=True)))


def test_stray_nuls_are_no_utf_16(tmp_path: Path) -> None:
    path = written(tmp_path / "text", b"a\0b\0\0c\n")
    assert list(read_lines(path, rules=LineRules(takes_controls=True))) == [(1, "a\0b\0\0c")]


CZECH = "Příliš\nnow an ASCII line\nžluťoučký dům\n".encode()  # 16 bytes beyond ASCII


@pytest.mark.parametrize("encoding", ["latin-1", "cp1250", "cp1251", "koi8-r", "shift-jis"])
def test_utf_8_is_not_read_as_another_encoding(tmp_path: Path, encoding: str) -> None:
    path, rules = written(tmp_path / "text", CZECH), LineRules(encoding=encoding, invalid="replace")
    with pytest.raises(DataError) as caught:
        list(read_lines(path, rules=rules))
    assert str(caught.value) == (
        f"{path}:3: found UTF-8; expected {encoding}, as --encoding says; leave --encoding out, "
        f"and convert a file that is in {encoding} before it is joined with others"
    )


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1250", "Příliš žluťoučký kůň úpěl"),
        ("koi8-r", "её её её"),  # which are bytes of UTF-8, too
        ("latin-1", "Ã©Ã©Ã©"),
        ("gbk", "联通 联通 联通 中文"),
        ("cp1251", "съешь ещё этих мягких"),
    ],
)
def test_a_text_of_another_encoding_is_read(tmp_path: Path, encoding: str, text: str) -> None:
    path = written(tmp_path / "text", f"{text}\nand {text}\n".encode(encoding))
    read = [line for _, line in read_lines(path, rules=LineRules(encoding=encoding))]
    assert read == [text, f"and {text}"]


def test_who_wants_ascii_alone_gets_it_from_utf_8(tmp_path: Path) -> None:
    rules = LineRules(encoding="ascii", invalid="drop")
    assert [line for _, line in read_lines(written(tmp_path / "text", CZECH), rules=rules)] == [
        "now an ASCII line"
    ]


def test_a_line_that_an_encoding_lacks_is_called_utf_8(tmp_path: Path) -> None:
    path = written(tmp_path / "text", "část\n".encode())
    with pytest.raises(DataError, match=r"text:1: found UTF-8; expected cp1252, as --encoding"):
        list(read_lines(path, rules=LineRules(encoding="cp1252")))
