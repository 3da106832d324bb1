"""Hypotheses as a model reads them: normalised copies without noise, and counts of the changes.

The list keeps its own words. To a model trained on lower-case text, a recogniser's capitals would
make every word unknown. So the run's rules are applied, and the counts tell how far the texts were
apart. Noise labels such as `[laugh]` occur in lists but not in a model's text; they are left out
unless the model knows them, in its own case and Unicode form.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from charlm.nbest.hypotheses import in_pieces
from charlm.text.corpus.normalisation.labels import labels_read
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.normalisation.spelling_rules import LIST_RULES, Remedy, explained
from charlm.text.corpus.tokens import N_SHOWN, FrequentWords, share
from charlm.text.io.lines import split_words

N_LOOKED_AT = 1000  # unknown words whose other spellings are tried

Known = Callable[[str], bool]  # whether a model's vocabulary has a word


@dataclass
class TextCounts:
    """Tokens read so far, and the changes made to them."""

    n_hypotheses: int = 0
    n_words: int = 0  # in the hypotheses as the lists have them
    n_read: int = 0  # in their normalised copies
    n_noise: int = 0  # noise labels left out of the copies
    n_changed: int = 0  # other words of the lists that the copies lack
    by_rule: Counter[str] = field(default_factory=Counter)  # of these: hyphens, punctuation, map
    n_unknown: int = 0
    unknown: FrequentWords = field(default_factory=FrequentWords)

    @property
    def share_unknown(self) -> float:
        """The share of the words read that the model does not know."""
        return share(self.n_unknown, self.n_read)

    def remedies(self, is_known: Known) -> tuple[Remedy, ...]:
        """The options that would make many of the most frequent unknown words known."""
        found, _ = explained(
            self.unknown.most_common(N_LOOKED_AT),
            lambda word: not word or is_known(word),  # punctuation goes, and is unknown no longer
            rules=LIST_RULES,
            n_unknown=self.n_unknown,
        )
        return tuple(each for each in found if each.is_advised)

    def to_dict(self) -> dict[str, object]:
        return {
            "n_hypotheses": self.n_hypotheses,
            "n_words": self.n_words,
            "n_read": self.n_read,
            "n_noise": self.n_noise,
            "n_changed": self.n_changed,
            "changed_by_rule": dict(self.by_rule),
            "n_unknown": self.n_unknown,
            "most_frequent_unknown": dict(self.unknown.most_common(N_SHOWN)),
        }


class HypothesisText:
    """Normalises hypotheses and counts changes; without rules the hypotheses stay as they are."""

    def __init__(
        self,
        normalisation: Normalisation | None,
        *,
        is_known: Known | None = None,
        reads_pieces: bool = False,
    ) -> None:
        """`is_known`: noise labels are left out unless they are known; None: all labels stay.

        `reads_pieces`: of words that were joined of pieces, these are read.
        """
        self.normalisation = normalisation
        self.counts = TextCounts()
        self._is_known = is_known
        self._reads_pieces = reads_pieces

    def read(self, words: tuple[str, ...]) -> list[str]:
        """The words of the normalised copy."""
        is_known, rules = self._is_known, self.normalisation
        words = in_pieces(words) if self._reads_pieces else words
        own = list(words) if is_known is None else labels_read(words, is_known, rules=rules)
        counts = self.counts
        copy = own if rules is None else split_words(rules(" ".join(own), changed=counts.by_rule))
        counts.n_hypotheses += 1
        counts.n_words += len(words)
        counts.n_noise += len(words) - len(own)
        counts.n_read += len(copy)
        if copy != own:
            counts.n_changed += (Counter(own) - Counter(copy)).total()
        return copy

    def count_unknown(self, words: Sequence[str], known: Sequence[bool]) -> list[str]:
        """The unknown words of a copy, counted."""
        unknown = [word for word, is_known in zip(words, known, strict=True) if not is_known]
        self.counts.n_unknown += len(unknown)
        return unknown
