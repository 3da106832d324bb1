"""Objects one after another: one a line, one over many lines, or all in one array or object.

A record is an object that holds the hypotheses of one utterance. What stands between records is
kept with the one that follows; what follows the last is `rest`, known when all have been taken.
Records of one array are in memory together, those that stand on lines of their own are not.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from math import nan
from typing import NamedTuple

from charlm.errors import DataError
from charlm.nbest.format import FEATURE
from charlm.nbest.formats.json_text import Json, Span, elements, numeric, pairs, parsed, string
from charlm.nbest.list_lines import Line, Lines
from charlm.nbest.policies import plain_words

JsonObject = dict[str, Json]
BLANKS = " \t\n\r"
MAX_CHARACTERS = 1 << 30  # of one value, which is kept whole
# What decides where a value ends; a string of JSON cannot go over the end of a line.
# Possessive, as all loops over strings here: 20 MB of one took 2 GB to be able to go back.
MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],]')


class Record(NamedTuple):
    """An object that holds the hypotheses of one utterance."""

    key: str  # under which it stands in a larger object; else empty
    value: JsonObject
    text: str  # from its first brace to its last
    before: str  # what stands between the record before it and this one
    place: str  # FILE:LINE of its first brace


class Entry(NamedTuple):
    """What a larger value holds: a record, if it is an object."""

    key: str
    value: Json
    span: Span


Unfold = Callable[[str, Json], list[Entry] | None]


class Records:
    """The records of a file in order, and what is left over behind them."""

    def __init__(self, lines: Lines, *, unfold: Unfold) -> None:
        self.rest = ""
        self._lines, self._unfold = lines, unfold

    def __iter__(self) -> Iterator[Record]:
        """The records.

        Raises:
            DataError: FILE:LINE of what is not JSON, of a value of another kind, of a key that
                comes twice.
        """
        for first, text in self._chunks():
            yield from self._records(text, self._lines.name, first.number)

    def _chunks(self) -> Iterator[tuple[Line, str]]:
        """Whole values with the line on which each begins; what is never closed comes as it is."""
        texts: list[str] = []
        blank: list[str] = []
        first: Line | None = None
        depth = size = 0
        for line in self._lines:
            if first is None and not line.text.strip(BLANKS):
                blank.append(line.raw)
                continue
            if first is None:
                first = line
                self.rest += "".join([*blank, line.start])
                blank = []
            texts.append(line.text + line.end)
            size += len(line.text)
            if size > MAX_CHARACTERS:
                raise DataError(
                    f"{first.place}: found a value of more than {MAX_CHARACTERS} characters; "
                    "expected a smaller one; write one object a line"
                )
            for found in MARKS.finditer(line.text):
                depth += (found[0] in ("{", "[")) - (found[0] in ("}", "]"))
            if depth <= 0:
                yield first, "".join(texts)
                texts, first, depth, size = [], None, 0, 0
        if first is not None:
            yield first, "".join(texts)
        self.rest += "".join(blank)

    def _records(self, text: str, name: str, number: int) -> Iterator[Record]:
        place = f"{name}:{number}"
        value = parsed(text, place, line_of=lambda line: f"{name}:{number + line - 1}")
        entries = self._unfold(text, value)
        if entries is None:
            raise DataError(
                f"{place}: found {json.dumps(value)[:40]}; expected an object that holds "
                "hypotheses, or an array of them"
            )
        refuse_double([entry.key for entry in entries], place)
        at = 0
        for key, entry, span in entries:
            number += text.count("\n", at, span.start)
            here = f"{name}:{number}"
            if not isinstance(entry, dict):
                raise DataError(f"{here}: found {json.dumps(entry)[:40]}; expected an object")
            before, self.rest = self.rest + text[at : span.start], ""
            yield Record(string(key, here), entry, text[span.start : span.end], before, here)
            number += text.count("\n", span.start, span.end)
            at = span.end
        self.rest += text[at:]


def single(text: str, value: Json) -> list[Entry] | None:
    """An object, or an array of objects."""
    if isinstance(value, list):
        spans = elements(text)
        return [Entry("", each, span) for each, span in zip(value, spans, strict=True)]
    if not isinstance(value, dict):
        return None
    start = len(text) - len(text.lstrip(BLANKS))
    return [Entry("", value, Span(start, len(text.rstrip(BLANKS))))]


def keyed(text: str, value: Json, *, start: int = 0) -> list[Entry] | None:
    """The members of the object that begins at `start`, each an utterance."""
    if not isinstance(value, dict):
        return None
    return [Entry(key, value[key], span) for key, span in pairs(text, start)]


def refuse_double(keys: Iterable[str], place: str) -> None:
    """Refuses a key that comes twice: a parser keeps the last and says nothing; "" is none.

    Raises:
        DataError: which one.
    """
    seen: set[str] = set()
    for key in keys:
        if key and key in seen:
            raise DataError(f"{place}: found the key {key[:80]!r} twice; expected it once")
        seen.add(key)


def running_id(value: JsonObject, number: int, *, place: str) -> str:
    """The `id` of a record, or the running number of its list, where it has none.

    Raises:
        DataError: neither text nor a whole number.
    """
    found = value.get("id")
    if found is None:
        return str(number)
    key = str(found) if type(found) is int else string(found, f"{place}: 'id'")
    if not key:
        raise DataError(f"{place}: found an empty 'id'; expected the name of an utterance")
    return key


def words_in(value: Json, where: str) -> tuple[str, ...]:
    """The words of a text.

    Raises:
        DataError: no text, or what no line of text can hold.
    """
    return plain_words(string(value, where), where)


def scores_of(value: JsonObject, name: str, *, where: str) -> dict[str, float]:
    """The score of this name and that of an earlier rescoring, as far as they are there."""
    return {
        each: score_in(value[each], f"{where}: {each!r}")
        for each in (name, FEATURE)
        if each in value
    }


def score_in(said: Json, where: str) -> float:
    """A score; `null` is NaN.

    Raises:
        DataError: text, an array, an object, true or false.
    """
    score = nan if said is None else numeric(said)
    if score is None:
        raise DataError(f"{where}: found {str(said)[:40]!r}; expected a number")
    return score


def first_keys(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of the first object, and those of the object that is its first value.

    For detection: the lines may be the beginning of something longer. Empty of what is no JSON.
    """
    text = "\n".join(lines).lstrip(BLANKS)
    if not text.startswith(("{", "[")):
        return ()
    keys: list[str] = []
    depth, is_key = -1 if text[0] == "[" else 0, False
    for found in MARKS.finditer(text):
        mark = found[0]
        if mark[0] == '"':
            if is_key and 1 <= depth <= 2:
                keys.append(mark.strip('"'))
            is_key = False
        elif mark in "{[":
            depth, is_key = depth + 1, mark == "{"
        elif mark in "}]":
            depth -= 1
            if depth <= 0:
                break
        else:
            is_key = True
    return tuple(keys)
