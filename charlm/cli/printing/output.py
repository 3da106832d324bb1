"""What the command line prints: results to stdout as UTF-8, everything else to stderr.

Results bypass rich, which wraps long lines and eats words in brackets; a table looks the same in
a pipe, a log and a terminal with room for it. What goes to a terminal has its control characters
shown escaped (`\\x1b`): a word of a corpus may hold any. What goes to a pipe or a file is left as
it is.
"""

import errno
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from charlm.errors import first_few
from charlm.text.corpus.tokens import visible
from charlm.text.io.files import display_name

if TYPE_CHECKING:
    from rich.console import Console

    from charlm.text.corpus.normalisation.oddities import Finding

Cell = str | int

UNKNOWN = "*"  # behind a word that is not in the vocabulary
GAP = "  "  # between the columns of a table
NOTHING = "-"  # in a table, in the place of a number that there is none of
STDOUT, STDERR = "standard output", "standard error"
# Or what stands for one; a number may have a mark behind it, or a blank in the place of the mark.
NUMBER = re.compile(r"([-+]?[0-9][0-9.,]*(e[-+][0-9]+)?( ?%)?|undefined)[* ]?|[-–]?")
# C0 and C1 controls, DEL, line separators, and the marks that turn the direction of a line.
# Joiners and the soft hyphen stay: several scripts need them.
CONTROLS = [*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
ESCAPES = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in CONTROLS}
ESCAPES_IN_LINES = {code: shown for code, shown in ESCAPES.items() if chr(code) not in "\t\n"}


def prepare_streams() -> None:
    """Make stdout UTF-8 with plain LF, whatever the locale says, before anything is written.

    A path that is not UTF-8 comes out as `\\udc80` and the like instead of ending the program. The
    number of a stream that the caller closed is taken: else the first file that is opened would get
    it, and what a library prints would go there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
    encode_stdout("utf-8")


def encode_stdout(encoding: str) -> None:
    """Give stdout another encoding, for lists that were read in it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace", newline="\n")


def escape(text: str) -> str:
    """`text` on one line and harmless to a terminal: `\\x1b` for an escape, `\\x0a` for LF."""
    return text.translate(ESCAPES)


def write(text: str) -> None:
    """Write one or more lines of a result to stdout; the last LF is added.

    Raises:
        OSError: as `write_exactly`.
    """
    write_exactly(text + "\n")


def write_exactly(text: str) -> None:
    """Write text that has its own line ends, such as a list that is passed on.

    Raises:
        OSError: a full disk, a closed file; it names standard output.
    """
    if sys.stdout is None:  # Python's way to say that the caller closed it
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), STDOUT)
    shown = text.translate(ESCAPES_IN_LINES) if sys.stdout.isatty() else text
    try:
        sys.stdout.write(shown)
    except OSError as error:
        error.filename = STDOUT
        raise


