"""Perplexity by how frequent the predicted word is, and by its position in the sentence.

`</s>` is a band of its own in both: otherwise it would hide what happens to the other words.
"""

import numpy as np

from charlm.insight.text_reading import READ, TextReading
from charlm.ngram.backoff import Log10s
from charlm.ngram.word_ids import END, Ids
from charlm.scoring.evaluation.comparison.frequency_bands import Band, banded, frequency_bands
from charlm.text.corpus.tokens import END_WORD

# Where bands of positions begin: sentences end, and few tokens are left for the later ones.
FIRSTS = (*range(1, 11), 11, 16, 21, 31)


def by_frequency(reading: TextReading) -> tuple[Band, ...]:
    """By occurrences in the training text, under each of the reading's systems."""
    return frequency_bands(
        reading.baseline_scores.targets,
        train_counts_V=reading.baseline.train_counts,
        log10_probs_KN=reading.log10s,
    )


def position_systems(reading: TextReading) -> tuple[str, ...]:
    """The names of the rows of `by_position`: Kneser–Ney is the last."""
    *names, baseline = reading.systems
    return (*names, f"{names[0]}, {READ[reading.states[1]]}", baseline)


def by_position(reading: TextReading) -> tuple[Band, ...]:
    """By place in the sentence, the first word being 1, under each of `position_systems`.

    All are read as the first run was trained, except in the row that names the other state.
    """
    *runs, baseline_N = reading.log10s
    log10s_KN = np.stack([*runs, reading.scores(0, reading.states[1]).log10s, baseline_N])
    return position_bands(reading.baseline_scores.targets, log10_probs_KN=log10s_KN)


def position_bands(word_ids_N: Ids, *, log10_probs_KN: Log10s) -> tuple[Band, ...]:
    """The bands of positions that occur in a text, in n-gram ids, under K systems."""
    places = np.arange(len(word_ids_N))
    is_first = np.concatenate([[True], word_ids_N[:-1] == END])
    firsts = np.maximum.accumulate(np.where(is_first, places, 0))
    bands_N = np.searchsorted(FIRSTS, places - firsts + 1, side="right") - 1
    bands_N[word_ids_N == END] = len(FIRSTS)
    return banded(bands_N, _name, log10_probs_KN=log10_probs_KN)


def _name(band: int) -> str:
    if band == len(FIRSTS):
        return END_WORD
    first = FIRSTS[band]
    if band + 1 == len(FIRSTS):
        return f"{first}+"
    last = FIRSTS[band + 1] - 1
    return str(first) if first == last else f"{first}-{last}"
