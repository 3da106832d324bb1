"""Where each system wins: perplexity by how often the predicted word occurs in the training text.

`</s>` and `<unk>` are bands of their own, because either would dominate the band it was put into.
The perplexities of the bands do not average to that of the text; their log-probabilities do,
weighted by share.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from charlm.ngram.backoff import Log10s
from charlm.ngram.word_ids import END, UNK, Ids
from charlm.text.corpus.tokens import END_WORD, UNK_WORD

END_BAND, UNK_BAND, UNSEEN_BAND = 0, 1, 2  # then one band for each number of digits of the count


@dataclass(frozen=True)
class Band:
    """Tokens of a text whose words are about equally frequent in the training text."""

    name: str
    n_tokens: int
    share: float  # of all tokens
    ppls: tuple[float | None, ...]  # of each system; None: infinite, or too large for a float

    @property
    def best(self) -> float | None:
        """The lowest perplexity."""
        return min((ppl for ppl in self.ppls if ppl is not None), default=None)


def frequency_bands(
    word_ids_N: Ids, *, train_counts_V: npt.NDArray[np.int64], log10_probs_KN: Log10s
) -> tuple[Band, ...]:
    """The bands that occur in a text, given as n-gram word ids, under K systems."""
    bands_N = band_numbers(word_ids_N, train_counts_V=train_counts_V)
    return banded(bands_N, band_name, log10_probs_KN=log10_probs_KN)


def band_numbers(
    word_ids_N: Ids, *, train_counts_V: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The number of each token's band; bands are shown in the order of their numbers."""
    limits = 10 ** np.arange(19)  # 1, 10, 100, … as far as a count can go
    bands_V = UNSEEN_BAND + np.searchsorted(limits, train_counts_V, side="right")
    bands_V[END], bands_V[UNK] = END_BAND, UNK_BAND
    return bands_V.astype(np.int64)[word_ids_N]


def band_name(band: int) -> str:
    """The name of a band in tables."""
    names = {END_BAND: END_WORD, UNK_BAND: UNK_WORD, UNSEEN_BAND: "0"}
    least = 10 ** max(0, band - UNSEEN_BAND - 1)
    return names.get(band) or f"{least}-{10 * least - 1}"


def banded(
    bands_N: npt.NDArray[np.integer], name: Callable[[int], str], *, log10_probs_KN: Log10s
) -> tuple[Band, ...]:
    """Perplexities of K systems over the tokens of each band that occurs; `name` names a band."""
    results = []
    for band in np.unique(bands_N).tolist():
        inside = bands_N == band
        n_tokens = int(inside.sum())
        with np.errstate(over="ignore"):
            ppls = 10.0 ** -log10_probs_KN[:, inside].mean(axis=1)
        shown = tuple(float(ppl) if np.isfinite(ppl) else None for ppl in ppls)
        results.append(Band(name(band), n_tokens, n_tokens / len(bands_N), shown))
    return tuple(results)
