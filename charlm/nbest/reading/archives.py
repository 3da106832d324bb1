"""Archives as Kaldi writes them: on each line a key, then blanks, then the key's value.

Several archives are read side by side. If their order is the same, each is read no further than the
others; if it is not, the values that were passed over wait in memory.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from charlm.errors import DataError, first_few
from charlm.nbest.hypotheses import LARGEST
from charlm.nbest.reading.format import Source
from charlm.nbest.reading.list_lines import Line, Lines
from charlm.nbest.reading.policies import number

LINE = re.compile(r"([^ \t]+)(.*)", re.DOTALL)


class Value(NamedTuple):
    tail: str  # with the blanks before it
    place: str

    @property
    def text(self) -> str:
        return self.tail.strip(" \t")


def split_line(line: Line) -> tuple[str, Value] | None:
    """The key of a line and its value; None for a blank line.

    Raises:
        DataError: a blank before the key.
    """
    if not line.text.strip(" \t"):
        return None
    found = LINE.fullmatch(line.text)
    if found is None:
        raise DataError(
            f"{line.place}: found a blank at the start of the line; expected a key (an utterance's "
            "id) and then what belongs to it"
        )
    return found[1], Value(found[2], line.place)


class Archive:
    """An archive that is asked for one key after another."""

    def __init__(self, lines: Lines) -> None:
        self.name = lines.name
        self._lines = lines
        self._waiting: dict[str, Value] = {}
        self._taken: list[str] = []

    def find(self, key: str) -> Value | None:
        """The value of a key, which is returned only once; None if there is none.

        Raises:
            DataError: a key that occurs twice among the lines that were passed over.
        """
        if key in self._waiting:
            return self._waiting.pop(key)
        for found, value in self._rest():
            if found == key:
                return value
            self._wait(found, value)
        return None

    def left(self) -> list[str]:
        """The keys that nobody has asked for, after reading the archive to its end."""
        for key, value in self._rest():
            self._wait(key, value)
        return list(self._waiting)

    def taken(self) -> str:
        """The text that has been read since the last call, as it stands in the file."""
        text = "".join(self._taken)
        self._taken.clear()
        return text

    def _rest(self) -> Iterable[tuple[str, Value]]:
        for line in self._lines:
            self._taken.append(line.raw)
            found = split_line(line)
            if found is not None:
                yield found

    def _wait(self, key: str, value: Value) -> None:
        if key in self._waiting:
            raise DataError(f"{value.place}: found the key {key[:80]!r} twice; expected it once")
        self._waiting[key] = value


def finite_number(text: str, place: str, *, source: Source) -> float:
    """The number in a value; one that is not finite is refused here, where its file is known.

    Raises:
        DataError: no number, or one that is not finite where that is an error.
    """
    found = number(text, place)
    if source.on_nan == "error" and not abs(found) <= LARGEST:
        raise DataError(
            f"{place}: found {text[:40]!r}; expected a finite number up to 1e30; mend it, or give "
            "--on-nan worst"
        )
    return found


def some_of(keys: Sequence[str]) -> str:
    """The number of keys, and the first few of them, for messages."""
    return f"{len(keys)} ({first_few([repr(key[:80]) for key in keys])})"


def check_left(archives: Iterable[Archive], source: Source, *, beside: str) -> None:
    """Read all archives to their ends, and count the keys that the texts lack.

    Raises:
        DataError: there are such keys, unless some may be missing.
    """
    for archive in archives:
        left = archive.left()
        if source.allow_missing:
            name = Path(archive.name).name
            source.notices.pass_over(f"keys of {name} that the texts lack", len(left))
        elif left:
            raise DataError(
                f"{archive.name}: found keys that {beside} lacks, or keys twice, {some_of(left)}; "
                "expected the same in both, once; --allow-missing leaves them out"
            )
