"""A scorer that gives unknown words probabilities of their own, by their spelling.

`<unk>` stands for every word outside the vocabulary at once. So a hypothesis with a wrong, odd word
gets the same score as one with a rare, right word. The speller tells them apart.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from charlm.nbest.scorer import Scorer, WordLogProbs, Words

if TYPE_CHECKING:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary


class OpenScorer:
    """P(<unk> | words before) · P(spelling | <unk>) for unknown words.

    A literal `<unk>` has no spelling and keeps P(<unk>), as does `<unk>:<unk>`.
    """

    def __init__(self, scorer: Scorer, vocabulary: "OpenVocabulary") -> None:
        self.scorer = scorer
        self.vocabulary = vocabulary
        self.name = scorer.name

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The scorer's scores, with unknown words spelled.

        Raises:
            ConfigError: the scorer does not know a word of the speller's vocabulary, or a sentence
                spells one as `<unk>`.
        """
        results = []
        for words, score in zip(
            sentences, self.scorer.score(sentences, memory=memory), strict=True
        ):
            added = self.vocabulary.spelled(words, score.known, name=self.name)
            # A new array, since a scorer of the caller's may keep its own.
            results.append(score._replace(log_probs=score.log_probs + np.append(added, 0.0)))
        return results

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return self.scorer.remember(sentence, memory=memory)