def flush() -> None:
    """Flush stdout, so that a full disk is noticed now.

    Raises:
        OSError: it names standard output.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        error.filename = STDOUT
        raise


def _discard(stream: TextIO | None) -> None:
    """Discard the rest of a stream.

    Python flushes once more at its end, and would print a traceback, or end with status 120.
    """
    if stream is None:  # the caller closed it
        return
    with suppress(OSError):  # a stream without a number, as in a notebook
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_json(value: object) -> None:
    """Write `value` to stdout as one JSON object, one key a line."""
    write(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False))


def table(
    rows: Iterable[Sequence[Cell]],
    *,
    header: Sequence[str],
    labels: int = 1,
    groups: Sequence[int] = (),
) -> None:
    """Write `table_lines`."""
    for line in table_lines(rows, header=header, labels=labels, groups=groups):
        write(line)


def table_lines(
    rows: Iterable[Sequence[Cell]],
    *,
    header: Sequence[str],
    labels: int = 1,
    groups: Sequence[int] = (),
) -> Iterator[str]:
    """Rows in columns two blanks apart; columns of numbers are aligned to the right.

    A cell without blanks is one field for awk; programs should rather read `--json`. A table that
    is wider than the terminal is shown there in parts below each other.

    labels: number of columns on the left that each part begins with.
    groups: how many columns after them stay together; if not given, each stands for itself.
    """
    from rich.cells import cell_len  # a Chinese character is two columns wide

    lines = [list(header), *([str(cell) for cell in row] for row in rows)]
    if is_terminal():
        lines = [[escape(cell) for cell in line] for line in lines]
    columns = []
    for column in zip(*lines, strict=True):
        width = max(map(cell_len, column))
        blanks = [" " * (width - cell_len(cell)) for cell in column]
        is_right = all(map(NUMBER.fullmatch, column[1:]))
        pairs = zip(blanks, column, strict=True) if is_right else zip(column, blanks, strict=True)
        columns.append(["".join(pair) for pair in pairs])
    widths = [cell_len(column[0]) for column in columns]
    groups = groups or [1] * (len(widths) - labels)
    for number, part in enumerate(_parts(widths, labels=labels, groups=groups)):
        if number:
            yield ""
        for line in zip(*(columns[index] for index in part), strict=True):
            yield GAP.join(line).rstrip(" ")


def _parts(widths: Sequence[int], *, labels: int, groups: Sequence[int]) -> list[list[int]]:
    """The columns of each part of a table: as many groups as the terminal has room for."""
    most = terminal_width() or sys.maxsize
    left = list(range(labels))
    parts = [left]
    for start, end in pairwise(accumulate(groups, initial=labels)):
        group = range(start, end)
        has_room = _width(widths, [*parts[-1], *group]) <= most
        # What is too wide for any part stays where it is.
        if has_room or parts[-1] == left or _width(widths, [*left, *group]) > most:
            parts[-1] = [*parts[-1], *group]
        else:
            parts.append([*left, *group])
    return parts


def _width(widths: Sequence[int], columns: Sequence[int]) -> int:
    return sum(widths[column] for column in columns) + len(GAP) * (len(columns) - 1)


def is_terminal() -> bool:
    """Whether results go to a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def terminal_width() -> int | None:
    """Columns of the terminal that results go to; None if they do not, or it does not say."""
    return (shutil.get_terminal_size(fallback=(0, 0)).columns or None) if is_terminal() else None


def write_oddities(findings: Sequence["Finding"]) -> None:
    """Print what is odd about words, a row for each kind; invisible characters as numbers."""
    table(
        [(each.kind, each.n_tokens, " ".join(map(visible, each.words))) for each in findings],
        header=("odd", "words", "as"),
    )


def shown_number(value: float | None, form: str = "") -> str:
    """A number of a table, formatted as `form` says, or what stands for none."""
    return NOTHING if value is None else format(value, form)


def noun(n: int, one: str, *, several: str = "") -> str:
    """The noun that goes with a count; `several` where that is not `one` with an s."""
    return one if n == 1 else several or f"{one}s"


def counted(n: int, one: str, *, several: str = "") -> str:
    """A count with its noun: `1 list`, `2 lists`."""
    return f"{n} {noun(n, one, several=several)}"


def say_left_out(labels: Sequence[str], *, words: str | Path | None, text: str) -> None:
    """Say which labels of the list of words were left out."""
    if labels:
        say(
            f"note: {display_name(str(words))}: labels of noise that {text} lacks are left "
            f"out ({len(labels)}), so that no model reads them: {few_words(labels)}"
        )


def few_words(words: Sequence[str]) -> str:
    """The first words of many, for a message."""
    return first_few([visible(f"{word:.60}") for word in words], most=4)


def announced_run(model: str | Path | None, *, named: str = "use --model RUN") -> Path:
    """The run that a command takes; the user is told which if he named none.

    `named`: as in `which_run`.

    Raises:
        ConfigError: as `which_run`.
    """
    from charlm.run.which import which_run

    run = which_run(model, named=named)
    if model is None:
        say(f"model: {run}")
    return run


@cache
def console() -> "Console":
    """The one rich console, on stderr: for `say` and for progress bars."""
    from rich.console import Console

    class Stderr(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))  # rich ends the program

    return Stderr(stderr=True, markup=False, emoji=False, highlight=False)


def say(text: str) -> None:
    """Tell the user something on stderr; a failure to write is ignored, so that work goes on."""
    with suppress(OSError):
        say_or_fail(text)


def say_notes(notes: Iterable[str]) -> None:
    """Say each of these on a line of its own."""
    for note in notes:
        say(f"note: {note}")


def say_or_fail(text: str) -> None:
    """Tell the user something on stderr, above a progress bar if there is one.

    Raises:
        OSError: a full disk, a closed pipe or terminal; nothing further is said.
    """
    try:
        console().print(text.translate(ESCAPES_IN_LINES), soft_wrap=True)
    except OSError as error:
        console().quiet = True  # rich would keep all that is said, and try it again
        _discard(sys.stderr)
        error.filename = STDERR
        raise
