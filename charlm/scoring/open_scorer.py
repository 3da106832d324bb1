"""A scorer whose unknown words have a probability of their own, by their spelling.

`<unk>` stands for every word outside the vocabulary at once, so that a hypothesis with a wrong and
odd word gets what one with a rare and right word gets. The speller tells them apart.
"""

from collections.abc import Sequence

import numpy as np

from charlm.errors import ConfigError
from charlm.nbest.scorer import Scorer, SentenceScore, Words
from charlm.scoring.open_vocabulary import OpenVocabulary
from charlm.text.inventory import UNK_WORD, form_of


class OpenScorer:
    """P(<unk> | words before) · P(spelling | <unk>) where a word is unknown; a literal `<unk>` has
    no spelling and keeps P(<unk>).
    """

    def __init__(self, scorer: Scorer, vocabulary: OpenVocabulary) -> None:
        self.scorer = scorer
        self.vocabulary = vocabulary
        self.name = scorer.name

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[SentenceScore]:
        """The scorer's, with spelled unknown words.

        Raises:
            ConfigError: the scorer does not know a word of the speller's vocabulary.
        """
        scores = self.scorer.score(sentences, memory=memory)
        for words, score in zip(sentences, scores, strict=True):
            places = [
                place for place in np.flatnonzero(~score.known).tolist() if words[place] != UNK_WORD
            ]
            if places:
                spellings = [form_of(words[place]) for place in places]
                self._require_unknown(spellings)
                score.log_probs[places] += self.vocabulary.log_probs(spellings)
        return scores

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """What the scorer remembers."""
        return self.scorer.remember(sentence, memory=memory)

    def _require_unknown(self, spellings: Sequence[str]) -> None:
        known = self.vocabulary.inventory.word_ids
        for spelling in spellings:
            if spelling in known:
                raise ConfigError(
                    f"{self.name}: does not know {spelling!r}, a word of the run's vocabulary; "
                    "--open-vocabulary expects the same words of all models; estimate it with "
                    "--vocab RUN"
                )
