"""Files: opened whether compressed or not, and the one way in which anything is written.

What is read shows by its first bytes whether it is compressed (gz, bz2 or xz); what is written is
compressed by its name. gzip's header gets no time, so that equal content makes equal files. `lines`
knows how files are read as text.
"""

import bz2
import errno
import gzip
import hashlib
import io
import json
import lzma
import math
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from charlm.errors import DataError
from charlm.settings import MAX_NESTING
from charlm.text.io.atomic import naming, replacing
from charlm.text.io.paths import OTHERWISE_PACKED, PACKED, require_file_or_new, stream_of, target_of

GZIP = b"\x1f\x8b"
# What unpacks a stream, of which a file may hold several.
STREAMS: dict[bytes, Any] = {b"\xfd7zXZ\x00": lzma.LZMADecompressor}
# Six bytes, since a text may begin with BZh: with a level, and a block or the end of an empty file.
STREAMS |= {
    b"BZh%d%s" % (level, block): bz2.BZ2Decompressor
    for level in range(1, 10)
    for block in (b"1A", b"\x17r")
}
MAGIC_BYTES = 6
PACKED_BLOCK = 1 << 16  # bytes that are read at once
GZIP_LEVEL = 6  # the default of the program gzip
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
JSON_PIECES = 1 << 16  # put together at once: those of a million words take 100 MB
TOO_DEEP = "JSON nested too deep"
MAX_JSON_BYTES = 1 << 30  # a vocabulary of ten million words; anything larger is not ours


class Digest(Protocol):
    """The part of a hashlib object that `open_bytes` needs."""

    def update(self, data: bytes, /) -> object: ...


@contextmanager
def open_bytes(path: str | Path, *, digest: Digest | None = None) -> Iterator[BinaryIO]:
    """A buffered binary reader of `path`; `-` is standard input; gz, bz2 and xz by magic number.

    `digest` is fed the bytes of the file as it is on disk, as far as they are read.

    Raises:
        DataError: a folder, or a compressed file that is cut, broken or of another kind.
        OSError: as the system gave it; a closed standard input names itself.
    """
    if str(path) == "-":
        yield from _decompressed(_watched(_standard_input(), digest), display_name(path))
        return
    if Path(path).is_dir():
        raise DataError(f"{path}: is a folder; expected a file")
    if not Path(path).exists():
        raise DataError(f"{path}: no such file")
    with open(path, "rb") as raw:
        yield from _decompressed(_watched(raw, digest), display_name(path))


def is_compressed(path: str | Path) -> bool:
    """Whether a file begins as gz, bz2 or xz do."""
    with open(path, "rb") as file:
        return file.read(MAGIC_BYTES).startswith((GZIP, *STREAMS))


@contextmanager
def name_in_utf8(path: str | Path) -> Iterator[str]:
    """A UTF-8 name of a file, for libraries that take no other; that of an open file if need be.

    Raises:
        OSError: as the system gave it; safetensors calls a file that may not be read a missing one.
    """
    with open(path, "rb") as file:
        try:
            str(path).encode()
        except UnicodeEncodeError:
            yield f"/dev/fd/{file.fileno()}"
        else:
            yield str(path)


def display_name(path: str | Path) -> str:
    """How messages call a file."""
    return "standard input" if str(path) == "-" else str(path)


def _standard_input() -> BinaryIO:
    """Standard input as bytes, also where a program has put a text or bytes of its own there."""
    if sys.stdin is None:  # Python's way to say that the caller closed it
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), display_name("-"))
    raw: Any = getattr(sys.stdin, "buffer", sys.stdin)  # `io.StringIO` has none
    if hasattr(raw, "peek"):
        return cast(BinaryIO, raw)
    data = raw.read()  # into a reader of its own, since one around `raw` would close it at its end
    return io.BufferedReader(io.BytesIO(data.encode() if isinstance(data, str) else data))


