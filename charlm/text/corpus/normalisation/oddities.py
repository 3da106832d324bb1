"""What is odd about the words of a text: characters, scripts, case, apostrophes and quotes.

Nothing is altered here. NUL, control characters and soft hyphens belong to no word of a model and
are the business of `prep --invalid`; all else may be meant, so it is counted and shown.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from charlm.interface.json_results import JsonResult
from charlm.text.corpus.normalisation.normalisation import IGNORED, SEPARATORS

# TAB separates words, LF lines, and CR may stand at a line's end. The soft hyphen shows nothing
# until a line is broken there.
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad]|\r(?!\r*$)")
C1 = re.compile("[\x80-\x9f]")
ASK_WINDOWS = (
    "is it of Windows, which has letters and quotes there: --encoding cp1252, or cp1250 (Central "
    "European), cp1251 (Cyrillic), cp1253 (Greek), cp1254 (Turkish)?"
)
NUL, CONTROL, SOFT_HYPHEN = "NUL byte", "control character", "soft hyphen"
UNWANTED_KINDS = (NUL, CONTROL, SOFT_HYPHEN)
SOFT = "\xad"

BLANK = re.compile("[\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
ODD_CHARACTERS = {
    "no-break or wide space": BLANK,
    "invisible mark": re.compile(f"[{SEPARATORS}{IGNORED}]"),
    "replacement character": re.compile("\ufffd"),
    "private character": re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]"),
    # UTF-8 that was read as Windows-1252: é as Ã©, ’ as â€™, й as Ð¹; ã© once it is lower case.
    "UTF-8 read as Latin-1": re.compile(
        "[\xc2\xc3\xd0\xd1][\x80-\xbf\u2013-\u203a\u20ac\u2122]|\xe2\u20ac|\xef\xbb\xbf"
        "|[\xe3\xf0\xf1][\xa1-\xa9\xac\xae-\xb6\xb8\xb9\xbc-\xbf]"
    ),
}
# Of keyboards and print, and letters like them: Ukrainian's, Navajo's; Hawaiian's, Uzbek's.
APOSTROPHES = "'\u2019\u2018\u02bc\u02bb\xb4`"
APOSTROPHE = re.compile(rf"(?<=[^\W\d_])([{APOSTROPHES}])(?=[^\W\d_])")
# A letter's two characters: with Romanian's comma or Turkish's cedilla, Persian's and Arabic's.
SAME_LETTERS = (
    ("\u0219", "\u015f"),  # s
    ("\u0218", "\u015e"),
    ("\u021b", "\u0163"),  # t
    ("\u021a", "\u0162"),
    ("\u06cc", "\u064a"),  # yeh
    ("\u06a9", "\u0643"),  # kaf
)
OF_SAME_LETTERS = re.compile(f"[{''.join(map(''.join, SAME_LETTERS))}]")
QUOTES = '"\u201c\u201d\u201e\xab\xbb\u2039\u203a'
SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "HEBREW", "ARABIC", "GEORGIAN", "DEVANAGARI")
MIXED_CASE = re.compile(r"[a-z]+[A-Z]{2,}[a-zA-Z]*|[A-Z][a-z]*[a-z][A-Z]{2,}")
N_EXAMPLES = 3
LONG = 6  # letters; shorter ones are names of institutions, mostly
SELDOM = 0.2  # of all that do the same: below it, a second habit is worth a line
# What a finding is called: an oddity by its kind, and the rarer of several habits by one of these.
ODD, QUOTE, SIGN, LETTER = "{}", "{} quotes", "apostrophe {}", "letter {}"


def kind_of(character: str) -> str:
    if character == "\0":
        return NUL
    return SOFT_HYPHEN if character == SOFT else CONTROL


def replaced(text: str) -> str:
    """`text` with blanks for control characters and NUL, and without soft hyphens."""
    return UNWANTED.sub(" ", text.replace(SOFT, ""))


@dataclass
class Finding(JsonResult):
    """One oddity: how many tokens have it, and which words show it."""

    kind: str
    n_tokens: int = 0
    words: list[str] = field(default_factory=list)

    def add(self, word: str, count: int) -> None:
        """Count a type; the first few are its examples."""
        self.n_tokens += count
        if len(self.words) < N_EXAMPLES:
            self.words.append(word)


def oddities(types: Iterable[tuple[str, int]], *, unicode: str = "none") -> list[Finding]:
    """What is odd about these words with their counts, the most frequent first.

    Of two habits that mean the same (apostrophes, characters of a letter), the rarer one is the
    oddity, and only if it is rare: a language may have both. A Unicode form other than NFC is odd
    unless the words were brought to it.
    """
    tables: dict[str, dict[str, Finding]] = {form: {} for form in (ODD, QUOTE, SIGN, LETTER)}
    for word, count in types:
        for form, kind in _habits(word, unicode=unicode):
            tables[form].setdefault(kind, Finding(kind)).add(word, count)
    found, letters = tables[ODD], tables[LETTER]
    for form in (SIGN, QUOTE):
        found |= _rarer(form, tables[form])
    for pair in SAME_LETTERS:
        found |= _rarer(LETTER, {c: letters[c] for c in pair if c in letters})
    return sorted(found.values(), key=lambda each: (-each.n_tokens, each.kind))


def _habits(word: str, *, unicode: str) -> Iterator[tuple[str, str]]:
    """What is odd about a word, and which of several habits it shows, each once."""
    for kind in {"straight" if sign == '"' else "curly" for sign in word if sign in QUOTES}:
        yield QUOTE, kind
    for sign in {match[1] for match in APOSTROPHE.finditer(word)}:
        yield SIGN, sign
    if MIXED_CASE.fullmatch(word):
        yield ODD, "capitals within a word"
    elif len(word) >= LONG and word.isupper():
        yield ODD, "words in capitals"
    if word.isascii():
        return
    for letter in {*OF_SAME_LETTERS.findall(word)}:
        yield LETTER, letter
    for kind, pattern in ODD_CHARACTERS.items():
        if pattern.search(word):
            yield ODD, kind
    if len(scripts_of(word)) > 1:
        yield ODD, "letters of two scripts"
    if unicode == "none" and unicodedata.normalize("NFC", word) != word:
        yield ODD, "not in NFC"


def _rarer(kind: str, table: dict[str, Finding]) -> dict[str, Finding]:
    """Each habit but the commonest, if it is rare beside that."""
    ranked = sorted(table.values(), key=lambda each: (-each.n_tokens, each.kind))
    seldom = [each for each in ranked[1:] if each.n_tokens < SELDOM * ranked[0].n_tokens]
    return {
        each.kind: Finding(kind.format(each.kind), each.n_tokens, each.words) for each in seldom
    }


def scripts_of(word: str) -> set[str]:
    """The alphabets of a word's letters; writing that is not alphabetic counts as none."""
    return {script for each in word if (script := _script(each))}


@lru_cache(1 << 14)
def _script(character: str) -> str:
    if not character.isalpha():
        return ""
    first = unicodedata.name(character, "").partition(" ")[0]
    return first if first in SCRIPTS else ""
