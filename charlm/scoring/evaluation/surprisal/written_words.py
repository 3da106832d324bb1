"""Which tokens each written word became under a run's text rules.

Rules apply to a line and may cut a word into several tokens ("missing." becomes two) or remove it.
They nearly always treat a word in a line as they treat the word alone. Where they do not, the rules
are applied to longer and longer prefixes of the line, and their tokens show where each word ends;
a long line is cut before, where that leaves its tokens as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.tokens import START_WORD, without_marks
from charlm.text.io.lines import split_words

MOST_REMEMBERED = 1 << 16  # words
LONG = 64  # words; of a longer line not every prefix is looked at
MOST_CUTS = 8  # that are tried: one within a phrase that rules replace changes the tokens
GUARD = "a"  # put around a word to keep it from the rules for line ends


@dataclass(frozen=True)
class WrittenSentence:
    """A sentence as it was written, and as a model reads it."""

    words: tuple[str, ...]  # as separated by blanks
    tokens: tuple[str, ...]
    ends: tuple[int, ...]  # for each k, the number of tokens of words 0 … k

    def spans(self) -> list[tuple[int, int]]:
        """First token and end of each word, in order; an empty span where no token was left."""
        return list(zip((0, *self.ends), self.ends, strict=False))


class WordSplitter:
    """Splits written words into tokens by the rules of one run; None: words stay as they are."""

    def __init__(self, rules: Normalisation | None) -> None:
        self.rules = rules
        self._tokens = lru_cache(MOST_REMEMBERED)(self._tokens_of)

    def __call__(self, line: str, *, where: str = "sentence") -> WrittenSentence:
        """The words of a line, and the tokens of each."""
        words = split_words(line)
        found = words if self.rules is None else split_words(self.rules(line))
        tokens = without_marks(found, where=where)
        n_before = int(bool(found) and found[0] == START_WORD)
        ends = [min(max(end - n_before, 0), len(tokens)) for end in self._ends(words, found)]
        return WrittenSentence(tuple(words), tuple(tokens), tuple(ends))

    def _ends(self, words: Sequence[str], found: list[str]) -> list[int]:
        ends, tokens = list[int](), list[str]()
        for word in words:
            tokens += self._tokens(word)
            ends.append(len(tokens))
        return ends if tokens == found else self._ends_by_beginnings(words, found)

    def _tokens_of(self, word: str) -> list[str]:
        """The tokens of a word that stands within a line."""
        if self.rules is None:
            return [word]
        return split_words(self.rules(f"{GUARD} {word} {GUARD}"))[1:-1]

    def _ends_by_beginnings(self, words: Sequence[str], found: list[str]) -> list[int]:
        """The ends; tokens that a longer prefix no longer has are none of the words within it."""
        assert self.rules is not None
        middle = len(words) // 2
        for cut in range(middle, middle + MOST_CUTS) if len(words) > LONG else ():
            left, right = (split_words(self.rules(" ".join(w))) for w in (words[:cut], words[cut:]))
            if left + right == found:
                further = self._ends(words[cut:], right)
                return [*self._ends(words[:cut], left), *(len(left) + end for end in further)]
        ends = [len(found)] * len(words)
        for k in reversed(range(1, len(words))):
            n_before = len(split_words(self.rules(" ".join(words[:k]))))
            ends[k - 1] = min(n_before, ends[k])
        return ends
