"""Lines of a text, with their numbers and no longer than allowed, and the words of a line.

Lines end at LF alone and words at space and TAB alone: Python's own `splitlines` and `split` also
cut at U+0085, U+2028 and U+00A0, which are characters of a text like any other. Two megabytes,
packed, may hold one line of two gigabytes: whoever reads lines bounds them by `LineRules`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

from charlm.errors import DataError
from charlm.text.io.files import display_name, open_bytes

Invalid = Literal["error", "replace", "drop"]

BOM = b"\xef\xbb\xbf"
MIB = 1 << 20
LONGEST = 64 * MIB
PASSED_OVER = 1 << 16  # bytes at a time, of a line that nobody wants


@dataclass(frozen=True)
class LineRules:
    """How the lines of a file are read, and what is advised where one cannot be."""

    longest: int = LONGEST  # bytes, the end of the line not counted
    cuts: bool = False  # a longer one is no error: its beginning is given, as a `CutLine`
    invalid: Invalid = "error"  # what becomes of a line that is no UTF-8
    shorten: str = ""  # advice for a line that is too long

    def take(self, file: BinaryIO, *, begun: bytes = b"") -> bytes:
        """A line of which some has been read; of one that is too long as much as shows it."""
        if begun.endswith(b"\n"):
            return begun
        return begun + file.readline(max(0, self.longest + 1 - len(begun)))

    def is_long(self, raw: bytes) -> bool:
        """Whether what `take` gave is too long."""
        return len(raw) > self.longest + raw.endswith(b"\n")

    def refuse_long(self, raw: bytes, *, where: str) -> None:
        """Raises DataError for a line that is too long."""
        if self.is_long(raw):
            size = f"{self.longest} bytes" if self.longest % MIB else f"{self.longest // MIB} MiB"
            advice = f"; {self.shorten}" if self.shorten else ""
            raise DataError(f"{where}: longer than {size}; expected shorter lines{advice}")

    def decoded(self, raw: bytes, *, where: str) -> str | None:
        """The text of a line; None for invalid UTF-8 that is to be dropped.

        Raises:
            DataError: invalid UTF-8, unless it is to be replaced or dropped.
        """
        try:
            return raw.decode("utf-8", "replace" if self.invalid == "replace" else "strict")
        except UnicodeDecodeError as error:
            if self.invalid == "drop":
                return None
            raise DataError(
                f"{where}: invalid UTF-8 (byte 0x{raw[error.start]:02x} at column "
                f"{error.start + 1}); expected UTF-8 text; convert the file, or let "
                "`charlm prep --invalid replace` or `drop` clean it"
            ) from None


PLAIN = LineRules()
TEXT = LineRules(shorten="cut it into sentences, or let `charlm prep --max-words N` leave it out")


class CutLine(bytes):
    """The beginning of a line that is too long; the rest has been passed over."""


def read_lines(path: str | Path, *, rules: LineRules = PLAIN) -> Iterator[tuple[int, str]]:
    """Line numbers from 1, and lines without their LF (or CRLF) and without a leading BOM.

    Rules that drop what is invalid leave such lines out, so that the numbers show gaps.

    Raises:
        DataError: invalid UTF-8 (unless replaced or dropped), a NUL byte, or a line too long.
    """
    name = display_name(path)
    with open_bytes(path) as file:
        for number, raw in raw_lines(file, name, rules=rules):
            text = rules.decoded(raw, where=f"{name}:{number}")
            if text is not None:
                yield number, text


def raw_lines(
    file: BinaryIO, name: str, *, first: int = 1, rules: LineRules = PLAIN
) -> Iterator[tuple[int, bytes]]:
    """Line numbers from `first`, and lines still in bytes, without LF (or CRLF) and leading BOM.

    Raises:
        DataError: a NUL byte, or a line too long.
    """
    lines = iter(partial(file.readline, rules.longest + 1), b"")
    for number, raw in enumerate(lines, first):
        if len(raw) > rules.longest and rules.is_long(raw):
            if not rules.cuts:
                rules.refuse_long(raw, where=f"{name}:{number}")
            pass_over_line(file)
            yield number, CutLine(raw)
            continue
        line = raw
        if number == 1 and raw.startswith(BOM):
            line = raw.removeprefix(BOM)
            if not line:  # nothing but a BOM: as empty as a file without one
                return
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if b"\0" in line:
            raise DataError(f"{name}:{number}: found a NUL byte; expected text, not a binary file")
        yield number, line


def pass_over_line(file: BinaryIO) -> None:
    """Go to the end of a line, however far it is."""
    while (part := file.readline(PASSED_OVER)) and not part.endswith(b"\n"):
        pass


def split_words(line: str) -> list[str]:
    """The words of a line: what stands between spaces and TABs, never empty."""
    return [word for word in line.replace("\t", " ").split(" ") if word]
