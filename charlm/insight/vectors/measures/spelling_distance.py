"""Table 6 of Kim et al. (2016) as a number: how near in spelling the nearest words are.

Before the highway layers a word's neighbours look like it, after them they have a similar meaning:
the mean edit distance rises. Only words made of letters are taken, the most frequent first:
numbers, signs and abbreviations have neighbours of their own kind at any tap.
"""

from dataclasses import dataclass
from itertools import groupby, islice

from charlm.errors import ConfigError
from charlm.insight.vectors.inputs import open_vectors
from charlm.insight.vectors.neighbourhood import Neighbourhood
from charlm.insight.vectors.nn_options import (
    SpellingDistanceOptions,
    TapOptions,
    VectorsOptions,
    shared,
)
from charlm.insight.vectors.run_neighbours import neighbours_in
from charlm.insight.vectors.taps import ALL
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords
from charlm.nbest.metrics.error_rates import CharacterErrorRate
from charlm.text.corpus.normalisation.normalisation import is_of_letters
from charlm.text.corpus.tokens import UNK


@dataclass(frozen=True)
class SpellingDistance(JsonResult):
    """How far in spelling the nearest words are at one tap."""

    tap: str
    n_words: int
    k: int  # nearest words of each
    mean_distance: float  # characters to insert, delete or replace
    mean_share: float  # the same as a share of the longer of the two words


@keywords(SpellingDistanceOptions)
def spelling_distance(options: SpellingDistanceOptions) -> tuple[SpellingDistance, ...]:
    """The mean edit distance of the `n_words` most frequent words of letters and their neighbours.

    Without `at`, at every tap but gates: char-cnn is before and highway after the highway layers.

    Raises:
        ConfigError: as `neighbours`; no words of letters.
        DataError: a run that is not what was expected.
    """
    at = ALL if options.at is None else options.at
    opened = open_vectors(VectorsOptions(**{**shared(options, TapOptions), "at": at}, raw=True))
    run = opened.vectors.run
    known = run.inventory.words[UNK + 1 :]
    words = list(islice(filter(is_of_letters, known), options.n_words))
    if not words:
        raise ConfigError(f"{run.path}: no word of letters alone; expected some in its vocabulary")
    taps = groupby(neighbours_in(opened, words, k=options.k), key=lambda hood: hood.tap)
    return tuple(_distance(tap, list(found), k=options.k) for tap, found in taps)


def _distance(tap: str, found: list[Neighbourhood], *, k: int) -> SpellingDistance:
    pairs = [(each.form, near.word) for each in found for near in each.nearest]
    distances = [sum(edits) for *edits, _ in CharacterErrorRate().count(pairs)]
    longer = [max(map(len, pair)) for pair in pairs]
    shares = [d / n for d, n in zip(distances, longer, strict=True)]
    n_pairs = max(1, len(pairs))
    return SpellingDistance(tap, len(found), k, sum(distances) / n_pairs, sum(shares) / n_pairs)
