"""How certain a difference of two perplexities is: a paired bootstrap over sentences, or blocks.

Sentences are drawn with replacement, as many as the text has, and all systems are measured on the
same draws. So a draw that is hard for every system does not blur the difference between them. The
tokens of a sentence depend on each other, so sentences are drawn and not tokens, even where only
some of the tokens are measured. The sentences of an article depend on each other as well: blocks
of them may be drawn.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from charlm.nbest.metrics.resampling import drawn_sums, interval
from charlm.nbest.ranking.features import Floats

Flags = npt.NDArray[np.bool_]

LEAST = -1e300  # replaces −inf: in a draw without that sentence, 0 · −inf would be NaN
ROUNDING = 1e-9  # share by which a mixture of weight 1 and 1e-13 differs from its only model


@dataclass(frozen=True)
class Difference:
    """A difference of two perplexities, with the interval that holds it in 95 % of the draws.

    The ratio has an interval of its own: a draw that is hard for both has the larger difference.
    Its numbers are None where a perplexity is too large for a float, or a draw has no token.
    """

    ppl: float | None  # first minus second: below 0 where the first is better
    low: float | None
    high: float | None
    ratio_low: float | None  # of the first divided by the second
    ratio_high: float | None
    first_better: float  # share of the draws that have a token


class PairedBootstrap:
    """Perplexities of K systems on a text, and on draws of its sentences."""

    def __init__(
        self,
        log10_probs_KN: Floats,
        counts_N: Flags,
        *,
        is_end_N: Flags,
        samples: int,
        seed: int,
        block: int = 1,
    ) -> None:
        """Only tokens that count are measured; a sentence ends wherever `is_end_N` is true.

        `block`: how many consecutive sentences are drawn together; the last may be fewer.
        """
        starts = np.concatenate([[0], np.flatnonzero(is_end_N)[:-1] + 1])[::block]
        sums_KS = np.add.reduceat(np.where(counts_N, log10_probs_KN, 0.0), starts, axis=1)
        n_tokens_S = np.add.reduceat(counts_N, starts, dtype=np.int64)
        values_SC = np.vstack([np.maximum(sums_KS, LEAST), n_tokens_S]).T
        self._ppls_K = _perplexities(values_SC.sum(axis=0, keepdims=True))[0]
        self._ppls_BK = _perplexities(drawn_sums(values_SC, samples=samples, seed=seed))

    def difference(self, first: int, second: int) -> Difference:
        """The difference of two systems, given by index."""
        with np.errstate(invalid="ignore"):  # infinity less infinity
            ppl = self._ppls_K[first] - self._ppls_K[second]
            drawn_B = self._ppls_BK[:, first] - self._ppls_BK[:, second]
        is_better_B = self._ppls_BK[:, first] < self._ppls_BK[:, second] * (1 - ROUNDING)
        first_better = float(is_better_B[~np.isnan(self._ppls_BK[:, first])].mean())
        if not (np.isfinite(ppl) and np.isfinite(drawn_B).all()):
            return Difference(None, None, None, None, None, first_better)
        ratios_B = self._ppls_BK[:, first] / self._ppls_BK[:, second]
        return Difference(float(ppl), *interval(drawn_B), *interval(ratios_B), first_better)


def _perplexities(sums_BC: Floats) -> Floats:
    """Perplexities from sums of log10 probabilities; the last column is the number of tokens."""
    with np.errstate(over="ignore", invalid="ignore"):  # a draw without a measured token
        ppls_BK: Floats = 10.0 ** (-sums_BC[:, :-1] / sums_BC[:, -1:])
    return ppls_BK
