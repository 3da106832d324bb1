"""Lines of a text: numbered, decoded, no longer than allowed; the words and numbers of a line.

Lines end at LF alone and words at space and TAB alone: Python's own `splitlines` and `split` also
cut at U+0085, U+2028 and U+00A0, which are characters like any other. Two compressed megabytes may
hold one line of two gigabytes: so all readers of lines bound them by `LineRules`.
"""

import codecs
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

from charlm.errors import ConfigError, DataError
from charlm.text.io.files import display_name, open_bytes

Invalid = Literal["error", "replace", "drop"]

UTF8 = "utf-8"
CR = b"\r"
BOM = b"\xef\xbb\xbf"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # the first begins as UTF-16's does
ASCII = bytes(range(128))
CONVERT = "convert the file"
SAY_ENCODING = "say what it is by --encoding, or convert the file"  # where there is the option
NUL_FOUND = "found a NUL byte; expected text, not a binary file"
MIB = 1 << 20
LONGEST = 64 * MIB
PASSED_OVER = 1 << 16  # bytes at a time, of a line that nobody wants
SURE = 16  # bytes beyond ASCII: no other text begins with so many that are valid UTF-8


@dataclass(frozen=True)
class LineRules:
    """How the lines of a file are read, and the advice if one cannot be read."""

    encoding: str = UTF8  # as Python calls it; one in which ASCII is ASCII
    longest: int = LONGEST  # bytes, the end of the line not counted
    cuts: bool = False  # a longer one is no error: its beginning is given, as a `CutLine`
    invalid: Invalid = "error"  # what becomes of a line that is not of the encoding
    takes_controls: bool = False  # who reads them knows what to do about a NUL byte, or a CR
    mend: str = CONVERT  # advice for a line that is not of the encoding
    shorten: str = ""  # and for one that is too long
    clean: str = ""  # and for one with a NUL byte

    def __post_init__(self) -> None:
        """Raises ConfigError for an unknown encoding, or one whose lines end differently."""
        if not _holds_ascii(self.encoding):
            raise ConfigError(
                f"--encoding {self.encoding!r:.40}: expected one that Python knows and that has "
                "ASCII's characters as they are, as utf-8 (with a byte order mark or without), "
                "latin1, latin2 or cp1251; convert the file (iconv)"
            )

    def mark_of(self, raw: bytes, *, where: str) -> bytes:
        """The byte order mark that the first line of a file begins with, or nothing.

        Raises:
            DataError: the mark of UTF-8, where another encoding was said; that of UTF-16, UTF-32;
                a file whose lines end in CR.
        """
        if raw.startswith(UTF32):
            raise DataError(
                f"{where}: looks like UTF-32; expected UTF-8; convert the file (iconv -f UTF-32 -t "
                "UTF-8)"
            )
        if raw.startswith(UTF16) and (is_utf8(self.encoding) or b"\0" in raw):
            raise DataError(
                f'{where}: looks like UTF-16, as PowerShell\'s > and "Unicode text" are; expected '
                "UTF-8; convert the file (iconv -f UTF-16 -t UTF-8)"
            )
        if _is_bare_utf16(raw):
            ends = "BE" if raw[::2].count(0) else "LE"
            raise DataError(
                f"{where}: looks like UTF-16 without a byte order mark; expected UTF-8; convert "
                f"the file (iconv -f UTF-16{ends} -t UTF-8)"
            )
        if CR in raw.rstrip(CR) and not raw.endswith(b"\n") and not self.takes_controls:
            raise DataError(
                f"{where}: found a CR at byte {raw.index(CR) + 1} and no LF, as old Macs end "
                "lines; expected lines that end in LF; convert the file (tr '\\r' '\\n'), or save "
                "a spreadsheet as CSV UTF-8"
            )
        if not raw.startswith(BOM):
            return b""
        if not is_utf8(self.encoding):
            raise DataError(
                f"{where}: found the byte order mark of UTF-8; expected {self.encoding}, as "
                "--encoding says; leave it out"
            )
        return BOM

    def take(self, file: BinaryIO, *, begun: bytes = b"") -> bytes:
        """A line of which `begun` has been read; of a too long one as much as shows that."""
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

    def refuse_nul(self, raw: bytes, *, where: str) -> None:
        """Raises DataError for a line with a NUL byte."""
        if b"\0" in raw:
            advice = f"; {self.clean}" if self.clean else ""
            raise DataError(f"{where}: {NUL_FOUND}{advice}")

    def decoded(self, raw: bytes, *, where: str) -> str | None:
        """The text of a line; None for an invalid one that is to be dropped.

        Raises:
            DataError: bytes that are not valid in the encoding, unless to be replaced or dropped.
        """
        try:
            return raw.decode(self.encoding, "replace" if self.invalid == "replace" else "strict")
        except UnicodeDecodeError as error:
            if self.invalid == "drop":
                return None
            if bytes_in_utf8(raw):
                raise utf8_error(self.encoding, where=where) from None
            name = "UTF-8" if is_utf8(self.encoding) else self.encoding
            raise DataError(
                f"{where}: invalid {name} (byte 0x{raw[error.start]:02x} at column "
                f"{error.start + 1}); expected {name} text; {self.mend}"
            ) from None


