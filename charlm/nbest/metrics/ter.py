"""TER of a corpus (Snover et al., 2006): edits per word of the reference, by sacrebleu.

A shift of several words is one edit. The search for shifts takes some milliseconds a hypothesis.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import sacrebleu
from sacrebleu.metrics.ter import TER

from charlm.nbest.metrics.error_rates import Ints, Metric, Pair
from charlm.nbest.ranking.features import Floats


class TranslationEditRate(Metric):
    """TER, from edits and the length of the reference, or the sum of those of several ones."""

    name = "ter"

    def __init__(self) -> None:
        super().__init__()
        self._ter = TER()

    @property
    def signature(self) -> str:
        """The signature as sacrebleu prints it."""
        version = sacrebleu.__version__
        told = f"case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:{version}"
        return f"ter|nrefs:{self.n_references}|{told}"

    def count(self, pairs: Sequence[Pair]) -> Iterable[tuple[int, ...]]:
        """Edits to the nearest reference, and words of all references together."""
        for *references, hypothesis in pairs:
            found = self._ter.sentence_score(hypothesis, references)
            yield found.num_edits, round(found.ref_length * len(references))

    def errors(self, sums_NK: Ints) -> Floats:
        """Edits divided by the mean number of words; 1 where there are edits and no words."""
        edits_N, words_N = sums_NK.T
        rates_N: Floats = self.n_references * edits_N / np.maximum(words_N, 1)
        return np.where(words_N > 0, rates_N, np.minimum(edits_N, 1.0))

    def errors_alone(self, counts_LK: Ints) -> Ints:
        """The edits of each hypothesis."""
        return counts_LK[:, 0]
