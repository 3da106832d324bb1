"""How sure a difference of two perplexities is: paired bootstrap over sentences.

Sentences are drawn with replacement, as many as the text has, and all systems are measured on the
same draws, so that draws which are hard for every system do not blur their difference. Sentences
are drawn and not tokens, even where only some tokens are measured, since the tokens of a sentence
depend on each other.
"""

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from charlm.nbest.features import Floats
from charlm.nbest.metrics.resampling import drawn_sums, interval

LEAST = -1e300  # for −inf, of which none in a draw would be 0 · −inf, no number


@dataclass(frozen=True)
class Difference:
    """A difference of two perplexities, and the interval that holds it in 95 % of the draws.

    All None if a perplexity overflows, or a draw has no token.
    """

    ppl: float | None  # first minus second: below 0 where the first is better
    low: float | None
    high: float | None
    first_better: float  # share of the draws

    def to_dict(self) -> dict[str, float | None]:
        return asdict(self)


class PairedBootstrap:
    """Perplexities of K systems on a text, and on draws of its sentences."""

    def __init__(
        self, log10_sums_KS: Floats, n_tokens_S: npt.NDArray[np.int64], *, samples: int, seed: int
    ) -> None:
        """`log10_sums_KS` are log10 probabilities of the sentences under each system."""
        values_SC = np.vstack([np.maximum(log10_sums_KS, LEAST), n_tokens_S]).T
        self._ppls_K = _perplexities(values_SC.sum(axis=0, keepdims=True))[0]
        self._ppls_BK = _perplexities(drawn_sums(values_SC, samples=samples, seed=seed))

    def difference(self, first: int, second: int) -> Difference:
        """Of two systems by their index."""
        with np.errstate(invalid="ignore"):  # infinity less infinity
            ppl = self._ppls_K[first] - self._ppls_K[second]
            drawn_B = self._ppls_BK[:, first] - self._ppls_BK[:, second]
        first_better = float((self._ppls_BK[:, first] < self._ppls_BK[:, second]).mean())
        if not (np.isfinite(ppl) and np.isfinite(drawn_B).all()):
            return Difference(None, None, None, first_better)
        return Difference(float(ppl), *interval(drawn_B), first_better)


def _perplexities(sums_BC: Floats) -> Floats:
    """From sums of log10 probabilities, the number of tokens in the last column."""
    with np.errstate(over="ignore", invalid="ignore"):  # nothing of a part was drawn
        ppls_BK: Floats = 10.0 ** (-sums_BC[:, :-1] / sums_BC[:, -1:])
    return ppls_BK
