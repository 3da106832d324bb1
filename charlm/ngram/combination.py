"""Back-off models made from others: several mixed into one, or one without some n-grams.

Models are mixed n-gram by n-gram (SRILM's `-mix-lm`), so that a decoder reads one file: an n-gram
that any of the models lists has the mixture's probability, everything else backs off.
"""

from collections.abc import Sequence

import numpy as np

from charlm.ngram.backoff import BackoffModel, Grams, Log10s
from charlm.ngram.ngram_set import Closure, spread, union
from charlm.ngram.pruning import worth_keeping
from charlm.ngram.renormalising import MOST, MOST_OF_A_MODEL, renormalised


def interpolated(models: Sequence[BackoffModel], weights: Sequence[float]) -> BackoffModel:
    """One model near to the weighted mixture of these, whose words are in one order."""
    closure = union(models)
    log10_probs = mixed([spread(closure, model) for model in models], weights)
    source = "+".join(model.source for model in models)
    return renormalised(closure, log10_probs, source=source, most=MOST_OF_A_MODEL)


def entropy_pruned(model: BackoffModel, threshold: float) -> BackoffModel:
    """A model without the n-grams whose removal raises the perplexity by at most this share."""
    closure = union([model])
    log10_probs = spread(closure, model)
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


def mixed(spreads: Sequence[Sequence[Log10s]], weights: Sequence[float]) -> list[Log10s]:
    """log10 of the weighted sum of the probabilities of each order's n-grams."""
    results = []
    for parts in zip(*spreads, strict=True):
        probs = np.zeros(len(parts[0]))
        for weight, log10_probs in zip(weights, parts, strict=True):
            probs += weight * 10.0**log10_probs
        with np.errstate(divide="ignore"):  # what no part with a weight gives anything
            results.append(np.log10(probs))
    return results


def in_common(models: Sequence[BackoffModel]) -> list[BackoffModel]:
    """The models over all their words, in one order.

    As under SRILM's `-mix-lm`, a model gives nothing to a word that it lacks, which is not its
    `<unk>`, and knows no context with such a word.
    """
    words = tuple(dict.fromkeys(word for model in models for word in model.words))
    return [_over(words, model) for model in models]


def _over(words: tuple[str, ...], model: BackoffModel) -> BackoffModel:
    """The model with these words, all of its own among them."""
    if model.words == words:
        return model
    numbers = {word: number for number, word in enumerate(words)}
    places = new_ids = np.array([numbers[word] for word in model.words], np.int64)
    unigrams = model.orders[0]
    log10_probs, log10_backoffs = np.full(len(words), -np.inf), np.zeros(len(words))
    log10_probs[new_ids] = unigrams.log10_probs
    if has_backoffs := len(unigrams.log10_backoffs) > 0:
        log10_backoffs[new_ids] = unigrams.log10_backoffs
    keys = np.arange(len(words), dtype=np.int64)
    orders = [Grams(keys, log10_probs, log10_backoffs if has_backoffs else np.empty(0))]
    for grams in model.orders[1:]:
        contexts, last = np.divmod(grams.keys, len(new_ids))
        keys = places[contexts] * len(words) + new_ids[last]
        by_key = np.argsort(keys)
        places = np.empty(len(keys), np.int64)  # where the n-grams of this order are now
        places[by_key] = np.arange(len(keys))
        backoffs = grams.log10_backoffs
        orders.append(
            Grams(
                keys[by_key],
                grams.log10_probs[by_key],
                backoffs[by_key] if len(backoffs) else backoffs,
            )
        )
    n_unlisted = model.n_unlisted + len(words) - len(model.words)
    return BackoffModel(words, tuple(orders), source=model.source, n_unlisted=n_unlisted)
