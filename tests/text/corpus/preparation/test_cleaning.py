"""Raw lines are kept, repaired, or dropped for a reason that is counted."""

import gzip
import hashlib
import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from charlm.errors import DataError
from charlm.text.corpus.normalisation.oddities import ASK_WINDOWS
from charlm.text.corpus.preparation.cleaning import REASONS, Cleaner, RawSource
from charlm.text.corpus.preparation.prep_options import PrepOptions
from charlm.text.corpus.preparation.prepare import prep
from charlm.text.corpus.sentences import read_sentences

SPLITS = ("train", "valid", "test")


def read(out: Path) -> dict[str, str]:
    return {split: (out / f"{split}.txt").read_text() for split in SPLITS}


def lines(out: Path) -> list[str]:
    return "".join(read(out).values()).splitlines()


def test_every_line_read_is_kept_or_counted_by_the_reason_it_was_dropped_for(
    tmp_path: Path,
) -> None:
    path = tmp_path / "raw.txt"
    path.write_bytes(
        b"a b\n\n \t\r\na b\nA  b\na\nb \xff c\na b c d e\nx y\n\xff\xfe\nu v w\nx\ty\n"
    )
    result = prep(
        path,
        out=tmp_path / "c",
        split="1,1,1",
        lower=True,
        min_words=2,
        max_words=4,
        dedup=True,
        invalid="drop",
    )
    assert result.drops == {
        "empty": 2,
        "too short": 1,
        "too long": 1,
        "duplicate": 3,  # "a b" again, "A  b" and "x\ty" after normalisation
        "<s> or </s> within": 0,
        "invalid encoding": 2,
        "NUL byte": 0,
        "control character": 0,
        "soft hyphen": 0,
    }
    assert lines(tmp_path / "c") == ["a b", "x y", "u v w"]
    assert result.n_lines_read == 12 == sum(result.drops.values()) + 3


def test_replaced_lines_are_counted_and_kept(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"a\nb\xff\nc\xff\xff\nd \xef\xbf\xbd\n")
    result = prep(tmp_path / "raw", out=tmp_path / "c", split="1,1,1", invalid="replace")
    assert lines(tmp_path / "c") == ["a", "b\ufffd", "c\ufffd\ufffd", "d \ufffd"]
    assert (result.replaced, sum(result.drops.values())) == (2, 0)


def test_what_is_kept_holds_no_mark_of_a_sentence_that_readers_would_refuse(tmp_path: Path) -> None:
    raw = ["<s> a b </s>", "a <s> b", "</s> a", "<S> c", "d </S> e", "</s>", "<s> \ufeff d", "a b"]
    (tmp_path / "raw").write_text("\n".join(raw))
    result = prep(tmp_path / "raw", out=tmp_path / "c", split="1,1,1", lower=True, dedup=True)
    assert lines(tmp_path / "c") == ["a b", "c", "d"]
    assert {why: n for why, n in result.drops.items() if n} == {
        "empty": 1,
        "duplicate": 1,
        "<s> or </s> within": 3,
    }
    assert [list(read_sentences(tmp_path / "c" / f"{split}.txt")) for split in SPLITS] == [
        [["a", "b"]],
        [["c"]],
        [["d"]],
    ]


def test_a_map_applies_as_often_to_a_line_with_marks_as_to_one_without(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("<s> a a b </s>\na a b\n<s> a a b\n")
    prep(tmp_path / "raw", out=tmp_path / "c", split="1,1,1", map={"a b": "b"})
    assert lines(tmp_path / "c") == ["a b", "a b", "a b"]


def test_files_are_read_one_after_another_packed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo")  # no LF at its end
    (tmp_path / "b").write_bytes(gzip.compress(b"three\nfour\n"))
    stdin = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(b"five\nsix\n")))  # type: ignore[type-var]
    monkeypatch.setattr("sys.stdin", stdin)
    result = prep([tmp_path / "a", str(tmp_path / "b"), "-"], out=tmp_path / "c", split="1,1,1")
    assert lines(tmp_path / "c") == ["one", "two", "three", "four", "five", "six"]
    assert [(Path(s.path).name, s.lines) for s in result.sources] == [("a", 2), ("b", 2), ("-", 2)]
    assert result.sources[2].sha256 == hashlib.sha256(b"five\nsix\n").hexdigest()


def test_a_byte_order_mark_within_joined_files_does_not_reach_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"a\n\xef\xbb\xbfb\r\r\nc\n")
    prep(tmp_path / "raw", out=tmp_path / "c", split="1,1,1")
    assert read(tmp_path / "c") == {"train": "a\n", "valid": "b\n", "test": "c\n"}


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({}, "a\nb c\nd e f\ng\n"),
        ({"min_words": 2}, "b c\nd e f\n"),
        ({"max_words": 2}, "a\nb c\ng\n"),
        ({"min_words": 2, "max_words": 2}, "b c\n"),
        ({"max_tokens": 1}, "a\n"),
        ({"max_tokens": 2}, "a\nb c\n"),
        ({"max_tokens": 3}, "a\nb c\n"),
        ({"max_tokens": 100}, "a\nb c\nd e f\ng\n"),
    ],
)
def test_limits_of_words_keep_what_is_within_them(
    tmp_path: Path, limits: dict[str, int], kept: str
) -> None:
    (tmp_path / "raw").write_text("a\nb c\nd e f\ng\n")
    cleaner = Cleaner(PrepOptions(out="", **limits), into=io.BytesIO())  # type: ignore[arg-type]
    cleaner.read_file(str(tmp_path / "raw"), role="raw")
    cleaner.into.seek(0)
    assert cleaner.into.read().decode() == kept
    assert sum(cleaner.drops[why] for why in REASONS) + cleaner.n_kept == cleaner.sources[0].lines


