"""Signs that a text was not prepared for a model of words: markup, punctuation left on words, no
tokenisation, test sentences that stand in the training text.

A sign is only what no orthography does often: some end words in a colon or an exclamation mark.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from charlm.text.corpus.normalisation.oddities import ASK_WINDOWS, BLANK
from charlm.text.corpus.tokens import visible
from charlm.text.io.lines import is_utf8

FIELD_MARKER = re.compile(r"\\[a-z]*\d?")  # as Toolbox and USFM have them; bare where split off
# A tag that closes another or itself, <br />; an opening one may be a noise, <laugh>.
CLOSING_TAG = re.compile(r"</[^\W\d_][\w.:-]*>|/>")
CUT_TAG = re.compile(rf"{CLOSING_TAG.pattern}|\A<\Z")
# Moses' escapes and HTML's; and what is left of the frequent ones where `&` and `;` are split off.
ENTITY = re.compile(r"&(?:apos|quot|amp|lt|gt|#x?[\da-fA-F]+);|\A(?:apos|quot|amp)\Z")
TEXT_LINES = "\\tx"
END_MARKS = ",;?\u060c\u061b\u061f\u0964"
CLOSERS = "\"'\u201d\u2019)]"
# More Chinese characters and kana, or letters of Thai, Lao, Tibetan, Burmese and Khmer, than a word
# has. A long word of katakana alone is one, from another language.
KATAKANA = "\u30a0-\u30ff\uff66-\uff9f"
JAPANESE = f"{KATAKANA}\u3041-\u309f\u3400-\u9fff"
UNCUT = re.compile(  # only where a run begins: a long one of katakana would be read again and again
    f"(?<![{JAPANESE}])(?=[{KATAKANA}]*[\u3041-\u309f\u3400-\u9fff])[{JAPANESE}]{{12}}"
    "|[\u0e00-\u109f\u1780-\u17ff]{24}"
)
HAN, SHORT_UNCUT = re.compile(r"\W*([\u3400-\u9fff]+)\W*"), re.compile("[\u3400-\u9fff]{4}")
MUCH_HAN, LONG_HAN = 0.2, 4  # share of all words that are Chinese; their characters, on average
# sed would cut bytes where the locale is C, and marks off their letters where it is not.
CUT_INTO_CHARACTERS = r"perl -CSD -lpe 's/\X/$& /g' FILE"
LEAST_SHARE = 0.01  # of all words
LEAST_REPEATED = 0.05  # of a split's words; 0.01 of the Penn Treebank's
N_EXAMPLES = 3


def uncut_of(counts: Mapping[str, int]) -> re.Pattern[str]:
    """What finds whole phrases among words with their counts.

    A word of Chinese has 1.6 characters on average: where they have many, short ones are phrases.
    """
    han = [(len(match[1]), n) for word, n in counts.items() if (match := HAN.fullmatch(word))]
    n_han, n_words = sum(n for _, n in han), sum(counts.values())
    is_much = n_han > MUCH_HAN * n_words
    is_long = sum(m * n for m, n in han) >= LONG_HAN * n_han
    return SHORT_UNCUT if is_much and is_long else UNCUT


def signs_of_raw_text(types: Iterable[tuple[str, int]]) -> list[str]:
    """Advice on preparing a text, in sentences; `types` are words with their counts.

    The first words of a kind are its examples.
    """
    listed = list(types)
    counts = dict(listed)
    n_words = sum(counts.values()) or 1
    # Where tags were cut into signs, / is one of these; <num>, <3 and a < b have none.
    has_cut_tags = 3 * counts.get("/", 0) >= counts.get("<", 0)
    found = []
    for has_sign, advice in (
        (FIELD_MARKER.fullmatch, _on_markers),
        ((CUT_TAG if has_cut_tags else CLOSING_TAG).search, _on_tags),
        (ENTITY.search, _on_entities),
        (BLANK.search, _on_blanks),
        (_ends_in_mark, _on_marks),
        (uncut_of(counts).search, _on_uncut),
    ):
        matching = [(word, count) for word, count in listed if has_sign(word)]
        share = sum(count for _, count in matching) / n_words
        if share >= LEAST_SHARE:
            found.append(advice(f"{share:.0%} of the words", [word for word, _ in matching]))
    return found


def signs_of_repetition(shares: Mapping[str, float]) -> list[str]:
    """A warning about splits; `shares` of their words stand in lines that train.txt has, too."""
    return [
        f"{share:.0%} of the words of {split}.txt stand in lines that train.txt has, too: its "
        "perplexity tells in part what was learnt by heart; take another text, or cut all three "
        "from one with --dedup"
        for split, share in shares.items()
        if share >= LEAST_REPEATED
    ]


def signs_of_windows(n_c1: int, *, encoding: str) -> list[str]:
    """Whether characters that were taken out are letters and quotes of a Windows code page."""
    if not n_c1 or is_utf8(encoding):
        return []
    return [
        f"{n_c1} characters that were taken out, or their lines, are bytes 0x80 to 0x9f, which "
        f"{encoding} has no letters for; {ASK_WINDOWS}"
    ]


def signs_of_dotless_i(types: Counter[str]) -> list[str]:
    """Whether a text that was lower-cased as if it were English looks like Turkish."""
    share = sum(count for word, count in types.items() if "\u0131" in word) / (types.total() or 1)
    if share < LEAST_SHARE:
        return []
    return [
        f"{share:.0%} of the words have \u0131, as in Turkish, whose I became i, another letter: "
        "--dotless-i makes \u0131 of it, and i of \u0130"
    ]


def _on_entities(share: str, words: list[str]) -> str:
    return (
        f"{share} are written with entities, as Moses' tokeniser escapes signs "
        f"({', '.join(words[:N_EXAMPLES])}), or are what --tokenise simple left of them; decode "
        "the text first: python -c 'import html, sys; print(html.unescape(sys.stdin.read()), "
        "end=str())' <FILE"
    )


def _ends_in_mark(word: str) -> bool:
    if ENTITY.search(word):
        return False
    marked = word.rstrip(CLOSERS)
    bare = marked.rstrip(END_MARKS)
    # A vowel sign of Hindi or Arabic is no letter (\w), yet ends words.
    return len(bare) < len(marked) and unicodedata.category(bare[-1:] or " ")[0] in "LMN"


def _on_tags(share: str, words: list[str]) -> str:
    return (
        f"{share} hold tags ({words[0]:.30}), as of XML or HTML: the text is marked up; take the "
        "lines of text from it first"
    )


def _on_markers(share: str, markers: list[str]) -> str:
    how = (
        r"sed -n 's/^\\tx *//p' FILE takes its lines of text"
        if TEXT_LINES in markers
        else "take the lines of text from it first"
    )
    named = " ".join(markers[:N_EXAMPLES])
    return f"{share} are field markers ({named}), as of Toolbox: the text is marked up; {how}"


def _on_blanks(share: str, words: list[str]) -> str:
    return (
        f"{share} hold a no-break or wide blank ({visible(f'{words[0]:.30}')}), and space and TAB "
        "alone separate words: `charlm prep --tokenise simple` separates at every blank"
    )


def _on_marks(share: str, words: list[str]) -> str:
    return (
        f"{share} end in a mark ({' '.join(words[:N_EXAMPLES])}) and are others than without it; "
        "`charlm prep --tokenise simple` sets marks apart"
    )


def _on_uncut(share: str, words: list[str]) -> str:
    return (
        f"{share} are whole phrases ({words[0]:.12}\u2026), written without blanks, and words are "
        "what stands between blanks: cut them with a tool of the language (jieba, MeCab, "
        f"PyThaiNLP), or into characters with their marks, {CUT_INTO_CHARACTERS}"
    )
