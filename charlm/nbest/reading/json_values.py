"""JSON values that are written as they were read: members in their order, numbers digit by digit.

Blanks between values are not kept. NaN, infinity and whole numbers of any length are numbers here;
`policies` deals with them.
"""

import json
import re
from collections import Counter
from math import nan

from charlm.errors import DataError
from charlm.nbest.reading.format import FEATURE
from charlm.nbest.reading.policies import plain_words
from charlm.text.io.files import TOO_DEEP, is_too_deep

SURROGATE = re.compile(r"[\ud800-\udfff]")
NOT_ASCII = re.compile(r"[^\x00-\x7e]")  # DEL included, as in json.dumps
ASCII = "ascii"
WHOLE = re.compile(r"-?[0-9]+")


class Number(float):
    """A number that keeps the digits it was written with."""

    text: str

    def __new__(cls, text: str) -> "Number":
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        return self.text

    @property
    def is_whole(self) -> bool:
        """Whether it is written as a whole number."""
        return WHOLE.fullmatch(self.text) is not None


Json = dict[str, "Json"] | list["Json"] | str | Number | bool | None
JsonObject = dict[str, Json]


class _DoubleKeyError(ValueError):
    """A key that an object has twice: the json module would silently keep the last."""


def _object(pairs: list[tuple[str, Json]]) -> JsonObject:
    value = dict(pairs)
    if len(value) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise _DoubleKeyError(key)
    return value


_DECODER = json.JSONDecoder(
    parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=_object
)
_QUOTED = json.JSONEncoder(ensure_ascii=False).encode


def parsed(text: str, place: str) -> Json:
    """The value of a text that begins at `place`, FILE:LINE.

    Raises:
        DataError: not JSON, nested too deep, or a key that comes twice in one object.
    """
    try:
        value: Json = _DECODER.decode(text)
    except RecursionError:
        raise DataError(f"{place}: {TOO_DEEP}; expected a list of hypotheses") from None
    except json.JSONDecodeError as error:
        name, _, number = place.rpartition(":")
        where = f"{name}:{int(number) + error.lineno - 1}" if error.lineno > 1 else place
        raise DataError(
            f"{where}: not valid JSON ({error.msg.removesuffix(' at')} at character "
            f"{error.colno}); expected a value as RFC 8259 has it; if the file was cut off, "
            "fetch it again"
        ) from None
    except _DoubleKeyError as error:
        key = str(error)[:80]
        raise DataError(f"{place}: found the key {key!r} twice; expected it once") from None
    if is_too_deep(value):
        raise DataError(f"{place}: {TOO_DEEP}; expected a list of hypotheses")
    return value


def dumped(value: Json) -> str:
    """The value as text, on one line."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_QUOTED(key)}: {dumped(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(dumped, value))}]"
    return _QUOTED(value)


def escaped(text: str, encoding: str) -> str:
    """JSON that can be written in an encoding; characters that it lacks become `\\u` escapes."""
    if _is_of(encoding, text):
        return text
    return NOT_ASCII.sub(
        lambda found: found[0] if _is_of(encoding, found[0]) else json.dumps(found[0])[1:-1], text
    )


def _is_of(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return encoding != ASCII or "\x7f" not in text


ID = "a string or a whole number"


def string(value: Json, where: str, *, expected: str = "a string") -> str:
    """A text that can be written as UTF-8.

    Raises:
        DataError: not a string, or half of a surrogate pair.
    """
    if not isinstance(value, str):
        found = "nothing, or null" if value is None else dumped(value)[:40]
        raise DataError(f"{where}: found {found}; expected {expected}")
    if SURROGATE.search(value):
        raise DataError(f"{where}: found half of a surrogate pair; expected whole characters")
    return value


def said_id(value: JsonObject, place: str) -> str:
    """The `id` of an object; empty where it has none.

    Raises:
        DataError: neither text nor a whole number, or an empty text.
    """
    found = value.get("id")
    if found is None or (isinstance(found, Number) and found.is_whole):
        return "" if found is None else found.text
    key = string(found, f"{place}: 'id'", expected=ID)
    if not key:
        raise DataError(f"{place}: found an empty 'id'; expected the name of an utterance")
    return key


def words_in(value: Json, where: str) -> tuple[str, ...]:
    """The words of a text.

    Raises:
        DataError: not a string, or characters that a line of text cannot hold.
    """
    return plain_words(string(value, where), where)


def optional_words(value: JsonObject, name: str, *, place: str) -> tuple[str, ...] | None:
    """The words of a member such as a reference; None if it is missing."""
    return None if value.get(name) is None else words_in(value[name], f"{place}: {name!r}")


def scores_of(value: JsonObject, name: str, *, where: str) -> dict[str, float]:
    """The score of this name, in lower case, and that of an earlier rescoring, if there."""
    return {
        each.lower(): score_in(value[each], f"{where}: {each!r}")
        for each in (name, FEATURE)
        if each in value
    }


def score_in(said: Json, where: str) -> float:
    """A score; `null` is NaN.

    Raises:
        DataError: text, an array, an object, true or false.
    """
    if said is None:
        return nan
    if not isinstance(said, Number):
        raise DataError(f"{where}: found {str(said)[:40]!r}; expected a number")
    return float(said)
