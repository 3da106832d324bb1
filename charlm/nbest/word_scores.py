"""Scores of single words in Kaldi's manner: what `rnnlm-sentence-probs` writes.

A line is a hypothesis: its key, then ln P of each word that the model read and of `</s>`, not
negated. What Kaldi's `rnnlm_compute_scores.sh` gives the rescoring scripts is one number instead,
the negated sum: the costs that lists of the format `kaldi` come out with.
"""

import math
import re
from collections.abc import Iterable, Iterator

from charlm.errors import ConfigError, DataError
from charlm.nbest.format import Format, Piece
from charlm.nbest.formats.templates import Template
from charlm.nbest.hypotheses import Rescored
from charlm.nbest.scorer import WordLogProbs

UNFIT = re.compile(r"[\s\0]|^$")  # what Kaldi's tables cannot hold in a key
DIGITS = 9  # as many as tell fp32 numbers apart


def write_word_scores(lists: Iterable[Rescored], form: Format) -> Iterator[Piece]:
    """`key lp1 lp2 …`, a line where each hypothesis stood; of several models by the first.

    Raises:
        ConfigError: lattices, whose words were scored in their paths.
        DataError: an id that is no key of a table, or a word without a probability.
    """
    for item in lists:
        hypotheses, original = item.nbest.hypotheses, item.nbest.original
        if not item.words:
            raise ConfigError(
                f"--write word-scores: list {item.nbest.id[:40]!r} is of a lattice; expected lists "
                "of hypotheses, or sentences; --write nbest makes lists"
            )
        slots = original.slots if isinstance(original, Template) else range(len(hypotheses))
        lines = [""] * len(hypotheses)
        for which, (slot, scores) in enumerate(zip(slots, item.words, strict=True)):
            lines[slot] = word_score_line(form.key(item.nbest, which), scores) + "\n"
        yield Piece("", "".join(lines))


def word_score_line(key: str, scores: WordLogProbs) -> str:
    """`key lp1 lp2 …`, without LF.

    Raises:
        DataError: an id that is no key of a table, or a word without a probability.
    """
    if UNFIT.search(key):
        raise DataError(
            f"utterance {key[:40]!r}: cannot stand in Kaldi's tables; expected an id without blanks"
        )
    for log_prob in scores.log_probs.tolist():
        if not math.isfinite(log_prob):
            raise DataError(
                f"utterance {key[:40]!r}: a word has the log-probability {log_prob}; expected a "
                "number"
            )
    numbers = (f"{0.0 + each:.{DIGITS}g}" for each in scores.log_probs.tolist())  # never -0
    return " ".join([key, *numbers])
