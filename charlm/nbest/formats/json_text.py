"""JSON that is put back as it was: what it says, and where in the text each part of it stands.

Printing a value again would change digits, escapes and blanks, so a writer inserts into the text.
NaN and infinity are numbers here, and so is a whole number of any length: policies see to them.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from charlm.errors import DataError
from charlm.text.io.files import TOO_DEEP, is_too_deep

Json = dict[str, "Json"] | list["Json"] | str | float | bool | None
BLANK = re.compile(r"[ \t\n\r]*")
SURROGATE = re.compile(r"[\ud800-\udfff]")
MAX_DIGITS = 18  # of whole numbers that stay whole


class Span(NamedTuple):
    """Where a value stands in the text."""

    start: int
    end: int


def _whole(digits: str) -> float:
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_int=_whole)


def parsed(text: str, place: str, *, line_of: Callable[[int], str] | None = None) -> Json:
    """The value that the text is; `line_of` makes a place of the number of a line within it.

    Raises:
        DataError: not JSON, or nested too deep.
    """
    try:
        value: Json = _DECODER.decode(text)
    except RecursionError:
        raise DataError(f"{place}: {TOO_DEEP}; expected a list of hypotheses") from None
    except json.JSONDecodeError as error:
        where = place if line_of is None else line_of(error.lineno)
        raise DataError(
            f"{where}: not valid JSON ({error.msg} at character {error.colno}); expected a value "
            "as RFC 8259 has it; if the file was cut off, fetch it again"
        ) from None
    if is_too_deep(value):
        raise DataError(f"{place}: {TOO_DEEP}; expected a list of hypotheses")
    return value


def members(text: str, start: int = 0) -> dict[str, Span]:
    """The members of the object that begins at `start` or after blanks, in a text that is JSON.

    Of several that are called the same it is the last, as everywhere in JSON.
    """
    return dict(pairs(text, start))


def pairs(text: str, start: int = 0) -> Iterator[tuple[str, Span]]:
    """The members of an object in their order, those that are called the same too."""
    at = _skipped(text, _skipped(text, start) + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        span = _value(text, _skipped(text, at) + 1)
        yield key, span
        at = _skipped(text, span.end)
        if text[at] == ",":
            at = _skipped(text, at + 1)


def elements(text: str, start: int = 0) -> list[Span]:
    """The elements of the array that begins at `start` or after blanks, in a text that is JSON."""
    spans = []
    at = _skipped(text, _skipped(text, start) + 1)
    while text[at] != "]":
        span = _value(text, at)
        spans.append(span)
        at = _skipped(text, span.end)
        if text[at] == ",":
            at = _skipped(text, at + 1)
    return spans


def with_member(text: str, key: str, *, value: str) -> str:
    """An object's text with a last member more, blanks as in the object."""
    spans = members(text)
    if not spans:
        at = _skipped(text, 0) + 1
        return f"{text[:at]}{json.dumps(key)}: {value}{text[at:]}"
    last = max(spans.values())
    first = _skipped(text, 0) + 1
    lead = text[first : _skipped(text, first)]  # a line end and blanks where it is spread out
    glue = _glue(text, spans)
    colon = ": " if ": " in glue else ":"
    is_spaced = ", " in glue if len(spans) > 1 else colon == ": "
    comma = "," + (lead or " " * is_spaced)
    return f"{text[: last.end]}{comma}{json.dumps(key)}{colon}{value}{text[last.end :]}"


def _glue(text: str, spans: dict[str, Span]) -> str:
    """What stands around the members' values: keys, colons, commas."""
    at, found = 0, []
    for span in sorted(spans.values()):
        found.append(text[at : span.start])
        at = span.end
    return "".join(found)


def numeric(value: Json) -> float | None:
    """The value as a number, None if it is none; true and false are none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def string(value: Json, where: str) -> str:
    """A text that can be written as UTF-8.

    Raises:
        DataError: no string, or half a character.
    """
    if not isinstance(value, str):
        raise DataError(f"{where}: found {json.dumps(value)[:40]}; expected a string")
    if SURROGATE.search(value):
        raise DataError(f"{where}: found half of a surrogate pair; expected whole characters")
    return value


def _skipped(text: str, at: int) -> int:
    found = BLANK.match(text, at)
    assert found is not None  # it matches nothing too
    return found.end()


def _value(text: str, at: int) -> Span:
    start = _skipped(text, at)
    return Span(start, _DECODER.raw_decode(text, start)[1])
