"""What gives sentences their log-probabilities, as the tools for lists know it: by this protocol.

Nats, and one number more than words: the last is that of the sentence's end. Options name the
protocol, so that NumPy is not imported here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Words = Sequence[str]


class WordLogProbs(NamedTuple):
    """What a scorer makes of one sentence."""

    log_probs: "npt.NDArray[np.float64]"  # in nats, of each word and of the end, (n + 1,)
    known: "npt.NDArray[np.bool_]"  # whether each word is in the vocabulary, (n,)

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
