"""Which spelling rules would make which unknown words known.

A word that a vocabulary lacks only because of its case, an apostrophe or a number is not rare: the
texts were prepared differently. Each rule is tried alone, then together with each other rule; a
word is credited to the first that leads to known words.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

from charlm.interface.json_results import JsonResult
from charlm.text.corpus.normalisation.normalisation import (
    HYPHENS,
    NUMBER_TOKEN,
    UNSEEN,
    Normalisation,
    is_numeral,
    simple_tokens,
)
from charlm.text.corpus.normalisation.oddities import (
    APOSTROPHES,
    SAME_LETTERS,
    replaced,
    scripts_of,
)
from charlm.text.corpus.normalisation.pieces import is_piece
from charlm.text.corpus.tokens import form_of, is_literal_unk, share, visible
from charlm.text.io.lines import split_words

# Share of the unknown tokens; if case, numbers or punctuation explain less, it is normal language.
ENOUGH = 0.05
ENOUGH_TYPES = 3
ANY_APOSTROPHE = re.compile(f"[{APOSTROPHES}]")
HYPHEN = re.compile(f"[-{HYPHENS}\u2012\u2013\u2212]")
CONTRACTION = re.compile(r"^(\w+?)(n't|'(?:s|re|ve|ll|d|m))$")
# Signs of vowels and stress in Hebrew and Arabic, and the tatweel, which only widens a word.
POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670]+")
# Look-alike letters, where a letter of one script has crept into a word of another.
CYRILLIC, LATIN = "АВЕКМНОРСТХаеорсухіјѕ", "ABEKMHOPCTXaeopcyxijs"
ALIKE = (str.maketrans(CYRILLIC, LATIN), str.maketrans(LATIN, CYRILLIC))
SAME = [str.maketrans({pair[i]: pair[1 - i] for pair in SAME_LETTERS}) for i in (0, 1)]

TURKISH = Normalisation(unicode="none", lower=True, dotless_i=True)
BARE = Normalisation(unicode="none", punctuation="drop")
PARTS = Normalisation(unicode="none", split_hyphens=True)

Rule = Callable[[str], Iterable[str]]
Rules = dict[str, tuple[Rule, str]]  # name → rule and advice, in the order in which they are tried


LOWERED = str.maketrans("\xe3\xf0\xf1", "\xc3\xd0\xd1")  # what lower case made of first bytes


def _read_as_utf8(word: str) -> Iterator[str]:
    for form in (word, word.translate(LOWERED)):
        for wrong in ("cp1252", "latin-1"):
            with suppress(UnicodeError):
                yield form.encode(wrong).decode()


def _parted(word: str) -> str:
    return CONTRACTION.sub(r"\1 \2", word)


RULES: Rules = {
    # First, since lower case changes what bytes became: `CAFÃ‰`.
    "encoding": (_read_as_utf8, "--encoding: it is UTF-8 that was read as something else"),
    "case": (
        lambda word: (word.lower(), word.capitalize(), word.upper()),
        "prep --lower, for both texts",
    ),
    "dotless i": (lambda word: [TURKISH(word)], "prep --lower --dotless-i, for both texts"),
    "Unicode form": (
        lambda word: [unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word)],
        "prep --unicode NFC, for both texts",
    ),
    "ligatures and wide letters": (
        lambda word: [unicodedata.normalize("NFKC", word)],
        "prep --unicode NFKC, for both texts",
    ),
    "apostrophes": (
        lambda word: [ANY_APOSTROPHE.sub(sign, word) for sign in APOSTROPHES],
        "one apostrophe in both texts",
    ),
    "hyphens": (
        lambda word: [HYPHEN.sub(sign, word) for sign in "-\u05be\u2010\u2013"],
        "one hyphen in both texts",
    ),
    "unseen characters": (
        lambda word: [" ".join(split_words(UNSEEN.sub("", replaced(word))))],
        "prep --invalid replace; take zero-width marks out",
    ),
    "vowel points": (
        lambda word: [POINTS.sub("", word)],
        "take vowel points out of this text, as the other lacks them",
    ),
    "look-alike letters": (
        lambda word: [word.translate(table) for table in ALIKE if len(scripts_of(word)) > 1],
        "write each word in one script",
    ),
    "characters of a letter": (
        lambda word: [word.translate(table) for table in SAME],
        "one character for each letter in both texts, as \u0219 for \u015f, \u06cc for \u064a",
    ),
    "punctuation": (lambda word: [" ".join(simple_tokens(word))], "prep --tokenise simple"),
    "numbers": (  # behind what cuts them off: `1990,`
        lambda word: [" ".join(NUMBER_TOKEN if is_numeral(w) else w for w in split_words(word))],
        "prep --numbers",
    ),
    "compounds": (
        lambda word: [HYPHEN.sub(by, word) for by in ("", " ") if HYPHEN.search(word[1:-1])],
        "",
    ),
}
# The rules that `charlm score` and `tune` offer for the copy that models read.
LIST_RULES: Rules = {
    "Unicode form": (
        RULES["Unicode form"][0],
        "lists in the form of the model's text, or a run on text that prep has made",
    ),
    "ligatures and wide letters": (
        RULES["ligatures and wide letters"][0],
        "lists without them, or a run on text of prep --unicode NFKC",
    ),
    "apostrophes": RULES["apostrophes"],
    "unseen characters": (RULES["unseen characters"][0], "taking such characters out"),
    "vowel points": (RULES["vowel points"][0], "taking vowel points out"),
    "characters of a letter": (
        RULES["characters of a letter"][0],
        "writing letters as the model's text does",
    ),
    "case": (lambda word: [word.lower()], "--lower"),
    "dotless i": (
        RULES["dotless i"][0],
        "lists in lower case with ı for I (prep --lower --dotless-i)",
    ),
    # The mark of a piece is no punctuation: without it er@@ is another piece.
    "punctuation": (lambda word: [] if is_piece(word) else [BARE(word)], "--punctuation drop"),
    "hyphens": (lambda word: [PARTS(word)], "--split-hyphens"),
    "contractions": (
        lambda word: [_parted(word)],
        "--map FILE with `*n't TAB * n't`, `*'s TAB * 's` and so on",
    ),
}
# Rules that a text can be read by; punctuation is cut off where the vocabulary has such signs.
TEXT_RULES: Rules = {
    "case": LIST_RULES["case"],
    "punctuation": (RULES["punctuation"][0], "--tokenise simple"),
    "hyphens": LIST_RULES["hyphens"],
    "numbers": (RULES["numbers"][0], "--numbers"),
    "apostrophes": (  # as word processors and spreadsheets make them
        lambda word: [word.replace("\u2019", "'")],
        "--map FILE with `*\u2019s TAB *'s` and so on",
    ),
    "curly contractions": (  # no rule of --map reads what another one makes
        lambda word: [_parted(word.replace("\u2019", "'"))] if "\u2019" in word else [],
        "--map FILE with `*n\u2019t TAB * n't`, `*\u2019s TAB * 's` and so on",
    ),
    "contractions": LIST_RULES["contractions"],
}
MAPS = " and so on --map FILE with "  # between two pieces of advice that are one file
ONE_OF = ("apostrophes", "curly contractions")  # a file takes one rule for `*\u2019s`
WITHOUT_SIGNS = TEXT_RULES | {"punctuation": LIST_RULES["punctuation"]}
SIGNS = ".,?!;:\u0589\u060c\u061f\u0964\u1362\u3002"
N_LOOKED_AT = 3000  # unknown words whose other spellings are tried, in a tenth of a second
N_TRIED = 5000  # words of a vocabulary on which an option is tried, evenly spread
# Shares of a vocabulary that a rule may change: labels, and what tokenisers leave on words (5 % of
# IMDb's types, but a third of those of raw text).
SELDOM, SELDOM_CUT = 0.001, 0.1
MANY = 0.25  # of the unknown tokens
MOST = 0.5  # of them; then one word is enough
SURE = {"Unicode form", "apostrophes", "hyphens", "unseen characters", "encoding"}
# Another character for the same letter is never chance.
SURE |= {"look-alike letters", "characters of a letter", "ligatures and wide letters"}


@dataclass(frozen=True)
class Remedy(JsonResult):
    """What a rule would achieve.

    `examples` are pairs (unknown, known), the most frequent first; of a sign that a rule leaves
    out, such as a full stop, "" is known.
    """

    rule: str
    advice: str
    n_tokens: int
    n_types: int
    share: float  # of all unknown tokens
    examples: tuple[tuple[str, str], ...]
    derived = ("is_advised",)

    @property
    def is_advised(self) -> bool:
        """Whether the texts differ systematically, and not by a word here and there.

        Rules for compounds are never advised: whether a hyphen separates words depends on the
        language.
        """
        if self.n_types < ENOUGH_TYPES or not self.advice:
            return False
        return self.rule in SURE or self.share >= ENOUGH


def explained(
    unknown: Iterable[tuple[str, int]],
    is_known: Callable[[str], bool],
    *,
    rules: Rules,
    n_unknown: int,
) -> tuple[list[Remedy], list[tuple[str, int]]]:
    """What rules would do for unknown words, the most helpful first, and the words left.

    `unknown` are words with their counts, the most frequent first, perhaps not all of them;
    `n_unknown` is the number of all unknown tokens.
    """
    found: dict[str, list[tuple[str, str, int]]] = {}
    unexplained = []
    for word, n in unknown:
        remedy = _remedy(form_of(word), is_known, rules)
        if remedy is None:
            unexplained.append((word, n))
        else:
            found.setdefault(remedy[0], []).append((word, remedy[1], n))
    remedies = []
    for rule, cases in found.items():
        n_tokens = sum(n for _, _, n in cases)
        advice = [rules[name][1] for name in rule.split(" + ")]
        remedies.append(
            Remedy(
                rule=rule,
                advice="; ".join(advice) if all(advice) else "",
                n_tokens=n_tokens,
                n_types=len(cases),
                share=share(n_tokens, n_unknown),
                examples=tuple((word, to) for word, to, _ in cases[:3]),
            )
        )
    return sorted(remedies, key=lambda each: -each.n_tokens), unexplained


def options_advised(unknown: Counter[str], vocabulary: Collection[str]) -> str:
    """Which options would make how many of the unknown words known; "" if hardly any would.

    No option is advised that would change the vocabulary's own words: a model that has words in
    capitals lacks a name for another reason.
    """
    counts = Counter({word: n for word, n in unknown.items() if not is_literal_unk(word)})
    rules = TEXT_RULES if any(sign in vocabulary for sign in SIGNS) else WITHOUT_SIGNS
    while found := _helpful(counts, vocabulary, rules):
        names = _names(found)
        suiting = [n for n in names if _leaves(vocabulary, rules[n][0], name=n)]
        if all(name in suiting for name in ONE_OF):
            suiting.remove(_rarer(found))
        if suiting == names:
            break
        rules = {name: rules[name] for name in suiting}
    if not found:
        return ""
    part = f"{share(sum(each.n_tokens for each in found), counts.total()):.0%}"
    if len(counts) > N_LOOKED_AT:
        part = f"at least {part}"
    options = " ".join(rules[name][1] for name in names).replace(MAPS, ", ")
    examples = ", ".join(visible(f"{a:.60} > {b[:60] or 'nothing'}") for a, b in _examples(found))
    lost = [visible(word) for name in names for word in _lost(vocabulary, rules[name][0])]
    price = f"; known words, as {', '.join(lost[:3])}, would be lost" if lost else ""
    return f"{part} of the unknown words would be known by {options}: {examples}{price}"


def _helpful(unknown: Counter[str], vocabulary: Collection[str], rules: Rules) -> list[Remedy]:
    """What would make many words known; nothing if it would be few in all, which may be chance."""
    found, _ = explained(
        unknown.most_common(N_LOOKED_AT),
        lambda word: not word or word in vocabulary,
        rules=rules,
        n_unknown=unknown.total(),
    )
    useful = [each for each in found if each.share >= ENOUGH]
    part, n_types = (sum(each.share for each in useful), sum(each.n_types for each in useful))
    return useful if part >= MOST or (part >= MANY and n_types >= ENOUGH_TYPES) else []


def _rarer(remedies: Collection[Remedy]) -> str:
    """Which of the rules that exclude each other helps fewer words."""
    return min(ONE_OF, key=lambda rule: sum(r.n_tokens for r in remedies if rule in r.rule))


def _names(remedies: Iterable[Remedy]) -> list[str]:
    """The rules of remedies, in the order in which options are shown."""
    names = {name for each in remedies for name in each.rule.split(" + ")}
    return [name for name in TEXT_RULES if name in names]


def _leaves(vocabulary: Collection[str], rule: Rule, *, name: str) -> bool:
    """Whether a rule changes hardly any of a vocabulary's words; N stands for numbers."""
    words = _sample(vocabulary)
    n_changed = sum(any(new != word for new in rule(word)) for word in words)
    return n_changed <= (SELDOM_CUT if name == "punctuation" else SELDOM) * len(words)


