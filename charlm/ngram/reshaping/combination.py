"""Back-off models made from others: several mixed into one, or one without some n-grams.

Models are mixed n-gram by n-gram (SRILM's `-mix-lm`), so that a decoder reads one file: an n-gram
that any of the models lists has the mixture's probability, everything else backs off.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from charlm.ngram.backoff import BackoffModel, Log10s, log10_in_place
from charlm.ngram.reshaping.ngram_set import Closure, log10_probs_of, union
from charlm.ngram.reshaping.pruning import worth_keeping
from charlm.ngram.reshaping.renormalising import MOST, MOST_OF_A_MODEL, renormalised


def interpolated(models: Sequence[BackoffModel], weights: Sequence[float]) -> BackoffModel:
    """One model near to the weighted mixture of these, whose words are in one order."""
    closure = union(models)
    log10_probs = mixed([log10_probs_of(closure, model) for model in models], weights)
    source = "+".join(model.source for model in models)
    return renormalised(closure, log10_probs, source=source, most=MOST_OF_A_MODEL)


def cut_to(order: int, model: BackoffModel) -> BackoffModel:
    """The model without its n-grams of higher orders; what is left sums to 1 as it did before.

    Of Kneser–Ney it is no estimate of that order: its lower orders count neighbours.
    """
    *lower, highest = model.orders[:order]
    return replace(model, orders=(*lower, replace(highest, log10_backoffs=np.empty(0))))


def entropy_pruned(model: BackoffModel, threshold: float) -> BackoffModel:
    """A model without the n-grams whose removal raises the perplexity by at most this share."""
    closure = union([model])
    log10_probs = log10_probs_of(closure, model)
    return pruned(
        closure, log10_probs, threshold=threshold, source=model.source, most=MOST_OF_A_MODEL
    )


def pruned(
    closure: Closure,
    log10_probs: Sequence[Log10s],
    *,
    threshold: float,
    source: str,
    most: float = MOST,
) -> BackoffModel:
    """The renormalised model after entropy pruning; a threshold of 0 keeps all n-grams."""
    whole = renormalised(closure, log10_probs, source=source, most=most)
    if not threshold:
        return whole
    kept = worth_keeping(closure, whole, threshold=threshold)
    fewer = [each[rows] for each, rows in zip(log10_probs, kept, strict=True)]
    return renormalised(closure.kept(kept), fewer, source=source, most=most)


def mixed(by_model: Sequence[Sequence[Log10s]], weights: Sequence[float]) -> list[Log10s]:
    """log10 of the weighted sum of the probabilities of each order's n-grams."""
    results = []
    for parts in zip(*by_model, strict=True):
        probs = np.zeros(len(parts[0]))
        for weight, log10_probs in zip(weights, parts, strict=True):
            probs += weight * 10.0**log10_probs
        results.append(log10_in_place(probs))
    return results
