"""Lines of a list file: numbered, with lookahead, and written back byte for byte.

A list may come through a pipe, so lines that detection has read must still reach the reader:
`opened` opens a source once, and `lines_of` gives its lines to the reader. A byte order mark and a
line end belong to a position in the file, not to the text that stands there.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from charlm.nbest.reading.format import Sample, Source
from charlm.text.io.files import display_name, open_bytes
from charlm.text.io.lines import CR, LIST, UTF8, EncodingCheck, LineRules, pass_over_line

SAMPLE_BYTES = 1 << 16
MAX_DEPTH = 4  # of files in a folder: DECODE/logdir/output.1/1best_recog/text is the deepest


class Line(NamedTuple):
    number: int  # from 1
    text: str  # without `start` and `end`
    place: str  # FILE:LINE, for messages
    start: str = ""  # a byte order mark, or nothing
    end: str = "\n"  # LF, CRLF, or nothing at the end of the file
    encoding: str = UTF8  # of the file

    @property
    def raw(self) -> str:
        """The whole line, as the file has it."""
        return self.start + self.text + self.end


class Lines:
    """The lines of one opened file, each taken once; `peek` and `sample` look ahead."""

    def __init__(self, file: BinaryIO, name: str, *, rules: LineRules = LIST) -> None:
        self.name = name  # how messages call the file
        self._file = file
        self._rules = rules
        self._check = EncodingCheck(rules.encoding)
        self._head: list[bytes] = []  # read ahead and not yet taken, in reverse order
        self._next: Line | None = None
        self._number = 0
        self._is_within = False  # whether the rest of an overlong line must still be skipped

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        """The next line.

        Raises:
            DataError: a line that cannot be decoded, is too long or holds a NUL byte; the next one
                can still be taken.
        """
        line, self._next = self._next or self._take(), None
        if line is None:
            raise StopIteration
        return line

    def peek(self) -> Line | None:
        """The next line, which stays the next; None at the end."""
        if self._next is None:
            self._next = self._take()
        return self._next

    def sample(self) -> tuple[str, ...]:
        """The whole lines of the first 64 KiB, or the beginning of a longer first line.

        Bytes that cannot be decoded become U+FFFD here, and an error when the line is taken. Waits
        for 64 KiB or the end of the file. Must be called before any line is taken.

        Raises:
            DataError: as `mark_of`.
        """
        head = self._file.read(SAMPLE_BYTES)
        if CR in head and b"\n" not in head:  # its end tells what lines end in
            head = self._rules.take(self._file, begun=head)
        pieces = BytesIO(head).readlines()
        self._head = pieces[::-1]
        if len(head) == SAMPLE_BYTES and len(pieces) > 1 and not head.endswith(b"\n"):
            pieces = pieces[:-1]
        if pieces:
            mark = self._rules.mark_of(pieces[0], where=f"{self.name}:1")
            pieces[0] = pieces[0].removeprefix(mark)
        texts = (piece.removesuffix(b"\n").removesuffix(b"\r") for piece in pieces)
        return tuple(text.decode(self._rules.encoding, "replace") for text in texts)

    def _take(self) -> Line | None:
        if self._is_within:
            pass_over_line(self._file)
            self._is_within = False
        raw = self._head.pop() if self._head else b""
        if not self._head:  # the sample may have ended within this line
            raw = self._rules.take(self._file, begun=raw)
        if not raw:
            return None
        self._number += 1
        place = f"{self.name}:{self._number}"
        self._is_within = self._rules.is_long(raw) and not raw.endswith(b"\n")
        self._rules.refuse_long(raw, where=place)
        start = self._rules.mark_of(raw, where=place) if self._number == 1 else b""
        self._rules.refuse_nul(raw, where=place)
        text = raw.removeprefix(start).removesuffix(b"\n").removesuffix(b"\r")
        if not self._check.is_done:
            self._check.refuse_utf8(text, where=place)
        decoded = self._rules.decoded(text, where=place)
        assert decoded is not None  # invalid lines are errors here
        end = raw[len(start) + len(text) :].decode()
        encoding = self._rules.encoding
        return Line(self._number, decoded, place, start.decode(), end, encoding)


@dataclass(frozen=True)
class OpenSource(Source):
    """A source whose file is open already, mostly since its beginning has been looked at."""

    lines: Lines | None = None  # None for a folder
    sample: Sample = Sample("-", (), ())  # where it was opened without reading ahead


@contextmanager
def opened(source: Source) -> Iterator[OpenSource]:
    """The source with its file open and its beginning known, for detection and then for `read`.

    Raises:
        DataError: no such file.
    """
    said = vars(source)
    if str(source.path) != "-" and Path(source.path).is_dir():
        yield OpenSource(**said, sample=Sample(source.path, (), names_in(Path(source.path))))
        return
    with open_lines(source.path, rules=source.rules) as lines:
        yield OpenSource(**said, lines=lines, sample=Sample(source.path, lines.sample(), ()))


@contextmanager
def lines_of(source: Source) -> Iterator[Lines]:
    """The lines of a source, which may be open already; a reader calls this once."""
    if isinstance(source, OpenSource) and source.lines is not None:
        yield source.lines
    else:
        with open_lines(source.path, rules=source.rules) as lines:
            yield lines


@contextmanager
def open_lines(path: str | Path, *, rules: LineRules = LIST) -> Iterator[Lines]:
    """The lines of a file, compressed or not; `-` is standard input.

    Raises:
        DataError: no such file, a folder, or a broken compressed file.
    """
    with open_bytes(path) as file:
        yield Lines(file, display_name(path), rules=rules)


def names_in(folder: Path) -> tuple[str, ...]:
    """Sorted relative paths of the files in a folder, without hidden and very deep ones."""
    names: list[str] = []
    for where, folders, files in os.walk(folder):
        within = Path(where).relative_to(folder)
        if len(within.parts) >= MAX_DEPTH - 1:
            folders.clear()
        folders[:] = [name for name in folders if not name.startswith(".")]
        names.extend(str(within / name) for name in files if not name.startswith("."))
    return tuple(sorted(names))
