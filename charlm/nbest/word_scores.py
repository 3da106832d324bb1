"""Scores of single words in Kaldi's manner: what `rnnlm-sentence-probs` and its scripts write.

A line is an utterance: its id, then ln P of each word and of `</s>`, not negated. What Kaldi's
`rnnlm_compute_scores.sh` gives the rescoring scripts is one number instead, the negated sum.
"""

import math
import re
from collections.abc import Iterable, Iterator

from charlm.errors import DataError
from charlm.nbest.scorer import WordLogProbs

UNFIT = re.compile(r"[\s\0]|^$")  # what Kaldi's tables cannot hold in a key
DIGITS = 9  # as many as tell fp32 numbers apart


def word_score_lines(scored: Iterable[tuple[str, WordLogProbs]]) -> Iterator[str]:
    """`utt lp1 lp2 …` of each utterance, without LF.

    Raises:
        DataError: an id that is no key of a table, or a word without a probability.
    """
    for key, scores in scored:
        numbers = (f"{_checked(value, key):.{DIGITS}g}" for value in scores.log_probs.tolist())
        yield " ".join([_checked_key(key), *numbers])


def cost_lines(scored: Iterable[tuple[str, WordLogProbs]]) -> Iterator[str]:
    """`utt cost` of each utterance: the negated ln P of its words and its end, without LF.

    Raises:
        DataError: as `word_score_lines`.
    """
    for key, scores in scored:
        total = math.fsum(_checked(value, key) for value in scores.log_probs.tolist())
        yield f"{_checked_key(key)} {0.0 - total:.{DIGITS}g}"


def _checked(log_prob: float, key: str) -> float:
    if not math.isfinite(log_prob):
        raise DataError(
            f"utterance {key[:40]!r}: a word has the log-probability {log_prob}; expected a number"
        )
    return 0.0 + log_prob  # never -0


def _checked_key(key: str) -> str:
    if UNFIT.search(key):
        raise DataError(
            f"utterance {key[:40]!r}: cannot stand in Kaldi's tables; expected an id without blanks"
        )
    return key
