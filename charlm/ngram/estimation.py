"""Interpolated modified Kneser–Ney, as lmplz estimates it, without a loop over n-grams.

The highest order has the counts of the text; lower orders count distinct left neighbours, except
for n-grams that begin with `<s>`, which have none. `<s>` itself is in no sum.
Pruned n-grams still count in discounts and sums; their probability goes to the back-off, that of
pruned unigrams to the words that are left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.ngram.backoff import BackoffModel, Grams, log10_in_place
from charlm.ngram.ngram_counts import CountArray, Counted, Keys, count_ngrams
from charlm.ngram.word_ids import END, MARKS, START, Ids

NO_PRUNING = (0,)
FALLBACK = (0.5, 1.0, 1.5)  # the discounts of lmplz's --discount_fallback
N_DISCOUNTS = 3

Probs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Discounts:
    """The discounts of counts of 1, of 2, and of 3 or more (Chen & Goodman, 1998)."""

    values: tuple[float, ...]
    are_fallback: bool

    def of(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The discount of each count; 0 of a count of 0."""
        table = np.array([0.0, *self.values])
        discounts: npt.NDArray[np.float64] = table[np.minimum(counts, N_DISCOUNTS)]
        return discounts


def discounts_of(counts: npt.NDArray[np.int64]) -> Discounts:
    """D_j = j − (j + 1) · Y · n_(j+1) / n_j, Y = n_1 / (n_1 + 2 n_2), where n_j counts are j.

    The fallback if n_1, n_2 or n_3 is 0, as in a small or odd text, or if a discount lies outside
    [0, j], as under lmplz's `--discount_fallback`. In 32 bits, as in lmplz: where a discount nearly
    equals its count or a limit, higher precision would give another model.
    """
    n = np.bincount(counts[counts <= N_DISCOUNTS + 1], minlength=N_DISCOUNTS + 2)
    sizes = n.astype(np.float32)
    if 0.0 in sizes[1 : N_DISCOUNTS + 1]:
        return Discounts(FALLBACK, are_fallback=True)
    y = sizes[1] / np.float32(n[1] + 2 * n[2])
    values = tuple(
        float(j - (j + 1) * y * sizes[j + 1] / sizes[j]) for j in range(1, N_DISCOUNTS + 1)
    )
    if not all(0 <= value <= j for j, value in enumerate(values, 1)):
        return Discounts(FALLBACK, are_fallback=True)
    return Discounts(values, are_fallback=False)


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

    Raises:
        ConfigError: an order or pruning that makes no model.
    """
    counted = count_ngrams(ids, order=order, n_words=len(words))
    lasts = last_ngrams(counted, ids, n_words=len(words))
    return estimate_counted(counted, words=words, prune=prune, lasts=lasts)


def estimate_counted(
    counted: list[Counted],
    *,
    words: Sequence[str],
    prune: Sequence[int] = NO_PRUNING,
    lasts: Sequence[int] = (),
) -> Estimate:
    """The Kneser–Ney model of counts, which are taken out of their list; `lasts` as lmplz has them.

    `prune[n - 1]` is the largest count at which n-grams are left out; the last holds for all
    further orders. Words that do not occur, `<unk>` among them, share the unigrams' back-off. If
    unigrams are left out, the model has fewer words; the three marks stay.

    Raises:
        ConfigError: an order or pruning that makes no model.
    """
    order = len(counted)
    thresholds = thresholds_of(prune, order=order)
    adjusted = _adjusted(counted)
    discounts = tuple(
        discounts_of(_seen_by_lmplz(counted[n], counts, lasts[n : n + 1]))
        for n, counts in enumerate(adjusted)
    )
    orders: list[_Order] = []
    for n in range(order):
        grams, counts = counted.pop(0), adjusted.pop(0)  # out of memory as soon as they are used
        kept = grams.counts > thresholds[n] if thresholds[n] else np.ones(len(counts), np.bool_)
        if n == 0:
            # As lmplz; but it writes a probability of 1 for `</s>` where the sentences are so few.
            kept[: len(MARKS)] = True
        orders.append(
            _order(grams, counts, kept=kept, discounts=discounts[n], below=orders, words=words)
        )
    return Estimate(_model(orders, tuple(words)), discounts)


def thresholds_of(prune: Sequence[int], *, order: int) -> list[int]:
    """The largest count that is left out, for each order.

    Raises:
        ConfigError: an order or pruning that makes no model.
    """
    shown = ",".join(map(str, prune))
    if list(prune) != sorted(prune):
        raise ConfigError(f"--prune {shown}: expected counts that do not fall, as 0,0,1")
    if len(prune) > order:
        raise ConfigError(f"--prune {shown}: {len(prune)} counts for order {order}; expected fewer")
    return [*prune, *[prune[-1]] * (order - len(prune))]


def require_all_words(prune: Sequence[int]) -> None:
    """Refuse to leave out words, for callers that need a whole vocabulary.

    Raises:
        ConfigError: the pruning leaves out unigrams.
    """
    if prune[0] > 0:
        shown = ",".join(map(str, prune))
        raise ConfigError(
            f"--prune {shown}: would leave out words of the vocabulary; expected 0 for unigrams, "
            "as 0,0,1"
        )


def _adjusted(counted: list[Counted]) -> list[CountArray]:
    """Counts of the text in the highest order and of left neighbours below; `<s>` has none."""
    results = []
    for n, grams in enumerate(counted):
        if n + 1 < len(counted):
            neighbours = np.bincount(counted[n + 1].suffixes, minlength=len(grams.keys))
            counts = np.where(grams.opens, grams.counts, neighbours)
        else:
            counts = grams.counts
        if n == 0:
            counts = np.where(grams.opens, 0, counts)
        results.append(counts)
    return results


def last_ngrams(counted: list[Counted], ids: Ids, *, n_words: int) -> list[int]:
    """The last n-gram of each order but the highest, while they do not begin with `<s>`.

    As lmplz sorts them: by the last word, then the one before it and so on, words in the order
    in which the text brings them up.
    """
    ages = np.full(n_words, -2, np.int32)
    backwards = np.arange(len(ids) - 1, -1, -1, dtype=np.int32)
    ages[ids[::-1]] = backwards  # of a word's places the first is written last
    ages[[START, END]] = -1, 0  # before all words
    lasts: list[int] = []
    for n in range(len(counted) - 1):
        rows = np.flatnonzero(counted[n].suffixes == lasts[-1]) if n else np.arange(n_words)
        first_words = rows
        for below in range(n, 0, -1):
            first_words = counted[below].keys[first_words] // n_words
        last = int(rows[np.argmax(ages[first_words])])
        if counted[n].opens[last]:
            break
        lasts.append(last)
    return lasts


def _seen_by_lmplz(grams: Counted, counts: CountArray, last: Sequence[int]) -> CountArray:
    """The counts for the discounts: lmplz takes the text's count for the last n-gram of an order.

    This is a bug of its `AdjustCounts::Run`, kept so that figures agree; it changes PTB's rare
    words by 0.1 %.
    """
    seen = counts.copy()
    rows = list(last)  # an empty tuple would index all
    seen[rows] = grams.counts[rows]
    return seen


@dataclass(frozen=True)
class _Order:
    """The n-grams of one order while the next is made from them; pruned ones are still included."""

    keys: Keys
    kept: npt.NDArray[np.bool_]
    probs: Probs
    backoffs: Probs  # of contexts of this order; filled by the next


def _order(
    grams: Counted,
    counts: CountArray,
    *,
    kept: npt.NDArray[np.bool_],
    discounts: Discounts,
    below: list[_Order],
    words: Sequence[str],
) -> _Order:
    """p(w | h) = (c − D(c)) / Σ c + γ(h) · p(w | h'), with 1/V as p(w | h') of unigrams.

    V are the words that are kept; `<s>` is not predicted.
    """
    n_contexts = len(below[-1].probs) if below else 1
    contexts = grams.keys // len(words)  # 0 for all unigrams
    taken = discounts.of(counts)
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
        lower = np.full(len(words), 1 / (np.count_nonzero(kept) - 1))
    probs = (counts - taken) / divisors + backoffs[contexts] * lower
    return _Order(grams.keys, kept, probs, np.ones(len(probs)))


def _model(orders: list[_Order], words: tuple[str, ...]) -> BackoffModel:
    """The kept n-grams, renumbered; their contexts were seen at least as often, so they are kept.

    Takes the orders out of their list, since two copies would not fit into memory.
    """
    results: list[Grams] = []
    kept_words = orders[0].kept
    new_ids = np.cumsum(kept_words) - 1
    kept_below = np.ones(1, np.bool_)
    orders[0].probs[START] = 1.0  # as lmplz writes it; it is never asked
    while orders:
        order = orders.pop(0)
        keys, probs, backoffs = order.keys, order.probs, order.backoffs
        if not (order.kept.all() and kept_below.all() and kept_words.all()):
            contexts, last = np.divmod(keys[order.kept], len(words))
            rows = np.cumsum(kept_below) - 1  # by their index before pruning
            keys = rows[contexts] * np.count_nonzero(kept_words) + new_ids[last]
            probs, backoffs = probs[order.kept], backoffs[order.kept]
        backoffs = backoffs if orders else np.empty(0)
        results.append(Grams(keys, log10_in_place(probs), log10_in_place(backoffs)))
        kept_below = order.kept
    return BackoffModel(tuple(compress(words, kept_words)), tuple(results))
