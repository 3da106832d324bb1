"""How a line of raw text becomes tokens with one space between them.

Everything here may be applied again to text that went through it already and changes nothing then
(it is, whenever a model scores text): lower-casing spares the `N` that stands for numbers, and the
tokens `<unk>`, `<unk>:form`, `<s>` and `</s>`, standing between blanks, stay one token each.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property, lru_cache, partial
from itertools import chain, groupby
from typing import Literal, cast

from charlm.errors import ConfigError, DataError
from charlm.text.io.lines import split_words

NUMBER_TOKEN = "N"
UNICODE_FORMS = ("NFC", "NFD", "NFKC", "NFKD", "none")
TOKENISERS = ("none", "simple")
MARKERS = frozenset(("<unk>", "<s>", "</s>"))
SPELLED_UNK = "<unk>:"
CACHED_WORDS = 1 << 16  # words come again and again: Russian is tokenised four times as fast

# What numbers are, with Arabic decimal and thousands marks: 3.14  1,000  -5  .5  10:30  1990-91
NUMBER = re.compile(r"[+\-\u2212]?[.,]?\d+(?:[.,:/\-\u2013\u066b\u066c]\d+)*")

CLITIC = re.compile(r"['\u2019][^\W\d_]{1,2}")  # 's 'll 'd, once another tokeniser cut them off

# Characters that nobody sees and that belong to no word: zero-width space, word joiner, BOM, marks
# and brackets of writing direction, ASCII's four separators (blanks, but not under re.ASCII).
UNSEEN = "\x1c-\x1f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
JOINERS = "\u200c\u200d\u00ad"  # these two and the soft hyphen are unseen, too, but spell words

LETTER = r"[^\W\d_]"
LONG = 200  # characters: no word of a language

# Apostrophes, hyphens, the dot of Catalan col\u00b7legi, geresh and gershayim.
WITHIN_WORDS = r"'\-\u2019\u2010\u2011\u00b7\u05f3\u05f4"


@dataclass(frozen=True)
class Normalisation:
    """Lower case, Unicode form, tokeniser and numbers: what a corpus and its models must share."""

    lower: bool = False
    unicode: str = "NFC"
    tokenise: str = "none"
    numbers: bool = False

    def __post_init__(self) -> None:
        """Raises ConfigError for a Unicode form or tokeniser that does not exist."""
        for option, known in (("unicode", UNICODE_FORMS), ("tokenise", TOKENISERS)):
            value = getattr(self, option)
            if value not in known:
                raise ConfigError(f"{option}: found {value!r}; expected one of {', '.join(known)}")

    def __call__(self, line: str) -> str:
        """The tokens of `line` with one space between them; it may hold no LF."""
        line = self.compose(line)
        # The byte order mark and CR that a file's reader would take off the finished line.
        tokens = split_words(line.lstrip(" \t\ufeff").rstrip(" \t\r"))
        if self.lower:
            tokens = self._lowered(tokens)
        if self.tokenise == "simple":
            cut = [(simple_tokens if len(each) <= LONG else _long_tokens)(each) for each in tokens]
            tokens = list(chain.from_iterable(cut))
        if self.numbers:
            tokens = [NUMBER_TOKEN if is_number(token) else token for token in tokens]
        return " ".join(tokens)

    def compose(self, text: str) -> str:
        """`text` in the Unicode form; LF joins nothing, so it may hold several lines."""
        return _compose(text, self.unicode)

    @property
    def leaves_words(self) -> bool:
        """Whether the words of text in its Unicode form stay as they are."""
        return not self.lower and self.tokenise == "none" and not self.numbers

    def to_dict(self) -> dict[str, bool | str]:
        """The options as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: object, name: str) -> "Normalisation":
        """The normalisation that `to_dict` gave; `name` stands in the message.

        Raises:
            DataError: another set of keys, a wrong type, or a value that does not exist.
        """
        expected = {field.name: field.type for field in fields(cls)}
        if not isinstance(value, dict) or set(value) != set(expected):
            found = sorted(map(str, value)) if isinstance(value, dict) else type(value).__name__
            raise DataError(f"{name}: found {found}; expected the keys {', '.join(expected)}")
        for key, kind in expected.items():
            if type(value[key]) is not kind:
                kind_name = cast(type, kind).__name__
                raise DataError(f"{name}: {key} is {value[key]!r}; expected a {kind_name}")
        try:
            return cls(**value)
        except ConfigError as error:
            raise DataError(f"{name}: {error}") from None

    def _lowered(self, tokens: list[str]) -> list[str]:
        kept = {*MARKERS, NUMBER_TOKEN} if self.numbers else MARKERS
        form = self.unicode
        return [
            each if each in kept else (_lower if len(each) <= LONG else _lower_long)(each, form)
            for each in tokens
        ]


