"""The n-grams of one or several models, closed under suffixes, with the index of each suffix.

An estimated model lists all suffixes, pruned by counts or not, since a text that holds an n-gram
holds its suffix as often; a stranger's ARPA file need not, so they are added. The suffixes tell
what any n-gram backs off to without a search.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from charlm.ngram.backoff import BackoffModel, Log10s
from charlm.ngram.ngram_counts import ABSENT, Keys, Rows, SortedKeys, distinct, rows_of
from charlm.ngram.word_ids import START, Ids

Kept = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Level(SortedKeys):
    """The n-grams of one order with their suffixes."""

    suffixes: Rows  # each without its first word, in the order below; none for unigrams


@dataclass(frozen=True)
class Closure:
    """Words and the n-grams over them, no probabilities yet."""

    words: tuple[str, ...]
    levels: tuple[Level, ...]

    @property
    def order(self) -> int:
        return len(self.levels)

    def contexts(self, n: int) -> npt.NDArray[np.int64]:
        """The index in the order below of the context of each n-gram of order `n`."""
        return self.levels[n - 1].keys // len(self.words)

    def last_words(self, n: int) -> npt.NDArray[np.int64]:
        """The last word of each n-gram of order `n`."""
        return self.levels[n - 1].keys % len(self.words)

    def kept(self, kept: Sequence[Kept]) -> "Closure":
        """These n-grams alone; contexts and suffixes of what is kept must be kept."""
        levels = [self.levels[0]]
        places = np.arange(len(self.words))  # where the n-grams of the order below went
        for n in range(2, self.order + 1):
            rows = np.flatnonzero(kept[n - 1])
            keys = _moved(self.levels[n - 1].keys[rows], places, n_words=len(self.words))
            suffixes = places[self.levels[n - 1].suffixes[rows]].astype(np.int32)
            levels.append(Level(keys, suffixes))
            places = np.cumsum(kept[n - 1]) - 1
        return Closure(self.words, tuple(levels))


def union(models: Sequence[BackoffModel]) -> Closure:
    """All n-grams of models over the same words, and the suffixes that none of them lists."""
    words = models[0].words
    n_words = len(words)
    if any(model.words != words for model in models):
        raise ValueError("models of other words")
    levels = [Level(np.arange(n_words, dtype=np.int64), np.empty(0, np.int32))]
    places = [np.arange(n_words) for _ in models]  # where each model's n-grams of the order are
    unlisted = [_unlisted_suffixes(model) for model in models]
    for n in range(2, max(model.order for model in models) + 1):
        own_keys = [
            _moved(_keys(model, n), own, n_words=n_words)
            for model, own in zip(models, places, strict=True)
        ]
        more = [each[n] for each in unlisted if n in each]  # whose contexts are below by now
        more_keys = [
            rows_of(levels, ids=ids[:, :-1], n_words=n_words) * n_words + ids[:, -1] for ids in more
        ]
        keys = distinct(np.concatenate([*own_keys, *more_keys]))
        levels.append(Level(keys, _suffixes(levels, keys, n_words=n_words)))
        places = [levels[-1].find(each) for each in own_keys]
    return Closure(words, tuple(levels))


def _keys(model: BackoffModel, n: int) -> Keys:
    """The keys of a model's n-grams of order `n`; empty if it has none."""
    return model.orders[n - 1].keys if n <= model.order else np.empty(0, np.int64)


def _unlisted_suffixes(model: BackoffModel) -> dict[int, Ids]:
    """By order, the words (N, n) of suffixes of a model's n-grams that it does not list itself."""
    results: dict[int, Ids] = {}
    added = np.empty((0, model.order), np.int32)
    for n in range(model.order, 2, -1):
        ids = np.vstack([np.column_stack(model.ngram_words(n, slice(None))), added])
        suffixes = ids[:, 1:]
        rows = rows_of(model.orders[: n - 1], ids=suffixes, n_words=len(model.words))
        added = np.unique(suffixes[rows < 0], axis=0)
        if len(added):
            results[n - 1] = added
    return results


def extended(closure: Closure, additions: Sequence[Keys]) -> Closure:
    """A closure with further n-grams; `additions[n - 1]` are keys of order `n` in its numbering.

    Their suffixes must be among the n-grams or the additions.
    """
    n_words = len(closure.words)
    levels = [closure.levels[0]]
    places = np.arange(n_words)  # where the closure's own n-grams of the order below are now
    for level, keys in zip(closure.levels[1:], additions[1:], strict=True):
        merged = _moved(distinct(np.append(level.keys, keys)), places, n_words=n_words)
        own = _moved(level.keys, places, n_words=n_words)
        levels.append(Level(merged, _suffixes(levels, merged, n_words=n_words)))
        places = levels[-1].find(own)
    return Closure(closure.words, tuple(levels))


def context_rows(closure: Closure, ids: Ids) -> list[Rows]:
    """By length, from 1: the index of the words before each word of sentences, −1 if not listed.

    `ids` are sentences between `<s>` and `</s>`; there is an entry for all of them but `<s>`.
    """
    positions = np.flatnonzero(ids != START) - 1
    rows = ids.astype(np.int64)
    results = [rows[positions].astype(np.int32)]
    for level in closure.levels[1:-1]:
        before, rows = np.where(ids[1:] == START, ABSENT, rows[:-1]), np.full(len(ids), ABSENT)
        rows[1:] = level.find_after(before, ids[1:], n_words=len(closure.words))
        results.append(rows[positions].astype(np.int32))
    return results


def _moved(keys: Keys, places: npt.NDArray[np.int64], *, n_words: int) -> Keys:
    """The keys of n-grams whose contexts went to these places in the order below."""
    contexts, last = np.divmod(keys, n_words)
    moved: Keys = places[contexts] * n_words + last
    return moved


def _suffixes(levels: Sequence[Level], keys: Keys, *, n_words: int) -> Rows:
    """The index of each n-gram's suffix in the last of `levels`."""
    contexts, last = np.divmod(keys, n_words)
    if len(levels) == 1:
        return last.astype(np.int32)
    found = levels[-1].find(levels[-1].suffixes[contexts].astype(np.int64) * n_words + last)
    if (found < 0).any():
        raise ValueError("an n-gram whose suffix is not listed")
    return found.astype(np.int32)


def log10_probs_of(closure: Closure, model: BackoffModel) -> list[Log10s]:
    """log10 P(last word | words before) under `model` of all n-grams of a closure, by order.

    The closure has all of the model's n-grams; for others the model backs off.
    """
    return probs_and_backoffs_of(closure, model)[0]


def probs_and_backoffs_of(
    closure: Closure, model: BackoffModel
) -> tuple[list[Log10s], list[Log10s]]:
    """The same, and log10 of the back-offs of these n-grams as contexts.

    Those that the model does not list, or that are of its highest order, have back-off 1.
    """
    n_words = len(closure.words)
    places = np.arange(n_words)  # where the model's n-grams of the order are
    log10_probs = [model.orders[0].log10_probs.copy()]
    log10_backoffs = [np.zeros(len(level)) for level in closure.levels]
    for n in range(2, closure.order + 1):
        level = closure.levels[n - 1]
        log10s = log10_probs[-1][level.suffixes]
        if n <= model.order:
            log10_backoffs[n - 2][places] = model.orders[n - 2].log10_backoffs
            log10s += log10_backoffs[n - 2][closure.contexts(n)]
            grams = model.orders[n - 1]
            places = level.find(_moved(grams.keys, places, n_words=n_words))
            log10s[places] = grams.log10_probs
        log10_probs.append(log10s)
    return log10_probs, log10_backoffs
