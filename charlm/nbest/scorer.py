"""What gives sentences their log-probabilities: a model, a mixture, or a user's own function.

The tools for lists know a scorer by this protocol alone. Nats, and one number more than words: the
last is that of the sentence's end.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from charlm.arguments import checked_call
from charlm.errors import DataError

LogProbs = npt.NDArray[np.float64]
Words = Sequence[str]


class WordLogProbs(NamedTuple):
    """What a scorer makes of one sentence."""

    log_probs: LogProbs  # in nats, of each word and of the end, (n + 1,)
    known: npt.NDArray[np.bool_]  # whether each word is in the vocabulary, (n,)

    @property
    def log_prob(self) -> float:
        """Of the whole sentence, its end included."""
        return float(self.log_probs.sum())


@runtime_checkable
class Scorer(Protocol):
    """Sentences in, log-probabilities out; a sentence's depend on it and on its memory alone."""

    @property
    def name(self) -> str:
        """What outputs call it."""

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The scores of each sentence, from a start of its own, or as what follows `memory`."""

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """The memory of what was said before, this sentence the last; None keeps nothing."""


class FunctionScorer:
    """A user's own function: sentences to a list of their words' log-probabilities, in nats.

    Its lists have one number more than the sentence has words, or the DataError says which has not.
    """

    @checked_call
    def __init__(
        self, function: Callable[[Sequence[Words]], Sequence[Sequence[float]]], *, name: str = "own"
    ) -> None:
        self.function = function
        self.name = name

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """What the function gives; it hears of no memory.

        Raises:
            DataError: a sentence without its numbers.
        """
        answers = self.function(sentences)
        if not isinstance(answers, Sequence | np.ndarray) or isinstance(answers, str):
            raise DataError(
                f"scorer {self.name!r}: its function gives {type(answers).__name__}; expected a "
                "list of lists, the log-probabilities of each sentence's words and of its end"
            )
        if len(answers) != len(sentences):
            raise DataError(
                f"scorer {self.name!r}: {len(answers)} answers to {len(sentences)} sentences; "
                "expected one each"
            )
        results = []
        for words, answer in zip(sentences, answers, strict=True):
            log_probs = _numbers(answer)
            if log_probs.shape != (len(words) + 1,) or np.isnan(log_probs).any():
                raise DataError(
                    f"scorer {self.name!r}: {answer!r:.60} for a sentence of "
                    f"{len(words)} words; expected {len(words) + 1} numbers, the last of its end"
                )
            results.append(WordLogProbs(log_probs, np.ones(len(words), np.bool_)))
        return results

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """Nothing."""
        return None


def _numbers(answer: object) -> LogProbs:
    """What a function gave, as numbers; NaN where it gave none."""
    try:
        return np.array(answer, np.float64)
    except (TypeError, ValueError):
        return np.array([np.nan])
