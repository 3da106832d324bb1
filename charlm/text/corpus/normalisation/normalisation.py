"""How a line of raw text becomes tokens with one space between them.

Applied again to its own result it changes nothing, as happens whenever a model scores text:
lower-casing spares the `N` that stands for numbers, and the tokens `<unk>`, `<unk>:form`, `<s>` and
`</s>`, between blanks, stay one token each. A map alone may change more (`phrase_map`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, cached_property, partial
from itertools import chain, groupby
from typing import Any, Literal, cast

from charlm.errors import ConfigError, DataError
from charlm.settings import shown
from charlm.text.corpus.normalisation.phrase_map import LONG, NO_TEXT, PhraseMap, Rules, can_be_rule
from charlm.text.corpus.tokens import MARKS, is_mark
from charlm.text.io.lines import split_words

NUMBER_TOKEN = "N"
UNICODE_FORMS = ("NFC", "NFD", "NFKC", "NFKD", "none")
TOKENISERS = ("none", "simple")
PUNCTUATION = ("keep", "drop")
CACHED_WORDS = 1 << 16  # words come again and again; of so many a table is begun anew

# What numbers are, with Arabic decimal and thousands marks: 3.14  1,000  -5  .5  10:30  1990-91
NUMBER = re.compile(r"[+\-\u2212]?[.,]?\d+(?:[.,:/\-\u2013\u066b\u066c]\d+)*")

CLITIC = re.compile(r"['\u2019][^\W\d_]{1,2}")  # 's 'll 'd, once another tokeniser cut them off

# What nobody sees. It separates: the zero-width space, and a BOM, where two files were joined.
SEPARATORS = "\u200b\ufeff"
# Or it changes no word, wherever it stands: marks and brackets of writing direction, the word
# joiner, and signs of formulas.
IGNORED = "\u061c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
IGNORED_MARKS = re.compile(f"[{IGNORED}]+")
# Or it spells words: Persian's and Indian joiners, the soft hyphen, Mongolian's vowel separator.
JOINERS = "\u200c\u200d\u00ad\u180e"
UNSEEN = re.compile(f"[{SEPARATORS}{IGNORED}{JOINERS}]")
# ASCII's four separators are blanks, but not under re.ASCII.
NO_SYMBOL = rf"\x1c-\x1f{SEPARATORS}{IGNORED}"

# A hyphen between what is no blank; minus signs are not among them.
HYPHENS = "\u058a\u05be\u2010\u2011"  # Armenian's, Hebrew's maqaf, and two that look like ASCII's
HYPHEN_WITHIN = re.compile(f"(?<=.)[-{HYPHENS}\u2012\u2013](?=.)")

# A capital with its dot, and what lower-casing that knows no Turkish makes of it.
DOTTED_I = re.compile("(?:[Ii]\u0307|\u0130)\u0307*")

LETTER = r"[^\W\d_]"
DOTTED = re.compile(rf"(?:{LETTER}\.)+{LETTER}")  # U.S, as it is once its last dot is gone

# Apostrophes, of which Uzbek has \u2018, hyphens, the dot of Catalan col\u00b7legi, geresh and
# gershayim, and what Armenian writes behind the vowel that is stressed, cried or asked.
WITHIN_WORDS = rf"'\-\u2018\u2019{HYPHENS}\u00b7\u05f3\u05f4\u055a-\u055c\u055e"
# Gershayim as keyboards have it, before the last letter of an acronym; elsewhere a quote may open.
GERSHAYIM = r'(?<=[\u05d0-\u05ea])"(?=[\u05d0-\u05ea](?![\u05d0-\u05ea]))'
# Symbols to Unicode, yet parts of words: IPA's tones and hook of r, and letters like : and =.
SIGNS_OF_WORDS = "\u02de\u02e5-\u02ed\ua700-\ua716\ua789\ua78a"
SIGN_OF_WORD = re.compile(f"[{SIGNS_OF_WORDS}]")
# Planes 0 to 3 and 14; the others hold nothing, or private characters.
WRITING, TAGS = (0, 0x40000), (0xE0000, 0xF0000)
# Of emoji what stands behind the first character: skin tones, and a flag's tags.
OF_EMOJI = "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"


@dataclass(frozen=True)
class Normalisation:
    """The text rules that a corpus and its models must share, applied in the order below.

    But hyphens within words, punctuation and the map come before numbers. `punctuation="drop"`
    takes punctuation off the ends of words, and leaves out words of nothing else; 's, 'll and the
    like keep theirs; U.S. becomes two letters.
    """

    lower: bool = False
    unicode: str = "NFC"
    tokenise: str = "none"
    numbers: bool = False
    punctuation: str = "keep"
    split_hyphens: bool = False
    map: Rules = ()
    dotless_i: bool = False  # of `lower`: I is the capital of ı and İ that of i, as in Turkish

    def __post_init__(self) -> None:
        """Raises ConfigError for a value that an option has not."""
        for option, known in (
            ("unicode", UNICODE_FORMS),
            ("tokenise", TOKENISERS),
            ("punctuation", PUNCTUATION),
        ):
            value = getattr(self, option)
            if value not in known:
                raise ConfigError(
                    f"{option}: found {shown(value)}; expected one of {', '.join(known)}"
                )
        if self.dotless_i and not self.lower:
            raise ConfigError("dotless_i: found no lower case; expected lower; add --lower")

    def __call__(self, line: str, *, changed: Counter[str] | None = None) -> str:
        """The tokens of `line` with one space between them; it may hold no LF.

        `changed` counts the words that each rule for what is spoken took away.
        """
        line = self.compose(line)
        # The byte order mark and CR that a file's reader would take off the finished line.
        tokens = split_words(line.lstrip(" \t\ufeff").rstrip(" \t\r"))
        simple = self.tokenise == "simple"
        if simple and not line.isascii() and IGNORED_MARKS.search(line):
            tokens = list(filter(None, map(self._without_ignored, tokens)))
        if self.lower or simple:
            tokens = _cutting(
                self.unicode,
                lower=self.lower,
                dotless_i=self.dotless_i,
                numbers=self.numbers,
                simple=simple,
            ).each(tokens)
        for name, rule in self._spoken:
            before, tokens = tokens, rule(tokens)
            if changed is not None and tokens != before:
                changed[name] += (Counter(before) - Counter(tokens)).total()
        if self.numbers:
            tokens = [NUMBER_TOKEN if is_numeral(token) else token for token in tokens]
        return " ".join(tokens)

    def and_also(self, further: "Normalisation") -> "Normalisation":
        """These rules together with all of another's but those for Unicode and the dotless i."""
        return replace(
            self,
            lower=self.lower or further.lower,
            tokenise=further.tokenise if self.tokenise == "none" else self.tokenise,
            numbers=self.numbers or further.numbers,
            punctuation="drop" if "drop" in (self.punctuation, further.punctuation) else "keep",
            split_hyphens=self.split_hyphens or further.split_hyphens,
            map=tuple((dict(self.map) | dict(further.map)).items()),
        )

    def compose(self, text: str) -> str:
        """`text` in the Unicode form; it may hold several lines, since LF composes with nothing."""
        return _compose(text, self.unicode)

    @cached_property
    def _spoken(self) -> Sequence[tuple[str, Callable[[list[str]], list[str]]]]:
        """The rules that turn written text into what a speaker would say."""
        rules: list[tuple[str, Callable[[list[str]], list[str]]]] = []
        if self.split_hyphens:
            rules.append(("hyphens", partial(_each, _parts)))
        if self.punctuation == "drop":
            rules.append(("punctuation", partial(_each, _without_punctuation)))
        if self.map:
            rules.append(("map", self._phrases))
        return rules

    @cached_property
    def _phrases(self) -> PhraseMap:
        return PhraseMap(self.plain_map)

    @property
    def plain_map(self) -> Rules:
        """The map, in the case and Unicode form of the words that it is applied to."""
        return tuple((self.plain(old), self.plain(new)) for old, new in self.map)

    @property
    def plain(self) -> "Normalisation":
        """The rules for case and Unicode form alone."""
        return Normalisation(self.lower, self.unicode, dotless_i=self.dotless_i)

    @property
    def reads_phrases(self) -> bool:
        """Whether a word may be read differently for the words beside it."""
        return self._phrases.has_phrases

    @property
    def leaves_words(self) -> bool:
        """Whether nothing but the Unicode form changes words."""
        return not (self.lower or self.tokenise != "none" or self.numbers or self._spoken)

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON; those of later versions only where they differ from the default."""
        given = asdict(self) | {"map": [list(rule) for rule in self.map]}
        return {
            name: given[name] for name in given if name in REQUIRED or given[name] != DEFAULTS[name]
        }

    def in_short(self) -> dict[str, Any]:
        """The options as people are shown them: a map is the number of its rules."""
        told = self.to_dict()
        return told | ({"map": f"{len(self.map)} rules"} if self.map else {})

    @classmethod
    def from_dict(cls, value: object, name: str) -> "Normalisation":
        """The normalisation that `to_dict` gave; `name` stands in the message.

        Raises:
            DataError: another set of keys, a wrong type, or a value that does not exist.
        """
        kinds = {field.name: field.type for field in fields(cls)} | {"map": list}
        if not isinstance(value, dict) or not set(REQUIRED) <= set(value) <= set(kinds):
            keys = shown(sorted(map(str, value))) if isinstance(value, dict) else ""
            found = keys or type(value).__name__
            raise DataError(f"{name}: found {found}; expected the keys {', '.join(REQUIRED)}")
        for key, each in value.items():
            kind = cast(type, kinds[key])
            if type(each) is not kind:
                raise DataError(f"{name}: {key} is {shown(each)}; expected a {kind.__name__}")
        rules = value.get("map", [])
        wrong = [rule for rule in rules if not _is_pair_of_texts(rule)]
        try:
            result = cls(**value | {"map": () if wrong else tuple(map(tuple, rules))})
        except ConfigError as error:
            raise DataError(f"{name}: {error}") from None
        wrong += [[old, new] for old, new in result.plain_map if not can_be_rule(old, new)]
        if wrong:
            raise DataError(f"{name}: map has {shown(wrong[0])}; expected a rule that --map takes")
        return result

    def _without_ignored(self, token: str) -> str:
        """A token without invisible characters, unless it would then look like a mark."""
        seen = IGNORED_MARKS.sub("", token)
        return token if is_mark(seen) else self.compose(seen)


def _is_pair_of_texts(value: object) -> bool:
    """Whether a JSON value is a pair of texts that can stand in a line."""
    if not (isinstance(value, list) and len(value) == 2 and all(type(s) is str for s in value)):
        return False
    return not any(map(NO_TEXT.search, value))


NO_RULES = Normalisation(unicode="none")
REQUIRED = ("lower", "unicode", "tokenise", "numbers")  # keys that were always written
DEFAULTS = {field.name: field.default for field in fields(Normalisation)} | {"map": []}


def with_further(own: Normalisation | None, further: Normalisation) -> Normalisation | None:
    """The rules of a text, if it has any, and those of options; None: words stay as they are."""
    return own if further == NO_RULES else (own or NO_RULES).and_also(further)


class _WordRule(dict[str, Sequence[str]]):
    """The tokens that a rule makes of each word; those of junk are not remembered."""

    def __init__(self, rule: Callable[[str], Sequence[str]]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, word: str) -> Sequence[str]:
        tokens = self._rule(word)
        if len(word) <= LONG:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[word] = tokens
        return tokens

    def each(self, words: Sequence[str]) -> list[str]:
        """The tokens of all words, one after another."""
        return list(chain.from_iterable(map(self.__getitem__, words)))


@cache
def _cutting(form: str, *, lower: bool, dotless_i: bool, numbers: bool, simple: bool) -> _WordRule:
    """Lower-cases and tokenises; it is of no object, so that none is pickled with its words."""
    kept = {*MARKS, NUMBER_TOKEN} if numbers else MARKS

    def cut(word: str) -> Sequence[str]:
        if lower and word not in kept:
            word = _lower(word, form, dotless_i)
        return simple_tokens(word) if simple else (word,)

    return _WordRule(cut)


_remembered = cache(_WordRule)


def _each(rule: Callable[[str], Sequence[str]], words: Sequence[str]) -> list[str]:
    return _remembered(rule).each(words)


def _without_punctuation(word: str) -> Sequence[str]:
    if word.isalnum() or is_mark(word) or CLITIC.fullmatch(word):
        return (word,)
    kept = [i for i, each in enumerate(word) if _is_of_word(each)]
    bare = word[kept[0] : kept[-1] + 1] if kept else ""
    return tuple(bare.split(".")) if DOTTED.fullmatch(bare) else (bare,) if bare else ()


def _is_of_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM" or bool(SIGN_OF_WORD.match(character))


def _parts(word: str) -> Sequence[str]:
    if word.isalnum() or is_mark(word) or not any(map(str.isalnum, word)):
        return (word,)
    return tuple(filter(None, HYPHEN_WITHIN.split(word)))


def _compose(text: str, form: str) -> str:
    if form == "none" or text.isascii():
        return text
    return unicodedata.normalize(cast(Literal["NFC", "NFD", "NFKC", "NFKD"], form), text)


def _lower(token: str, form: str, dotless_i: bool) -> str:
    if dotless_i:
        token = DOTTED_I.sub("i", token).replace("I", "\u0131")
    while (lowered := _compose(token.lower(), form)) != token:
        token = lowered  # lower-casing can undo a composition (J + caron), and the reverse
    return token


def is_numeral(token: str) -> bool:
    """Whether all of a token is a number."""
    return token[-1].isdigit() and NUMBER.fullmatch(token) is not None  # most tokens fail quickly


def is_of_letters(word: str) -> bool:
    """Whether a word consists of letters, with the signs that are written on or between them.

    `str.isalpha` denies this of most words of Hindi, Thai or Burmese, whose vowel signs are not
    letters to Unicode.
    """
    return word.isalpha() or all(
        each in JOINERS or unicodedata.category(each)[0] in "LM" for each in word
    )


def simple_tokens(word: str) -> Sequence[str]:
    """A word with its punctuation and symbols split off.

    Apostrophes and hyphens within a word stay (don't, well-known), and so do the signs within a
    number (3.14, 1,000, 10:30), full stops after single letters (U.S., e.g.), the quote within a
    Hebrew acronym, and combining marks and tone letters with their letter. So do 's, 'll and the
    like where they stand alone, as in text that another tokeniser went over. Blanks of every kind
    separate, and so does a colon between letters (EU:n). Chinese, Japanese and Thai, which write no
    blanks, are cut at punctuation alone.
    """
    if word.isalpha() or is_mark(word) or CLITIC.fullmatch(word):
        return (word,)
    if len(word) > LONG:
        return tokens_of_long(word)
    return (_ascii_pattern() if word.isascii() else _unicode_pattern()).findall(word)


# Whatever these look at lies within the token (but for one refusal, of a letter after "U.S."):
# therefore a token, met alone the next time, is found whole.


@cache
def _ascii_pattern() -> re.Pattern[str]:
    return re.compile(token_pattern("", joiners=""), re.ASCII)


@cache
def _unicode_pattern() -> re.Pattern[str]:
    return re.compile(token_pattern(_marks(), joiners=JOINERS))


@cache
def _long_pattern() -> re.Pattern[str]:
    marks = _marks()
    dotted = rf"{LETTER}[{marks}]*\."
    # Not {2,}+: up to Python 3.11.2 what is possessive may match what it must not.
    no_abbreviation = rf"(?P<dotted>(?:{dotted}){{2,}}(?!{dotted})(?=\w))"
    return re.compile(f"{no_abbreviation}|{token_pattern(marks, joiners=JOINERS)}")


def tokens_of_long(word: str) -> list[str]:
    """The same tokens in a time that grows with the length of the word alone.

    Of `a.b.c.de` each letter would be looked at as the begin of an abbreviation, up to the end.
    """
    tokens: list[str] = []
    for found in _long_pattern().finditer(word):
        if found["dotted"] is None:
            tokens.append(found[0])
        else:
            tokens += (part for letter in found[0].split(".")[:-1] for part in (letter, "."))
    return tokens


def token_pattern(marks: str, *, joiners: str) -> str:
    """A token of `--tokenise simple`; marks and joiners are ranges of a character class."""
    mark = f"[{marks}]*" if marks else ""
    part = rf"[\w{marks}{joiners}{SIGNS_OF_WORDS}]+"
    joint = rf"(?:[{WITHIN_WORDS}]|{GERSHAYIM}|(?<=\d)[.,:/\u066b\u066c](?=\d))"
    abbreviation = rf"(?:{LETTER}{mark}\.){{2,}}(?!\w)"  # U.S.  e.g.
    word = rf"(?:[+\-\u2212](?=\d))?{part}(?:{joint}{part})*"
    run = r"\.+|-+|!+|\?+|\*+|=+|~+|'+|`+"  # ... -- '' stay together
    flag = "[\U0001f1e6-\U0001f1ff]{2}"  # a country's two letters
    symbol = rf"[^\w\s{NO_SYMBOL}]{mark}(?:\u200d[^\w\s{NO_SYMBOL}]{mark})*"  # joined emoji are one
    return f"{abbreviation}|{word}|{run}|{flag}|{symbol}"


@cache
def _marks() -> str:
    r"""Combining marks and parts of emoji as ranges: \w holds letters alone."""
    marks = [
        code
        for code in chain(range(*WRITING), range(*TAGS))
        if unicodedata.category(chr(code)).startswith("M")
    ]
    runs = (list(run) for _, run in groupby(enumerate(marks), lambda pair: pair[1] - pair[0]))
    ranges = "".join(rf"\U{run[0][1]:08x}-\U{run[-1][1]:08x}" for run in runs)
    return ranges + OF_EMOJI
