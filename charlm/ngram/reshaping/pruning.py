"""Entropy pruning (Stolcke, 1998): removes n-grams whose loss hardly changes the model.

An n-gram stays if it is the context or the suffix of one that stays. Probabilities of contexts are
the model's own; Kneser–Ney's lower orders, which count neighbours, distort them a little.
"""

from collections.abc import Sequence

import numpy as np

from charlm.ngram.backoff import BackoffModel, Log10s
from charlm.ngram.reshaping.ngram_set import Closure, Kept
from charlm.ngram.word_ids import END, START


def worth_keeping(closure: Closure, model: BackoffModel, *, threshold: float) -> list[Kept]:
    """Which n-grams, when removed, raise the perplexity by more than the share `threshold`.

    Each is looked at by itself, as by SRILM's `-prune`; unigrams stay.
    """
    probs = [10.0**grams.log10_probs for grams in model.orders]
    kept = [np.ones(len(level), np.bool_) for level in closure.levels]
    histories = _context_log10s(closure, model)
    needed = np.zeros(len(closure.levels[-1]), np.bool_)
    for n in range(closure.order, 1, -1):
        losses = _losses(closure, probs, histories, n=n)
        kept[n - 1] = (np.expm1(losses) > threshold) | needed
        needed = np.zeros(len(closure.levels[n - 2]), np.bool_)
        needed[closure.contexts(n)[kept[n - 1]]] = True
        needed[closure.levels[n - 1].suffixes[kept[n - 1]]] = True
    return kept


def _context_log10s(closure: Closure, model: BackoffModel) -> list[Log10s]:
    """log10 of the probability that the words of each n-gram occur at a place, by order.

    The beginning of a sentence is as frequent as its end.
    """
    firsts = model.orders[0].log10_probs.copy()
    firsts[START] = firsts[END]
    results = [firsts]
    for n in range(2, closure.order):
        results.append(results[-1][closure.contexts(n)] + model.orders[n - 1].log10_probs)
    return results


def _losses(
    closure: Closure, probs: Sequence[Log10s], histories: Sequence[Log10s], *, n: int
) -> Log10s:
    """How much cross-entropy, in nats a token, the loss of each n-gram of order `n` would cost."""
    contexts = closure.contexts(n)
    n_contexts = len(closure.levels[n - 2])
    own = probs[n - 1]
    lower = probs[n - 2][closure.levels[n - 1].suffixes]
    left = 1.0 - np.bincount(contexts, own, minlength=n_contexts)[contexts]
    free = 1.0 - np.bincount(contexts, lower, minlength=n_contexts)[contexts]
    with np.errstate(divide="ignore", invalid="ignore"):
        backoff = np.log(left) - np.log(free)
        after = np.log(left + own) - np.log(free + lower)
        change = own * (np.log(lower) + after - np.log(own)) + left * (after - backoff)
        losses: Log10s = -(10.0 ** histories[n - 2][contexts]) * change
    # A context without anything left has no back-off to compare with: its n-grams stay.
    losses[~np.isfinite(losses)] = np.inf
    return losses