def _watched(raw: BinaryIO, digest: Digest | None) -> BinaryIO:
    return raw if digest is None else io.BufferedReader(_Hashing(raw, digest))


class _Hashing(io.RawIOBase):
    """Passes bytes on and feeds them to a digest, so that even a pipe is read only once."""

    def __init__(self, source: BinaryIO, digest: Digest) -> None:
        self._source, self._digest = source, digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # typeshed has no public name for a writable buffer
        n_bytes: int = cast(io.BufferedReader, self._source).readinto1(buffer)
        self._digest.update(memoryview(buffer)[:n_bytes])  # type: ignore[arg-type]  # any buffer
        return n_bytes


def _decompressed(raw: BinaryIO, name: str) -> Iterator[BinaryIO]:
    head = cast(Any, raw).peek(MAGIC_BYTES)[:MAGIC_BYTES]
    for magic, kind, unpack in OTHERWISE_PACKED.values():
        if head.startswith(magic):
            raise DataError(
                f"{name}: packed by {kind}; expected gz, bz2, xz or none; unpack it ({unpack})"
            )
    unpacker = next((u for magic, u in STREAMS.items() if head.startswith(magic)), None)
    if unpacker is None and not head.startswith(GZIP):
        yield raw
        return
    try:
        if unpacker is None:
            with gzip.open(raw, "rb") as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield io.BufferedReader(_Unpacked(raw, unpacker), PACKED_BLOCK)
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's own trouble, not the file's
        raise DataError(f"{name}: broken compressed file ({error}); expected a whole one") from None


class _Unpacked(io.RawIOBase):
    """Streams of bz2 or xz, one after another, perhaps with zeros behind them.

    Python's own readers pass over whatever follows a whole stream: where the second of several is
    damaged, the rest of the file would be missing without a word.
    """

    def __init__(self, source: BinaryIO, unpacker: Any) -> None:
        self._source, self._unpacker = source, unpacker
        self._stream = unpacker()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """
        Raises:
            EOFError: the file ends within a stream.
            OSError, lzma.LZMAError: what is no stream.
        """
        content = b""
        while not content:
            packed = b""
            if self._stream.eof:
                packed = self._stream.unused_data
                while not (packed := packed.lstrip(b"\0")):
                    if not (packed := self._source.read(PACKED_BLOCK)):
                        return 0
                self._stream = self._unpacker()
            elif self._stream.needs_input and not (packed := self._source.read(PACKED_BLOCK)):
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            content = self._stream.decompress(packed, len(buffer))
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def atomic_write(path: str | Path, *, through_links: bool = False) -> Iterator[BinaryIO]:
    """A binary writer whose content replaces `path` at the end, whole or not at all.

    Everything that charlm keeps is written here: to a neighbour of `path`, flushed to the disk,
    then renamed over it. After a crash at any moment `path` holds the old content or the new; of
    two concurrent writers the last to finish wins. A link is replaced, since it may be part of a
    stranger's run. `through_links` is for a name that the user gave: the file at the end of its
    links is written, and for a stream's name, such as /dev/stdout, the stream, at once.

    Raises:
        DataError: as `require_file_or_new`; through links as `target_of`.
        OSError: as the system gave it; `path` is untouched and the neighbour removed.
    """
    path = Path(path)
    number = stream_of(path) if through_links else None
    if number is not None:
        with naming(path), open(os.dup(number), "wb") as stream:
            yield stream
        return
    if not through_links:
        require_file_or_new(path)
    with replacing(target_of(path) if through_links else path, name=path) as file:
        yield file