def test_sentences_of_an_embedded_corpus_are_counted_and_hashed_until_there_are_enough() -> None:
    whole, part = (Cleaner(PrepOptions(out="", max_tokens=n), into=io.BytesIO()) for n in (0, 2))
    for cleaner in (whole, part):
        cleaner.read_corpus(["a b", "c"], name="made")
    assert whole.sources == [RawSource("made", "raw", 2, hashlib.sha256(b"a b\nc\n").hexdigest())]
    assert part.sources == [RawSource("made", "raw", 1, None)]


def test_a_path_that_is_no_utf_8_is_shown_with_marks_of_replacement(tmp_path: Path) -> None:
    name = "raw\udcff"  # how Python shows the byte 0xff in a path
    try:
        (tmp_path / name).write_text("a\n")
    except OSError:
        pytest.skip("this file system takes no such names")
    cleaner = Cleaner(PrepOptions(out=""), into=io.BytesIO())
    cleaner.read_file(str(tmp_path / name), role="raw")
    assert cleaner.sources[0].to_dict()["path"] == str(tmp_path / "raw\ufffd")


def test_a_line_of_70_mb_is_too_long_for_any_limit_of_words(tmp_path: Path) -> None:
    raw = tmp_path / "raw.gz"
    with gzip.open(raw, "wb", compresslevel=1) as file:
        file.writelines([b"a b\n", *[b"\0" * 1_000_000] * 70, b"\nc\nd\n"])
    result = prep(raw, out=tmp_path / "c", split="1,1,1", max_words=2)
    assert lines(tmp_path / "c") == ["a b", "c", "d"]
    assert result.drops["too long"] == 1
    assert result.n_lines_read == 4
    with pytest.raises(DataError) as caught:
        prep(raw, out=tmp_path / "d")
    assert str(caught.value) == (
        f"{raw}:2: longer than 64 MiB; expected shorter lines; --max-words N leaves such lines out"
    )


MESSY = b"a\nb\0c\nd\xc2\xade f\xc2\xad\n\x1bg\x0ch\ni\rj\nk\r\n"


def test_what_belongs_to_no_word_is_taken_out_and_counted_by_kind(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(MESSY)
    result = prep(tmp_path / "raw", out=tmp_path / "c", split="1,1,1", invalid="replace")
    assert lines(tmp_path / "c") == ["a", "b c", "de f", "g h", "i j", "k"]
    assert result.unwanted == {"NUL byte": 1, "soft hyphen": 2, "control character": 3}
    assert result.to_dict()["unwanted"] == result.unwanted


def test_lines_with_what_belongs_to_no_word_are_dropped_by_kind(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(MESSY + b"l\nm\n")
    result = prep(tmp_path / "raw", out=tmp_path / "c", split="1,1,1", invalid="drop")
    assert lines(tmp_path / "c") == ["a", "k", "l", "m"]
    assert {why: n for why, n in result.drops.items() if n} == {
        "NUL byte": 1,
        "soft hyphen": 1,
        "control character": 2,
    }
    assert not result.unwanted


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"b\0", "found a NUL byte; expected text, not a binary file; --invalid replace or drop"),
        (b"be\xc2\xadd", "found a soft hyphen (U+00AD) at character 3; expected text; --invalid"),
        (b"b\xc2\x85", "found a control character (U+0085) at character 2; expected text; --inv"),
        (b"b\x07", "found a control character (U+0007) at character 2; expected text; --invalid"),
    ],
)
def test_what_belongs_to_no_word_is_an_error_unless_asked_otherwise(
    tmp_path: Path, line: bytes, message: str
) -> None:
    (tmp_path / "raw").write_bytes(b"a\n" + line + b"\n")
    with pytest.raises(DataError) as caught:
        prep(tmp_path / "raw", out=tmp_path / "c")
    assert str(caught.value).startswith(f"{tmp_path / 'raw'}:2: {message}")
    assert "\0" in line.decode() or "--invalid drop leaves out the lines" in str(caught.value)


def test_the_line_ends_of_old_macs_are_named(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"a b\rc\r")
    with pytest.raises(DataError) as caught:
        prep(tmp_path / "raw", out=tmp_path / "c")
    assert str(caught.value) == (
        f"{tmp_path / 'raw'}:1: found a CR at character 4, by which old Macs end lines; expected "
        "lines that end in LF; tr '\\r' '\\n' makes lines of them, --invalid replace blanks"
    )


def test_utf_8_with_letters_that_another_encoding_lacks_is_called_utf_8(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("část\na\nb\nc\n")  # č ends in byte 0x8d
    with pytest.raises(DataError, match=r"raw:1: found UTF-8; expected latin-1, as --encoding"):
        prep(tmp_path / "raw", out=tmp_path / "c", encoding="latin-1")


def test_quotes_and_letters_of_windows_are_no_control_characters_of_latin_1(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"don\x92t\na\nb\nc\n")
    with pytest.raises(DataError) as caught:
        prep(tmp_path / "raw", out=tmp_path / "c", encoding="latin-1")
    assert str(caught.value) == (
        f"{tmp_path / 'raw'}:1: found byte 0x92 at character 4, a control character in latin-1; "
        f"expected text; {ASK_WINDOWS}"
    )
    for invalid in ("replace", "drop"):
        out, rules = tmp_path / invalid, {"encoding": "latin-1", "invalid": invalid}
        result = prep(tmp_path / "raw", out=out, split="34,33,33", **rules)
        assert result.signs[0].startswith("1 characters that were taken out, or their lines, are")
        assert result.signs[0].endswith(ASK_WINDOWS)
