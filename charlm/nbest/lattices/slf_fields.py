"""The fields of HTK's lattice files: `name=value`, quoted or not, long or short, in any order.

A word that begins with a quote is quoted only if it ends with the same quote: HTK escapes other
quotes by a backslash, SRILM writes them as they are. Bytes above 127 may be written as octal
numbers, in the encoding of the file.
"""

import math
import re
from dataclasses import dataclass

from charlm.errors import DataError
from charlm.nbest.hypotheses import LARGEST
from charlm.nbest.reading.list_lines import Line
from charlm.nbest.reading.policies import DECIMAL
from charlm.text.io.lines import SAY_ENCODING

# A field is a name, `=`, and a value: in quotes up to a blank, or anything without a blank.
# Possessive, and matched only at its place, so that no line makes it look often at a character.
FIELD = re.compile(
    r"""[ \t]*+([^ \t=]++)="""
    r"""("(?:[^"\\]++|\\.)*+"(?![^ \t])|'(?:[^'\\]++|\\.)*+'(?![^ \t])|[^ \t]*+)"""
)
BLANKS = {" ", "\t"}
# SRILM's way: a 0, and the byte as its C compiler's `char` has it; a digit behind it is escaped.
SRILM = r"0(?:37777777[67]|[23])[0-7]{2}"
PIECE = re.compile(
    rf"\\(?P<srilm>{SRILM})(?:\\(?!{SRILM})(?P<digit>[0-9]))?"
    r"|\\(?P<htk>[0-3][0-7]{2}|.)|[^\\]+|\\",
    re.DOTALL,
)
NUMBER = re.compile(DECIMAL)
ADVICE = {"-inf": "; lattice-tool writes one with -htk-logzero -99"}  # instead of this
SHORT = {  # of the fields that can be written either way
    "VERSION": "V",
    "UTTERANCE": "U",
    "SUBLAT": "S",
    "NODES": "N",
    "LINKS": "L",
    "WORD": "W",
    "START": "S",
    "END": "E",
    "time": "t",
    "var": "v",
    "div": "d",
    "acoustic": "a",
    "ngram": "n",
    "language": "l",
}


@dataclass(frozen=True)
class Fields:
    """The fields of a line, by their short names."""

    line: Line
    values: dict[str, str]  # still quoted
    spans: dict[str, tuple[int, int]]  # where each value stands in the line

    def number(self, name: str) -> float:
        """A field that is there, as a number.

        Raises:
            DataError: it is not a number, or infinite.
        """
        text = self.values[name]
        if not NUMBER.fullmatch(text) or abs(float(text)) > LARGEST:
            advice = ADVICE.get(text, "")
            raise DataError(f"{self.line.place}: {name}={text!r:.60}; expected a number{advice}")
        return float(text)

    def text(self, name: str) -> str:
        """A field that is text, its quotes and escapes undone; empty if it is missing.

        Raises:
            DataError: octal bytes that are not of the file's encoding, or characters that a word
                cannot hold.
        """
        text, encoding = self.values.get(name, ""), self.line.encoding
        if len(text) > 1 and text[0] in "\"'" and text[0] == text[-1]:
            text = text[1:-1]
        if "\\" not in text and not (name == "W" and set(text) & BLANKS):
            return text
        where = f"{self.line.place}: {name}"
        plain = b"".join(_unescaped(found, encoding) for found in PIECE.finditer(text))
        try:
            value = plain.decode(encoding)
        except UnicodeDecodeError:
            shown = encoding.upper()
            raise DataError(
                f"{where}: {text!r:.60} is no {shown}; expected {shown} in octal numbers; "
                f"{SAY_ENCODING}"
            ) from None
        if any(char <= " " for char in value):
            raise DataError(
                f"{where}: {text!r:.60} holds blanks or control characters; expected a word"
            )
        return value


def parsed_fields(line: Line) -> Fields:
    """The fields of a line; names other than HTK's are kept as they are.

    Raises:
        DataError: something that is not a field, or a repeated field.
    """
    values: dict[str, str] = {}
    spans: dict[str, tuple[int, int]] = {}
    end = 0
    while found := FIELD.match(line.text, end):
        name = SHORT.get(found[1], found[1])
        if name in values:
            raise DataError(f"{line.place}: field {name} for the second time; expected it once")
        values[name] = found[2]
        spans[name] = found.span(2)
        end = found.end()
    rest = line.text[end:].strip(" \t")
    if rest:
        raise DataError(
            f"{line.place}: {rest!r:.60}; expected fields such as W=word, blanks between them"
        )
    return Fields(line, values, spans)


def _unescaped(found: re.Match[str], encoding: str) -> bytes:
    if found["srilm"]:
        return bytes([int(found["srilm"], 8) & 0xFF]) + (found["digit"] or "").encode()
    escaped = found["htk"]
    if escaped is not None and len(escaped) > 1:
        return bytes([int(escaped, 8)])
    return (escaped or found[0]).encode(encoding)


@dataclass(frozen=True)
class Unit:
    """The unit of a file's log-probabilities."""

    base: float  # of the logarithm; 0: probabilities

    def nats(self, value: float, *, place: str) -> float:
        """A value of the file in nats.

        Raises:
            DataError: a probability of 0 or less.
        """
        if self.base:
            return value * math.log(self.base)
        if value <= 0:
            raise DataError(
                f"{place}: probability {value:g} where base=0; expected more than 0; take the arc "
                "out"
            )
        return math.log(value)

    def of_nats(self, nats: float) -> float:
        """Nats in the file's logarithms; probabilities have no such unit."""
        return nats / math.log(self.base)
