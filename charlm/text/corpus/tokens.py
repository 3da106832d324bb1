"""The three tokens that charlm gives a meaning (`<unk>`, `<s>`, `</s>`), and `<unk>:form`.

`<s>` and `</s>` at the ends of a line are taken off: charlm adds its own.
"""

import re
from collections import Counter
from collections.abc import Iterable

from charlm.errors import DataError

END_WORD, UNK_WORD = "</s>", "<unk>"
CAPITAL_UNK = "<UNK>"  # Kaldi's `<unk>`, and for KenLM; in a text it is a word like any other
START_WORD = "<s>"  # no word of a model's: nothing predicts it
END, UNK = 0, 1  # word ids
MARKS = frozenset((UNK_WORD, START_WORD, END_WORD))
NON_JOINER = re.compile("(?<=[\u0620-\u06ff])\u200c(?=[\u0620-\u06ff])")  # one sees it
N_SHOWN = 10  # of the most frequent words
MOST_COUNTED = 1 << 20  # different words; beyond it the rarest are forgotten


class FrequentWords(Counter[str]):
    """Counts of words; of endlessly many the frequent ones are remembered."""

    def add(self, words: Iterable[str]) -> None:
        """Count some words."""
        self.update(words)
        if len(self) > MOST_COUNTED:
            kept = dict(self.most_common(MOST_COUNTED // 2))
            self.clear()
            self.update(kept)


def is_mark(token: str) -> bool:
    """Whether a token is `<unk>`, `<unk>:form`, `<s>` or `</s>`: text rules leave it one token."""
    return token in MARKS or token.startswith(f"{UNK_WORD}:")


def without_marks(words: list[str], *, where: str) -> list[str]:
    """`words` less `<s>` and `</s>` at the ends.

    Raises:
        DataError: one of them within the sentence.
    """
    if words and words[0] == START_WORD:
        words = words[1:]
    if words and words[-1] == END_WORD:
        words = words[:-1]
    for mark in (START_WORD, END_WORD):
        if mark in words:
            raise DataError(f"{where}: found {mark} within a line; expected one sentence a line")
    return words


def form_of(token: str) -> str:
    """The form by which a model reads a token: the token itself, or `form` of `<unk>:form`."""
    return token.removeprefix(f"{UNK_WORD}:") if is_spelled_unk(token) else token


def is_spelled_unk(token: str) -> bool:
    """Whether a token is `<unk>:form`: the word `<unk>` with that spelling at the input."""
    return token.startswith(f"{UNK_WORD}:") and len(token) > len(UNK_WORD) + 1


def is_literal_unk(token: str) -> bool:
    """Whether a token of a text is written `<unk>`, with or without a spelling."""
    return token.startswith(UNK_WORD) and (token == UNK_WORD or is_spelled_unk(token))


def share(part: int, whole: int) -> float:
    """`part` of `whole`; 0 of nothing."""
    return part / whole if whole else 0.0


def shown_counts(words: Counter[str]) -> str:
    """The most frequent words with their counts, in a line."""
    most = words.most_common(N_SHOWN)
    return ", ".join(f"{visible(f'{word:.60}')} ({count})" for word, count in most)


def visible(word: str) -> str:
    """A word with its invisible characters spelled out, but for what parts Persian's letters."""
    return "\u200c".join(
        "".join(c if c.isprintable() else f"<{ord(c):04X}>" for c in part)
        for part in NON_JOINER.split(word)
    )
