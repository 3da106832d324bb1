"""Back-offs for n-gram probabilities that were set one by one, so that everything sums to 1.

A context's back-off is the probability that its n-grams leave, divided by what the order below
leaves after the same words. If the n-grams claim all of it or more, they are scaled down first.
"""

from collections.abc import Sequence

import numpy as np

from charlm.ngram.backoff import BackoffModel, Grams, Log10s, log10_in_place
from charlm.ngram.reshaping.ngram_set import Closure
from charlm.ngram.word_ids import START

# The largest share of a context that its n-grams may have, while any word is left to back off to.
MOST = 0.999
# The same of n-grams that a model has: what it leaves may be as little as the digits of its file.
MOST_OF_A_MODEL = 1 - 1e-6

ROUNDING = 1e-9  # of the sum of all words' probabilities


def renormalised(
    closure: Closure, log10_probs: Sequence[Log10s], *, source: str, most: float = MOST
) -> BackoffModel:
    """The model with these probabilities, by order, and back-offs that make it sum to 1.

    Unigrams are divided by their sum, without `<s>`, which is never predicted.
    """
    unigrams = 10.0 ** log10_probs[0]
    unigrams[START] = 0.0
    unigrams /= unigrams.sum()
    probs = [unigrams]
    backoffs = []
    for n in range(2, closure.order + 1):
        scaled, left = _shares(closure, 10.0 ** log10_probs[n - 1], below=probs[-1], n=n, most=most)
        probs.append(scaled)
        backoffs.append(left)
    backoffs.append(np.empty(0))
    orders = tuple(
        Grams(level.keys, log10_in_place(order_probs), log10_in_place(order_backoffs))
        for level, order_probs, order_backoffs in zip(closure.levels, probs, backoffs, strict=True)
    )
    orders[0].log10_probs[START] = 0.0  # as lmplz writes it
    return BackoffModel(closure.words, orders, source=source)


def _shares(
    closure: Closure, probs: Log10s, *, below: Log10s, n: int, most: float
) -> tuple[Log10s, Log10s]:
    """The probabilities of order `n`, scaled if they sum to too much, and contexts' back-offs.

    Contexts without n-grams have back-off 1.
    """
    contexts = closure.contexts(n)
    n_contexts = len(closure.levels[n - 2])
    lower = below[closure.levels[n - 1].suffixes]
    claimed = np.bincount(contexts, probs, minlength=n_contexts)
    asked = np.bincount(contexts, lower, minlength=n_contexts)
    n_words = np.bincount(contexts, minlength=n_contexts)
    is_full = asked > 1 - ROUNDING  # no word that the order below gives anything is left
    wanted = np.where(is_full, 1.0, np.minimum(claimed, most))
    factors = np.divide(wanted, claimed, out=np.ones(n_contexts), where=claimed > 0)
    free = np.where(is_full | (n_words == 0), 1.0, 1.0 - asked)
    left = np.where(is_full | (n_words == 0), 1.0, 1.0 - wanted)
    return probs * factors[contexts], left / free
