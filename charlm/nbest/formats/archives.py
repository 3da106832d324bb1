"""Archives as Kaldi writes them: a key a line, then blanks, then what belongs to it.

Several archives go side by side and are read together. Where their order is the same, each is read
no further than the others; where it is not, what has been passed waits in memory.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from charlm.errors import DataError
from charlm.nbest.format import Source
from charlm.nbest.hypotheses import LARGEST
from charlm.nbest.list_lines import Line, Lines
from charlm.nbest.policies import number

LINE = re.compile(r"([^ \t]+)(.*)", re.DOTALL)
SHOWN = 3  # keys in a message


class Value(NamedTuple):
    """What belongs to a key."""

    tail: str  # the blanks before it too
    place: str

    @property
    def text(self) -> str:
        """Without the blanks around it."""
        return self.tail.strip(" \t")


def split_line(line: Line) -> tuple[str, Value] | None:
    """The key of a line and what belongs to it; None of a blank line.

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
        """What belongs to a key, each once; None if nothing does.

        Raises:
            DataError: a key that stands twice in what has been passed.
        """
        if key in self._waiting:
            return self._waiting.pop(key)
        for found, value in self._rest():
            if found == key:
                return value
            self._wait(found, value)
        return None

    def left(self) -> list[str]:
        """The keys that nobody has asked for, all of the archive read."""
        for key, value in self._rest():
            self._wait(key, value)
        return list(self._waiting)

    def taken(self) -> str:
        """What has been read since this was last asked, as the file has it."""
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


def number_in(text: str, place: str, *, source: Source) -> float:
    """What belongs to a key, a number; not finite ones are refused here, in their own file.

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
    """How many there are, and the first few."""
    more = ", ..." if len(keys) > SHOWN else ""
    return f"{len(keys)} ({', '.join(repr(key[:80]) for key in keys[:SHOWN])}{more})"


def check_left(archives: Iterable[Archive], source: Source, *, beside: str) -> None:
    """Counts keys that the texts lack, all archives read to their ends.

    Raises:
        DataError: how many, and the first few, unless some may be missing.
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