def _is_bare_utf16(raw: bytes) -> bool:
    """Whether a first line is of UTF-16: many NULs, all of which are first or second bytes."""
    n_nul = raw.count(0)
    is_short = 0 < n_nul == len(raw) // 2  # a blank line or `1`
    # Cyrillic has them for its blanks alone.
    if not is_short and (n_nul < 3 or 20 * n_nul < len(raw)):
        return False
    return raw[::2].count(0) in (0, n_nul)


class EncodingCheck:
    """Whether lines said to be of another encoding are UTF-8, as their first bytes tell."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        # Beyond ASCII, all in valid UTF-8. Who says that a text is ASCII wants no other bytes.
        is_idle = is_utf8(encoding) or codecs.lookup(encoding).name == "ascii"
        self._n_bytes = SURE if is_idle else 0

    @property
    def is_done(self) -> bool:
        """Whether no further line needs a look."""
        return self._n_bytes >= SURE

    def refuse_utf8(self, raw: bytes, *, where: str) -> None:
        """Raises DataError if the lines so far, of which this is the next, are UTF-8."""
        if self.is_done or raw.isascii():
            return
        n_bytes = bytes_in_utf8(raw)
        self._n_bytes = self._n_bytes + n_bytes if n_bytes else SURE
        if n_bytes and self._n_bytes >= SURE:
            raise utf8_error(self._encoding, where=where)


def bytes_in_utf8(raw: bytes) -> int:
    """How many bytes of a text are beyond ASCII, if it is UTF-8; else 0."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return 0
    return sum(byte > 0x7F for byte in raw)


def utf8_error(encoding: str, *, where: str) -> DataError:
    """The error of UTF-8 where another encoding was said."""
    return DataError(
        f"{where}: found UTF-8; expected {encoding}, as --encoding says; leave --encoding out, and "
        f"convert a file that is in {encoding} before it is joined with others"
    )


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, by whatever name."""
    try:
        return codecs.lookup(encoding).name == UTF8
    except (LookupError, ValueError):
        return False


def _holds_ascii(encoding: str) -> bool:
    """Whether the encoding exists and is a superset of ASCII."""
    try:
        return ASCII.decode(encoding).encode(encoding) == ASCII == ASCII.decode(encoding).encode()
    except (LookupError, ValueError):  # unknown; of other bytes than text; of other bytes
        return False


PLAIN = LineRules()
LIST = LineRules(mend=SAY_ENCODING)
CORPUS = LineRules(  # what `charlm prep` writes, or somebody else
    mend="let `charlm prep` read it (--encoding), or clean it (--invalid replace or drop)",
    shorten="cut it into sentences, or let `charlm prep --max-words N` leave it out",
    clean="`charlm prep --invalid replace` or `drop` cleans it",
)
TEXT = replace(CORPUS, mend=f"{SAY_ENCODING}; `charlm prep --invalid replace` or `drop` cleans it")


class CutLine(bytes):
    """The beginning of a line that is too long; the rest has been skipped."""


def read_lines(path: str | Path, *, rules: LineRules = PLAIN) -> Iterator[tuple[int, str]]:
    """Line numbers from 1, and lines without their LF (or CRLF) and without a leading BOM.

    Rules that drop invalid lines leave gaps in the numbers.

    Raises:
        DataError: a line that is too long, holds a NUL byte, or is not valid in the encoding
            (unless replaced or dropped).
    """
    name = display_name(path)
    with open_bytes(path) as file:
        for number, raw in raw_lines(file, name, rules=rules):
            text = rules.decoded(raw, where=f"{name}:{number}")
            if text is not None:
                yield number, text


def raw_lines(
    file: BinaryIO, name: str, *, first: int = 1, rules: LineRules
) -> Iterator[tuple[int, bytes]]:
    """Line numbers from `first`, and lines still in bytes, without LF (or CRLF) and leading BOM.

    Raises:
        DataError: a NUL byte, unless the rules take it, a line too long, or UTF-8 where the rules
            say another encoding.
    """
    check = EncodingCheck(rules.encoding)
    lines = iter(partial(file.readline, rules.longest + 1), b"")
    for number, raw in enumerate(lines, first):
        if len(raw) > rules.longest and rules.is_long(raw):
            if not rules.cuts:
                rules.refuse_long(raw, where=f"{name}:{number}")
            pass_over_line(file)
            yield number, CutLine(raw)
            continue
        line = raw
        if number == 1 and (mark := rules.mark_of(raw, where=f"{name}:1")):
            line = raw.removeprefix(mark)
            if not line:  # nothing but a BOM: as empty as a file without one
                return
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if b"\0" in line and not rules.takes_controls:
            rules.refuse_nul(line, where=f"{name}:{number}")
        if not check.is_done:
            check.refuse_utf8(line, where=f"{name}:{number}")
        yield number, line


def pass_over_line(file: BinaryIO) -> None:
    """Skip to the end of a line, however far away it is."""
    while (part := file.readline(PASSED_OVER)) and not part.endswith(b"\n"):
        pass


def split_words(line: str) -> list[str]:
    """The words of a line: what stands between spaces and TABs, never empty."""
    return [word for word in line.replace("\t", " ").split(" ") if word]


def number_in(value: str | float) -> float:
    """The text as a number; NaN if it is none."""
    try:
        return math.nan if "_" in str(value) else float(value)  # Python reads -1_0 as -10
    except (ValueError, OverflowError):  # of a word, and of an integer of 400 digits
        return math.nan
