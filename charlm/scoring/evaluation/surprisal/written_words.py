"""Which tokens each written word became under a run's text rules.

Rules work on a line and may cut a word into several tokens ("missing." is two) or leave nothing of
it. Nearly always they do with each word what they do with it alone; where they do not, the tokens
of ever longer beginnings of the line tell where a word's end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.tokens import START_WORD, without_marks
from charlm.text.io.lines import split_words

MOST_REMEMBERED = 1 << 16  # words
GUARD = "a"  # stands before and behind a word, where rules for the ends of lines would strike


@dataclass(frozen=True)
class WrittenSentence:
    """A sentence as it was written, and as a model reads it."""

    words: tuple[str, ...]  # what stood between blanks
    tokens: tuple[str, ...]
    ends: tuple[int, ...]  # tokens of words 0 … k together, for each k

    def spans(self) -> list[tuple[int, int]]:
        """First token and end of each word, in order; empty where nothing was left of it."""
        return list(zip((0, *self.ends), self.ends, strict=False))


class WordSplitter:
    """Written words to tokens, by the rules of one run; None: as they stand."""

    def __init__(self, rules: Normalisation | None) -> None:
        self.rules = rules
        self._known: dict[str, list[str]] = {}

    def __call__(self, line: str, *, where: str = "sentence") -> WrittenSentence:
        """The words of a line, and the tokens of each.

        Raises:
            DataError: `<s>` or `</s>` within it.
        """
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
        return ends if tokens == found else self._ends_by_beginnings(words, n_tokens=len(found))

    def _tokens(self, word: str) -> list[str]:
        """What the rules make of a word that stands within a line."""
        if self.rules is None:
            return [word]
        if word not in self._known:
            if len(self._known) > MOST_REMEMBERED:
                self._known.clear()
            self._known[word] = split_words(self.rules(f"{GUARD} {word} {GUARD}"))[1:-1]
        return self._known[word]

    def _ends_by_beginnings(self, words: Sequence[str], *, n_tokens: int) -> list[int]:
        assert self.rules is not None
        ends = [0]
        for k in range(1, len(words)):
            n_before = len(split_words(self.rules(" ".join(words[:k]))))
            ends.append(min(max(n_before, ends[-1]), n_tokens))
        return [*ends[1:], n_tokens] if words else []
