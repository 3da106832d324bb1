"""Linear mixtures of models token by token, and the weights that suit a text best.

The likelihood of a text is concave in the weights, so EM reaches its only maximum from any start,
the same as SRILM's compute-best-mix. This code sees probabilities only: the caller must make sure
that all streams scored the same words. It does not use torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from charlm.ngram.backoff import Log10s

LEAST_FACTOR = 1e-300  # for a stream that gives every token a probability of 0
LONGEST_STEP = 20.0  # of a weight, in nats, so that it becomes neither 0 nor infinite


@dataclass(frozen=True)
class StreamWeights:
    """Weights of streams and how they were found."""

    weights: Log10s  # (K,), not negative, with sum 1
    n_iterations: int
    n_left_out: int  # tokens to which no stream gives a probability above 0


def em_weights(
    log10_probs_KN: Log10s, *, tolerance: float = 1e-8, max_iterations: int = 1000
) -> StreamWeights:
    """The weights of K streams that make a text of N tokens most probable, by EM.

    EM starts from equal weights and ends when no weights can be better by `tolerance` or more, in
    nats per token. Tokens to which no stream gives a probability above 0 are left out; if none is
    left, the weights stay equal.

    EM is slow where streams are much alike. So each step goes twice as far as the one before it
    until it makes the text less probable; that step is undone, and the next is EM's own.
    """
    weights = best_K = np.full(len(log10_probs_KN), 1 / len(log10_probs_KN))
    probs_KN, _ = _relative_probs(log10_probs_KN)
    n_tokens = probs_KN.shape[1]
    n_iterations, likeliest, step = 0, -np.inf, 0.5
    while n_tokens:
        mixed_N = weights @ probs_KN  # never 0, since no step makes a weight 0
        likelihood = np.log(mixed_N).mean()
        if likelihood >= likeliest or step == 1.0:  # EM's own step lowers it by rounding only
            best_K, likeliest, step = weights, likelihood, 2 * step
            factors_K = probs_KN @ (1 / mixed_N) / n_tokens  # of EM's own step
        else:
            step = 1.0
        # The likelihood is concave, so no weights are better by more than the largest slope.
        if factors_K.max() - 1 < tolerance or n_iterations == max_iterations:
            break
        moves_K = step * np.log(np.maximum(factors_K, LEAST_FACTOR))
        weights = best_K * np.exp(np.clip(moves_K, -LONGEST_STEP, LONGEST_STEP))
        weights /= weights.sum()
        n_iterations += 1
    return StreamWeights(best_K, n_iterations, log10_probs_KN.shape[1] - n_tokens)


def _relative_probs(log10_probs_KN: Log10s) -> tuple[Log10s, Log10s]:
    """Probabilities divided by the largest of each token, so that 1e-400 does not become 0/0.

    The probabilities are those of the tokens to which some stream gives a probability above 0. The
    log10 values of the largest are those of all tokens.
    """
    best_N = log10_probs_KN.max(axis=0)
    kept = np.isfinite(best_N)
    probs_KN = log10_probs_KN[:, kept]  # a copy; a text may be long, so it is changed in place
    probs_KN -= best_N[kept]
    return np.power(10.0, probs_KN, out=probs_KN), best_N


def mixed_log10(log10_probs_KN: Log10s, weights_K: Sequence[float] | Log10s) -> Log10s:
    """log10 probabilities of the mixture, (N,); −inf where all streams with a weight have −inf."""
    weights = np.asarray(weights_K, float)
    used = weights > 0
    probs_KN, best_N = _relative_probs(log10_probs_KN[used])
    mixed_N: Log10s = np.full(best_N.shape, -np.inf)
    kept = np.isfinite(best_N)
    mixed_N[kept] = best_N[kept] + np.log10(weights[used] @ probs_KN)
    return mixed_N
