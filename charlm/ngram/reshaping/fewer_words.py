"""A model without some of its words, which are `<unk>` from then on.

The words that stay keep their probabilities, and `<unk>` gets those of the others, so that what
summed to 1 still does. (SRILM's -limit-vocab and KenLM's filter give them to nobody.)
"""

from collections.abc import Collection, Sequence

import numpy as np

from charlm.ngram.backoff import BackoffModel, Grams, Log10s, log10_in_place
from charlm.ngram.ngram_counts import distinct
from charlm.ngram.reshaping.ngram_set import Closure, Kept, extended, probs_and_backoffs_of, union
from charlm.ngram.word_ids import END, MARKS, START, UNK


def limited_to(words: Collection[str], model: BackoffModel) -> BackoffModel:
    """The model of those of its words that are in `words`, of `<unk>` and of the marks."""
    is_unk = np.array([word not in words for word in model.words])
    is_unk[[UNK, START, END]] = True, False, False
    closure = _with_unk_where_words_go(union([model]), is_unk)
    log10_probs, log10_backoffs = probs_and_backoffs_of(closure, model)
    shares = _shares_of_unk(closure, log10_probs, log10_backoffs, is_unk=is_unk)

    log10_probs[0][UNK] = shares[0][0]
    is_unk[UNK] = False
    stays = ~is_unk  # of the words, then of the n-grams of each order
    numbers = places = np.cumsum(stays) - 1
    orders = [Grams(numbers[stays], log10_probs[0][stays], log10_backoffs[0][stays])]
    for n in range(2, closure.order + 1):
        contexts, last = closure.contexts(n), closure.last_words(n)
        log10_probs[n - 1][last == UNK] = shares[n - 1][contexts[last == UNK]]
        stays = stays[contexts] & ~is_unk[last]
        keys = places[contexts[stays]] * len(orders[0]) + numbers[last[stays]]
        backoffs = log10_backoffs[n - 1][stays] if n < closure.order else np.empty(0)
        orders.append(Grams(keys, log10_probs[n - 1][stays], backoffs))
        places = np.cumsum(stays) - 1
    kept = tuple(word for word, goes in zip(closure.words, is_unk, strict=True) if not goes)
    unlisted = model.unlisted.intersection(kept)
    if shares[0][0] > -np.inf:
        unlisted -= {MARKS[UNK]}
    return BackoffModel(kept, tuple(orders), source=model.source, unlisted=unlisted)


def _with_unk_where_words_go(closure: Closure, is_unk: Kept) -> Closure:
    """The n-grams, and `<unk>` in each context that lists a word which becomes `<unk>`."""
    n_words = len(closure.words)
    goes = [is_unk[closure.last_words(n)] for n in range(1, closure.order + 1)]
    return extended(
        closure,
        [
            distinct(level.keys[rows] // n_words) * n_words + UNK
            for level, rows in zip(closure.levels, goes, strict=True)
        ],
    )


def _shares_of_unk(
    closure: Closure,
    log10_probs: Sequence[Log10s],
    log10_backoffs: Sequence[Log10s],
    *,
    is_unk: Kept,
) -> list[Log10s]:
    """log10 of what all words that become `<unk>` have together, by order after each context.

    The only context of the first order is the empty one.
    """
    shares = [np.array([np.sum(10.0 ** log10_probs[0][is_unk])])]
    for n in range(2, closure.order + 1):
        rows = np.flatnonzero(is_unk[closure.last_words(n)])
        contexts, suffixes = closure.contexts(n)[rows], closure.levels[n - 1].suffixes[rows]
        n_contexts = len(closure.levels[n - 2])
        listed = np.bincount(contexts, 10.0 ** log10_probs[n - 1][rows], minlength=n_contexts)
        below = np.bincount(contexts, 10.0 ** log10_probs[n - 2][suffixes], minlength=n_contexts)
        shorter = closure.levels[n - 2].suffixes if n > 2 else np.zeros(n_contexts, np.int32)
        others = np.maximum(shares[-1][shorter] - below, 0.0)  # below 0 by rounding alone
        shares.append(listed + 10.0 ** log10_backoffs[n - 2] * others)
    # A file's decimals may sum to a little more than 1.
    return [np.minimum(log10_in_place(each), 0.0) for each in shares]
