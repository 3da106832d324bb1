"""Interpolated modified Kneser–Ney, as lmplz estimates it, without a loop over n-grams.

The highest order has the counts of the text; those below count distinct left neighbours, except
n-grams that begin with `<s>`, which have none. `<s>` itself takes no part in any sum.
Pruned n-grams still count in discounts and sums; what they would have got goes to the back-off.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.ngram.backoff import BackoffModel, Grams, Log10s
from charlm.ngram.counting import Counted, Counts, count_ngrams
from charlm.ngram.discounts import Discounts, discounts_of
from charlm.ngram.words import START, Ids

MAX_ORDER = 6
NO_PRUNING = (0,)

Probs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A Kneser–Ney model and the discounts that it was made with, by order."""

    model: BackoffModel
    discounts: tuple[Discounts, ...]

    @property
    def fallback_orders(self) -> tuple[int, ...]:
        """The orders for which the text gave no discounts."""
        return tuple(n for n, each in enumerate(self.discounts, 1) if each.are_fallback)


def estimate(
    ids: Ids, *, words: Sequence[str], order: int, prune: Sequence[int] = NO_PRUNING
) -> Estimate:
    """The Kneser–Ney model of a text, sentences between `<s>` and `</s>` in lmplz's ids.

    `prune[n - 1]` is the largest count of an n-gram that is left out; the last holds for all
    further orders. Words that do not occur, `<unk>` among them, share the unigrams' back-off.

    Raises:
        ConfigError: an order or pruning that makes no model.
    """
    thresholds = _thresholds(prune, order=order)
    counted = count_ngrams(ids, order=order, n_words=len(words))
    adjusted = _adjusted(counted)
    discounts = tuple(discounts_of(counts) for counts in adjusted)
    orders: list[_Order] = []
    for n, counts in enumerate(adjusted):
        kept = counted[n].counts > thresholds[n] if n else np.ones(len(counts), np.bool_)
        orders.append(
            _order(counted[n], counts, kept=kept, discounts=discounts[n], below=orders, words=words)
        )
    return Estimate(_model(orders, tuple(words)), discounts)


def _thresholds(prune: Sequence[int], *, order: int) -> list[int]:
    if not 1 <= order <= MAX_ORDER:
        raise ConfigError(f"--order {order}: expected 1 to {MAX_ORDER}")
    shown = ",".join(map(str, prune))
    if not prune or prune[0] != 0 or list(prune) != sorted(prune):
        raise ConfigError(
            f"--prune {shown}: expected counts that do not fall, 0 for unigrams, as 0,0,1"
        )
    if len(prune) > order:
        raise ConfigError(f"--prune {shown}: {len(prune)} counts for order {order}; expected fewer")
    return [*prune, *[prune[-1]] * (order - len(prune))]


def _adjusted(counted: list[Counted]) -> list[Counts]:
    """Counts of the text in the highest order and of left neighbours below; `<s>` has none."""
    results = []
    for n, grams in enumerate(counted):
        if n + 1 < len(counted):
            neighbours = np.bincount(counted[n + 1].suffixes, minlength=len(grams.keys))
            counts = np.where(grams.opens, grams.counts, neighbours)
        else:
            counts = grams.counts.copy()
        if n == 0:
            counts[START] = 0
        results.append(counts)
    return results


@dataclass(frozen=True)
class _Order:
    """The n-grams of one order while the next is made of them; those pruned are still in it."""

    grams: Counted
    kept: npt.NDArray[np.bool_]
    probs: Probs
    backoffs: Probs  # of contexts of this order; filled by the next


def _order(
    grams: Counted,
    counts: Counts,
    *,
    kept: npt.NDArray[np.bool_],
    discounts: Discounts,
    below: list[_Order],
    words: Sequence[str],
) -> _Order:
    """p(w | h) = (c − D(c)) / Σ c + γ(h) · p(w | h'), with 1/V as p(w | h') of unigrams."""
    n_contexts = len(below[-1].probs) if below else 1
    contexts = grams.keys // len(words)  # 0 for all unigrams
    used = np.where(kept, counts, 0)
    taken = discounts.of(used)
    sums = np.bincount(contexts, counts, minlength=n_contexts)
    # A kept n-gram gives its discount to the back-off, one that is pruned its whole count.
    freed = np.bincount(contexts, np.where(kept, taken, counts), minlength=n_contexts)
    has_sum = sums > 0
    backoffs = np.divide(freed, sums, out=np.ones(n_contexts), where=has_sum)
    divisors = np.where(has_sum, sums, 1.0)[contexts]
    if below:
        below[-1].backoffs[:] = backoffs
        lower = below[-1].probs[grams.suffixes]
    else:
        lower = np.full(len(words), 1 / (len(words) - 1))  # `<s>` is not predicted
    probs = (used - taken) / divisors + backoffs[contexts] * lower
    return _Order(grams, kept, probs, np.ones(len(probs)))


def _model(orders: list[_Order], words: tuple[str, ...]) -> BackoffModel:
    """The n-grams that were kept, renumbered; a context was seen as often, so it was kept."""
    results: list[Grams] = []
    rows = np.zeros(1, np.int64)  # of the order below, by their index before pruning
    for n, order in enumerate(orders, 1):
        contexts, last = np.divmod(order.grams.keys[order.kept], len(words))
        is_highest = n == len(orders)
        backoffs = np.empty(0) if is_highest else order.backoffs[order.kept]
        probs = order.probs[order.kept]
        if n == 1:
            probs[START] = 1.0  # as lmplz writes it; it is never asked
        results.append(Grams(rows[contexts] * len(words) + last, _log10(probs), _log10(backoffs)))
        rows = np.cumsum(order.kept) - 1
    return BackoffModel(words, tuple(results))


def _log10(values: Probs) -> Log10s:
    with np.errstate(divide="ignore"):
        results: Log10s = np.log10(values)
    return results