def _lost(vocabulary: Collection[str], rule: Rule) -> list[str]:
    """Some words of a vocabulary of which a rule makes nothing, or words outside it."""
    return [
        word
        for word in _sample(vocabulary)
        if any(not all(map(vocabulary.__contains__, new.split(" "))) for new in rule(word))
    ]


def _sample(vocabulary: Collection[str]) -> list[str]:
    return [*filter(NUMBER_TOKEN.__ne__, vocabulary)][:: max(1, len(vocabulary) // N_TRIED)]


def _examples(remedies: Sequence[Remedy]) -> list[tuple[str, str]]:
    """Each remedy's most frequent word, or several of a single one."""
    return [each.examples[0] for each in remedies[:3]] if remedies[1:] else [*remedies[0].examples]


def _remedy(word: str, is_known: Callable[[str], bool], rules: Rules) -> tuple[str, str] | None:
    def knows(candidate: str) -> bool:
        return candidate != word and all(map(is_known, candidate.split(" ")))

    changed = {name: [c for c in rule(word) if c != word] for name, (rule, _) in rules.items()}
    for name, candidates in changed.items():
        for candidate in filter(knows, candidates):
            return name, candidate
    for first, second in combinations(rules, 2):
        for half in changed[first]:
            for candidate in filter(knows, rules[second][0](half)):
                return f"{first} + {second}", candidate
    return None