def _compose(text: str, form: str) -> str:
    if form == "none" or text.isascii():
        return text
    return unicodedata.normalize(cast(Literal["NFC", "NFD", "NFKC", "NFKD"], form), text)


@lru_cache(CACHED_WORDS)
def _lower(token: str, form: str) -> str:
    while (lowered := _compose(token.lower(), form)) != token:
        token = lowered  # lower-casing can undo a composition (J + caron), and the reverse
    return token


_lower_long = _lower.__wrapped__  # of junk, which would fill the memory


def is_number(token: str) -> bool:
    """Whether all of a token is a number."""
    return token[-1].isdigit() and NUMBER.fullmatch(token) is not None  # most tokens fail quickly


@lru_cache(CACHED_WORDS)
def simple_tokens(word: str) -> Sequence[str]:
    """A word with its punctuation and symbols split off.

    Apostrophes and hyphens within a word stay (don't, well-known), and so do the signs within a
    number (3.14, 1,000, 10:30), full stops after single letters (U.S., e.g.), and combining marks
    with their letter. So do 's, 'll and the like where they stand alone, as in text that another
    tokeniser went over. Blanks of every kind separate. Chinese, Japanese and Thai, which write no
    blanks, are cut at punctuation alone.
    """
    if word.isalpha() or word in MARKERS or word.startswith(SPELLED_UNK) or CLITIC.fullmatch(word):
        return (word,)
    if len(word) > LONG:
        return _SCANNER.tokens_of_long(word)
    return _SCANNER.ascii(word) if word.isascii() else _SCANNER.unicode(word)


_long_tokens = simple_tokens.__wrapped__


class _Scanner:
    """The two expressions that tokens are found with.

    Whatever they look at lies within the token (but for one refusal, of a letter after "U.S."):
    therefore a token, met alone the next time, is found whole.
    """

    @cached_property
    def ascii(self) -> Callable[[str], list[str]]:
        return partial(re.findall, re.compile(_token_pattern("", joiners=""), re.ASCII))

    @cached_property
    def unicode(self) -> Callable[[str], list[str]]:
        return partial(re.findall, re.compile(_token_pattern(_marks(), joiners=JOINERS)))

    @cached_property
    def _long(self) -> re.Pattern[str]:
        marks = _marks()
        no_abbreviation = rf"(?P<dotted>(?:{LETTER}[{marks}]*\.){{2,}}+(?=\w))"
        return re.compile(f"{no_abbreviation}|{_token_pattern(marks, joiners=JOINERS)}")

    def tokens_of_long(self, word: str) -> list[str]:
        """The same tokens in a time that grows with the length of the word alone.

        Of `a.b.c.de` each letter would be looked at as the begin of an abbreviation, up to the end.
        """
        tokens: list[str] = []
        for found in self._long.finditer(word):
            if found["dotted"] is None:
                tokens.append(found[0])
            else:
                tokens += (part for letter in found[0].split(".")[:-1] for part in (letter, "."))
        return tokens


_SCANNER = _Scanner()


def _token_pattern(marks: str, *, joiners: str) -> str:
    mark = f"[{marks}]*" if marks else ""
    part = rf"[\w{marks}{joiners}]+"
    joint = rf"(?:[{WITHIN_WORDS}]|(?<=\d)[.,:/\u066b\u066c](?=\d))"
    abbreviation = rf"(?:{LETTER}{mark}\.){{2,}}(?!\w)"  # U.S.  e.g.
    word = rf"(?:[+\-\u2212](?=\d))?{part}(?:{joint}{part})*"
    run = r"\.+|-+|!+|\?+|\*+|=+|~+|'+|`+"  # ... -- '' stay together
    symbol = rf"[^\w\s{UNSEEN}]{mark}(?:\u200d[^\w\s{UNSEEN}]{mark})*"  # joined emoji are one
    return f"{abbreviation}|{word}|{run}|{symbol}"


@cache
def _marks() -> str:
    r"""Combining marks and skin tones as ranges of a character class: \w holds letters alone."""
    tones = range(0x1F3FB, 0x1F400)
    marks = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)).startswith("M") or code in tones
    ]
    runs = (list(run) for _, run in groupby(enumerate(marks), lambda pair: pair[1] - pair[0]))
    return "".join(rf"\U{run[0][1]:08x}-\U{run[-1][1]:08x}" for run in runs)
