"""A guard for mixtures: an n-gram model must call unknown what the first model calls unknown.

A model that says `<unk>` where another predicts a word has an easier task, not a better
probability, and word by word its share of the mixture would grow for it.
"""

from collections.abc import Sequence

from charlm.errors import ConfigError
from charlm.nbest.scorer import Scorer, WordLogProbs, Words
from charlm.scoring.rescoring.hypothesis_text import Known
from charlm.text.corpus.tokens import UNK_WORD


class SameWords:
    """A scorer whose vocabulary is compared with another's on every word that it scores."""

    def __init__(self, scorer: Scorer, is_known: Known, *, other: str) -> None:
        """`other` is the name of the model that knows the words which `is_known`."""
        self.scorer = scorer
        self.is_known = is_known
        self.name = scorer.name
        self._other = other

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The scorer's.

        Raises:
            ConfigError: a word that one of the two knows, and the other does not.
        """
        scores = self.scorer.score(sentences, memory=memory)
        for words, score in zip(sentences, scores, strict=True):
            for word, known in zip(words, score.known.tolist(), strict=True):
                if known != (word != UNK_WORD and self.is_known(word)):
                    knows, lacks = (self.name, self._other) if known else (self._other, self.name)
                    raise ConfigError(
                        f"--mix: {knows} knows {word!r:.60} and {lacks} does not; expected the "
                        "same words of both; estimate an n-gram model with --vocab RUN, or "
                        "weigh them as features, without --mix"
                    )
        return scores

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """What the scorer remembers."""
        return self.scorer.remember(sentence, memory=memory)
