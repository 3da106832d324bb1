"""The protocol of scorers: anything that gives sentences their log-probabilities.

A sentence gets one log-probability for each word and one for its end, in nats. Option classes refer
to the protocol, so NumPy is not imported here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Words = Sequence[str]


class WordLogProbs(NamedTuple):
    """A scorer's result for one sentence."""

    log_probs: "npt.NDArray[np.float64]"  # in nats, of each word and of the end, (n + 1,)
    known: "npt.NDArray[np.bool_]"  # whether each word is in the vocabulary, (n,)

    @property
    def log_prob(self) -> float:
        """The log-probability of the whole sentence, its end included."""
        return float(self.log_probs.sum())


@runtime_checkable
class Scorer(Protocol):
    """Sentences in, log-probabilities out; these depend only on the sentence and its memory."""

    @property
    def name(self) -> str:
        """Its name in outputs."""

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The scores of each sentence, from the initial state or after `memory`."""

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """The memory after this sentence, which followed `memory`; None remembers nothing."""