def unpacked_name(path: str | Path) -> Path:
    """The path without the suffix of a compressed file."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in PACKED else path


@contextmanager
def packed_write(path: str | Path, *, through_links: bool) -> Iterator[BinaryIO]:
    """A binary writer as `atomic_write`, which compresses by the suffix of `path`."""
    with (
        atomic_write(path, through_links=through_links) as raw,
        _packer(raw, Path(path).suffix) as file,
    ):
        yield file


def _packer(raw: BinaryIO, suffix: str) -> AbstractContextManager[BinaryIO]:
    if suffix == ".gz":
        return cast(
            BinaryIO, gzip.GzipFile("", "wb", compresslevel=GZIP_LEVEL, fileobj=raw, mtime=0)
        )
    if suffix == ".bz2":
        return cast(BinaryIO, bz2.BZ2File(raw, "wb"))
    if suffix == ".xz":
        return cast(BinaryIO, lzma.LZMAFile(raw, "wb"))
    return nullcontext(raw)


@contextmanager
def scratch_file(folder: str | Path) -> Iterator[BinaryIO]:
    """A file without a name on the disk of `folder`, for writing and reading; removed after use.

    Raises:
        OSError: as the system gave it; a full disk names the folder.
    """
    with naming_full(folder), tempfile.TemporaryFile(dir=folder) as file:
        yield file


@contextmanager
def naming_full(folder: str | Path) -> Iterator[None]:
    """Let the error of a full disk name the folder written to: the system names none."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(folder)
        raise


@contextmanager
def write_if_possible(
    path: Path, tell: Callable[[str], object], *, otherwise: str = ""
) -> Iterator[None]:
    """Go on without a file that cannot be written; `tell` is called with why, and what happens."""
    try:
        yield
    except (OSError, DataError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a folder"
        tell(f"{path}: not written ({reason}){otherwise}")


def write_bytes(path: str | Path, content: bytes, *, through_links: bool = False) -> None:
    """Replace `path` by `content`, as `packed_write`."""
    with packed_write(path, through_links=through_links) as file:
        file.write(content)


def write_json(path: str | Path, value: Any, *, through_links: bool = False) -> None:
    """Replace `path` by `value` as JSON, one key or element per line, as `packed_write`."""
    pieces = json.JSONEncoder(ensure_ascii=False, indent=1, allow_nan=False).iterencode(value)
    with packed_write(path, through_links=through_links) as file:
        while some := "".join(islice(pieces, JSON_PIECES)):
            # A folder's name that is not UTF-8 stands as an escape, which JSON reads back.
            file.write(some.encode(errors="backslashreplace"))
        file.write(b"\n")


def read_json(path: str | Path) -> Any:
    """The JSON value in `path`, which may be a stranger's, and packed as `open_bytes` reads it.

    Raises:
        DataError: not JSON, NaN or infinity in it, nested too deep, or larger than 1 GiB.
    """
    with open(path, "rb") as raw, contextmanager(_decompressed)(raw, str(path)) as file:
        content = file.read(MAX_JSON_BYTES + 1)
    if len(content) > MAX_JSON_BYTES:
        raise DataError(f"{path}: larger than {MAX_JSON_BYTES} bytes; expected a file of charlm's")
    return parse_json(content, str(path))


def parse_json(content: bytes | str, name: str) -> Any:
    """The JSON value in `content`; `name` stands in the message.

    Raises:
        DataError: not JSON, NaN or infinity in it, or nested too deep.
    """
    try:
        value = json.loads(content, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise DataError(f"{name}: {TOO_DEEP}; expected a file of charlm's") from None
    except ValueError as error:
        raise DataError(f"{name}: not valid JSON ({error}); expected a file of charlm's") from None
    if is_too_deep(value):
        raise DataError(f"{name}: {TOO_DEEP}; expected a file of charlm's")
    return value


def is_too_deep(value: object) -> bool:
    """Whether a JSON value is nested so deep that printing or traversing it may fail.

    A parser's own limit is no measure: it depends on how deep in the stack it was called.
    """
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_NESTING):
        level = [
            each
            for outer in level
            for each in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(each, dict | list)
        ]
    return bool(level)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):  # 1e999 is infinity by another name
        raise ValueError(f"{digits[:20]} is too large")
    return value


def sha256_of(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
