"""Lines of a text, with their numbers, and the words of a line.

Lines end at LF alone and words at space and TAB alone: Python's own `splitlines` and `split` also
cut at U+0085, U+2028 and U+00A0, which are characters of a text like any other.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

from charlm.errors import DataError
from charlm.text.files import display_name, open_bytes

Invalid = Literal["error", "replace", "drop"]

BOM = b"\xef\xbb\xbf"


def read_lines(path: str | Path, *, invalid: Invalid = "error") -> Iterator[tuple[int, str]]:
    """Line numbers from 1, and lines without their LF (or CRLF) and without a leading BOM.

    `invalid="drop"` leaves such lines out, so that the numbers show gaps.

    Raises:
        DataError: invalid UTF-8 (unless replaced or dropped), or a NUL byte.
    """
    name = display_name(path)
    with open_bytes(path) as file:
        for number, raw in raw_lines(file, name):
            text = decode_line(raw, where=f"{name}:{number}", invalid=invalid)
            if text is not None:
                yield number, text


def raw_lines(
    file: BinaryIO, name: str, *, first: int = 1, longest: int = 0
) -> Iterator[tuple[int, bytes]]:
    """Line numbers from `first`, and lines still in bytes, without LF (or CRLF) and leading BOM.

    Raises:
        DataError: a NUL byte, or a line of more bytes than `longest`, if that is not 0.
    """
    lines = iter(partial(file.readline, longest + 1), b"") if longest else file
    for number, raw in enumerate(lines, first):
        if longest and len(raw) > longest:
            raise DataError(f"{name}:{number}: longer than {longest} bytes; expected shorter lines")
        line = raw
        if number == 1 and raw.startswith(BOM):
            line = raw.removeprefix(BOM)
            if not line:  # nothing but a BOM: as empty as a file without one
                return
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if b"\0" in line:
            raise DataError(f"{name}:{number}: found a NUL byte; expected text, not a binary file")
        yield number, line


def decode_line(raw: bytes, *, where: str, invalid: Invalid) -> str | None:
    """The text of a line; None for invalid UTF-8 that is to be dropped.

    Raises:
        DataError: invalid UTF-8, unless it is to be replaced or dropped.
    """
    try:
        return raw.decode("utf-8", "replace" if invalid == "replace" else "strict")
    except UnicodeDecodeError as error:
        if invalid == "drop":
            return None
        raise DataError(
            f"{where}: invalid UTF-8 (byte 0x{raw[error.start]:02x} at column "
            f"{error.start + 1}); expected UTF-8 text; convert the file, or let "
            "`charlm prep --invalid replace` or `drop` clean it"
        ) from None


def split_words(line: str) -> list[str]:
    """The words of a line: what stands between spaces and TABs, never empty."""
    return [word for word in line.replace("\t", " ").split(" ") if word]
