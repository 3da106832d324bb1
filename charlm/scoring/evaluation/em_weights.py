"""Linear mixtures of models token by token, and the weights that suit a text best.

The likelihood of a text is concave in the weights, so EM ends at its only maximum from any start,
like SRILM's compute-best-mix. It sees probabilities only: the caller must check that all streams
scored the same words. No torch here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from charlm.ngram.backoff import Log10s

LEAST_FACTOR = 1e-300  # of a stream that gives nothing to any token
LONGEST_STEP = 20.0  # of a weight, in nats: neither 0 nor infinity comes of it


@dataclass(frozen=True)
class Weights:
    """Weights of streams and how they were found."""

    weights: Log10s  # (K,), not negative, of sum 1
    n_iterations: int
    n_left_out: int  # tokens to which no stream gives anything


def em_weights(
    log10_probs_KN: Log10s, *, tolerance: float = 1e-8, max_iterations: int = 1000
) -> Weights:
    """The weights of K streams that make a text of N tokens likeliest, by EM from equal ones.

    It ends when no weights can be better by `tolerance` or more, in nats a token. A token to which
    no stream gives anything is left out; if that leaves none, the weights stay equal.

    EM hardly moves where streams are much alike. So a step goes twice as far as the one before it,
    until it makes the text less likely; then it is taken back, and EM's own step is next.
    """
    weights = best_K = np.full(len(log10_probs_KN), 1 / len(log10_probs_KN))
    probs_KN, _ = _relative_probs(log10_probs_KN)
    n_tokens = probs_KN.shape[1]
    n_iterations, likeliest, step = 0, -np.inf, 0.5
    while n_tokens:
        mixed_N = weights @ probs_KN  # never 0: a step leaves something of every weight
        likelihood = np.log(mixed_N).mean()
        if likelihood >= likeliest or step == 1.0:  # EM's own never falls, but for rounding
            best_K, likeliest, step = weights, likelihood, 2 * step
            factors_K = probs_KN @ (1 / mixed_N) / n_tokens  # of EM's own step
        else:
            step = 1.0
        # The likelihood is concave: no weights are better by more than the largest slope.
        if factors_K.max() - 1 < tolerance or n_iterations == max_iterations:
            break
        moves_K = step * np.log(np.maximum(factors_K, LEAST_FACTOR))
        weights = best_K * np.exp(np.clip(moves_K, -LONGEST_STEP, LONGEST_STEP))
        weights /= weights.sum()
        n_iterations += 1
    return Weights(best_K, n_iterations, log10_probs_KN.shape[1] - n_tokens)


def _relative_probs(log10_probs_KN: Log10s) -> tuple[Log10s, Log10s]:
    """Probabilities over the largest of each token, so that 1e-400 does not become 0/0.

    They are of the tokens to which any stream gives something; the log10 of the largest are of all.
    """
    best_N = log10_probs_KN.max(axis=0)
    kept = np.isfinite(best_N)
    return 10.0 ** (log10_probs_KN[:, kept] - best_N[kept]), best_N


def mixed_log10(log10_probs_KN: Log10s, weights_K: Sequence[float] | Log10s) -> Log10s:
    """log10 probabilities of the mixture, (N,); −inf where each with a weight has it."""
    weights = np.asarray(weights_K, float)
    used = weights > 0
    probs_KN, best_N = _relative_probs(log10_probs_KN[used])
    mixed_N: Log10s = np.full(best_N.shape, -np.inf)
    kept = np.isfinite(best_N)
    mixed_N[kept] = best_N[kept] + np.log10(weights[used] @ probs_KN)
    return mixed_N
