"""Files: plain, compressed, cut or damaged; and JSON from strangers."""

import bz2
import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.text.io import files
from charlm.text.io.files import open_bytes, parse_json, read_json, sha256_of, write_json
from charlm.text.io.lines import read_lines

NOISE = random.Random(1).randbytes(50_000)
Pack = Callable[[bytes], bytes]


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_the_digest_is_that_of_the_file_as_it_stands(tmp_path: Path, pack: Pack) -> None:
    content = pack(b"line\n" * 50_000)
    digest = hashlib.sha256()
    with open_bytes(written(tmp_path / "text", content), digest=digest) as file:
        n_lines = sum(1 for _ in file)
    assert (n_lines, digest.digest()) == (50_000, hashlib.sha256(content).digest())


def test_a_text_that_begins_as_a_packed_one_does_is_text(tmp_path: Path) -> None:
    for content in (b"BZhang is here\n", b"BZh9\n"):
        with open_bytes(written(tmp_path / "text", content)) as file:
            assert file.read() == content
    with open_bytes(written(tmp_path / "packed", bz2.compress(b""))) as file:
        assert file.read() == b""


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_cut_compressed_file_is_named(tmp_path: Path, pack: Pack) -> None:
    path = written(tmp_path / "cut", pack(NOISE)[:-100])
    with pytest.raises(DataError) as caught, open_bytes(path) as file:
        file.read()
    assert str(caught.value).startswith(f"{path}: broken compressed file (")
    assert str(caught.value).endswith("); expected a whole one")


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_what_follows_a_packed_stream_is_read_or_refused(tmp_path: Path, pack: Pack) -> None:
    first, second = pack(NOISE), pack(b"the cat\n")
    with open_bytes(written(tmp_path / "two", first + bytes(4) + second + bytes(8))) as file:
        assert file.read() == NOISE + b"the cat\n"
    damaged = bytearray(first + second)
    damaged[len(first)] ^= 1
    for content in (bytes(damaged), first + b"garbage", first + second[:5]):
        path = written(tmp_path / "damaged", content)
        with pytest.raises(DataError, match=r"broken compressed file \("), open_bytes(path) as file:
            file.read()


def test_a_damaged_gzip_file_is_named(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(NOISE))
    content[25_000] ^= 0xFF
    path = written(tmp_path / "bad.gz", bytes(content))
    with (
        pytest.raises(DataError, match="bad.gz: broken compressed file"),
        open_bytes(path) as file,
    ):
        file.read()


@pytest.mark.parametrize(
    ("magic", "message"),
    [
        (b"(\xb5/\xfd", "packed by zstd; expected gz, bz2, xz or none; unpack it (zstd -d)"),
        (b"PK\x03\x04", "packed by zip; expected gz, bz2, xz or none; unpack it (unzip)"),
        (b'\x04"M\x18', "packed by lz4; expected gz, bz2, xz or none; unpack it (lz4 -d)"),
        (b"\x1f\x9d", "packed by compress; expected gz, bz2, xz or none; unpack it (uncompress)"),
    ],
)
def test_a_file_packed_otherwise_is_told_how_it_is_unpacked(
    tmp_path: Path, magic: bytes, message: str
) -> None:
    path = written(tmp_path / "packed", magic + NOISE)
    with pytest.raises(DataError) as caught, open_bytes(path):
        pass
    assert str(caught.value) == f"{path}: {message}"


def test_an_error_of_the_disk_is_not_blamed_on_a_compressed_file(tmp_path: Path) -> None:
    path = written(tmp_path / "text.gz", gzip.compress(b"a\n"))
    with pytest.raises(OSError, match="Input/output"), open_bytes(path):
        raise OSError(errno.EIO, "Input/output error")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        list(read_lines(tmp_path))
    assert str(caught.value) == f"{tmp_path}: is a folder; expected a file"


def test_a_closed_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError) as caught:
        list(read_lines("-"))
    assert (caught.value.errno, caught.value.filename) == (errno.EBADF, "standard input")


@pytest.mark.parametrize(
    "stream",
    [
        io.StringIO("é b\nc\n"),
        io.BytesIO("é b\nc\n".encode()),
        io.TextIOWrapper(io.BytesIO("é b\nc\n".encode())),
    ],
)
def test_a_program_may_put_a_text_or_bytes_of_its_own_into_standard_input(
    stream: io.IOBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", stream)
    assert list(read_lines("-")) == [(1, "é b"), (2, "c")]
    assert list(read_lines("-")) == []  # it is at its end, and not closed


def test_json_comes_back_as_it_went(tmp_path: Path) -> None:
    value = {"é\u2028": [1, 1.5, None, True, "\x1b"], "b": {}}
    for name in ("a.json", "a.json.gz", "a.json.xz"):
        write_json(tmp_path / name, value)
        assert read_json(tmp_path / name) == value
    assert (tmp_path / "a.json.gz").read_bytes().startswith(b"\x1f\x8b")
    assert (tmp_path / "a.json").read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("n_pieces", [1, 3])
def test_json_in_pieces_is_json_at_once(
    n_pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "JSON_PIECES", n_pieces)
    value = {"words": ["\u00e9", "b"], "counts": [3, 1], "none": [], "share": 0.5}
    write_json(tmp_path / "a.json", value)
    expected = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    assert (tmp_path / "a.json").read_bytes() == expected.encode()


def test_what_json_cannot_say_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"loss": float("nan")})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "a.json: JSON nested too deep; expected a file of charlm's"),
        (b'{"a":' * 100_000, "a.json: JSON nested too deep; expected a file of charlm's"),
        (b"[NaN]", "a.json: not valid JSON (NaN is no number); expected a file of charlm's"),
        (b"[-Infinity]", "a.json: not valid JSON (-Infinity is no number); expected a file of"),
        (b"[1e999]", "a.json: not valid JSON (1e999 is too large); expected a file of charlm's"),
        (b"1" * 5000, "a.json: not valid JSON (Exceeds the limit"),
        (b"{", "a.json: not valid JSON (Expecting property name"),
        (b"", "a.json: not valid JSON (Expecting value"),
        (b'"\xff"', "a.json: not valid JSON ('utf-8' codec can't decode"),
    ],
    ids=["lists", "objects", "nan", "infinity", "1e999", "digits", "cut", "empty", "bytes"],
)
def test_json_of_a_stranger_is_refused_in_one_line(content: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_json(content, "a.json")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_json_file_beyond_all_measure_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 10)
    path = written(tmp_path / "a.json", json.dumps([0] * 10).encode())
    with pytest.raises(DataError) as caught:
        read_json(path)
    assert str(caught.value) == f"{path}: larger than 10 bytes; expected a file of charlm's"


def test_the_sha256_is_the_published_one_of_abc(tmp_path: Path) -> None:
    # FIPS 180-2, appendix B.1
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256_of(written(tmp_path / "abc", b"abc")) == expected
