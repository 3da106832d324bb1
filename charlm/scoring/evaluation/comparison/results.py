"""The result of a comparison: systems, differences, frequency bands and remarks.

Perplexities can be compared only within a group, whose systems predict the same words of the same
text.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Self

from charlm.interface.short_repr import ShortRepr
from charlm.ngram.model_sources import parse_pruning
from charlm.notebook import table_html
from charlm.scoring.evaluation.comparison.bootstrap import Difference
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions
from charlm.scoring.evaluation.comparison.frequency_bands import Band
from charlm.scoring.evaluation.evaluate_options import State
from charlm.text.corpus.tokens import share
from charlm.text.io.short_names import name_of_all
from charlm.text.perplexity.perplexity import Counts, Perplexity
from charlm.text.vocabulary.vocabulary import Inventory


@dataclass(frozen=True)
class SystemFigures:
    """A system's figures for the text in one state."""

    perplexity: Perplexity
    weight: float | None  # the neural model's in a mixture; the n-gram model has the rest
    signature: str  # empty for a mixture; its members have their own

    def to_dict(self) -> dict[str, object]:
        return {
            "weight": self.weight,
            **self.perplexity.to_dict(),
            "signature": self.signature or None,
        }


@dataclass(frozen=True)
class System:
    """A row of the table."""

    name: str
    n_parameters: int | None  # None for an n-gram model
    n_ngrams: int | None  # None for a neural model
    n_bytes: int  # on disk: the weights, or an ARPA file
    seconds: float
    by_state: Mapping[State, SystemFigures]

    def to_dict(self) -> dict[str, object]:
        own = {name: value for name, value in vars(self).items() if name != "by_state"}
        return own | {state: figures.to_dict() for state, figures in self.by_state.items()}


@dataclass(frozen=True)
class Pair:
    """Two systems by name, and the differences of their perplexities."""

    first: str
    second: str
    by_state: Mapping[State, Difference]
    by_band: Mapping[str, Difference]  # in the state of the group's bands

    def to_dict(self) -> dict[str, object]:
        return {
            "first": self.first,
            "second": self.second,
            **{state: asdict(difference) for state, difference in self.by_state.items()},
            "by_band": {band: asdict(found) for band, found in self.by_band.items()},
        }


@dataclass(frozen=True)
class SeedFigures:
    """How a figure varies between trainings that differ in their seed alone.

    Numbers are None where a perplexity is too large for a floating-point number.
    """

    mean: float | None
    deviation: float | None  # the standard deviation, from n − 1
    lowest: float | None
    highest: float | None
    averaged: float | None  # the perplexity of the mean of their probabilities, word by word


@dataclass(frozen=True)
class MeanDifference:
    """A difference of two means over seeds, with its 95 % interval by Welch's t test.

    The interval tells what other seeds would change; the text and its sentences are given.
    """

    ppl: float  # first minus second
    low: float
    high: float
    p: float | None  # None: neither varies


@dataclass(frozen=True)
class Seeds:
    """Systems whose trainings differ in their seed alone, by name, and their figures."""

    names: tuple[str, ...]
    by_state: Mapping[State, SeedFigures]

    @property
    def label(self) -> str:
        return name_of_all(self.names)

    def less(self, other: Self, state: State) -> MeanDifference | None:
        """The mean less that of the others; None if a perplexity is too large for a float."""
        from scipy.stats import t  # loaded where it is used: it takes a second

        groups = [(each.by_state[state], len(each.names)) for each in (self, other)]
        means = [found.mean for found, _ in groups if found.mean is not None]
        squares = [(found.deviation or 0.0) ** 2 / n for found, n in groups]  # of each mean's error
        if len(means) < 2:
            return None
        ppl, square = means[0] - means[1], sum(squares)
        if not square:
            return MeanDifference(ppl, ppl, ppl, None)
        freedom = square**2 / sum(s**2 / (n - 1) for s, (_, n) in zip(squares, groups, strict=True))
        error = math.sqrt(square)
        width = float(t.ppf(0.975, freedom)) * error
        p = 2 * float(t.sf(abs(ppl) / error, freedom))
        return MeanDifference(ppl, ppl - width, ppl + width, p)

    def to_dict(self) -> dict[str, object]:
        return {
            "systems": list(self.names),
            **{state: asdict(figures) for state, figures in self.by_state.items()},
        }


@dataclass(frozen=True)
class Group:
    """Models with the same words, and the n-gram model over these words."""

    inventory: Inventory
    n_morphs: int | None  # of the first model whose words are segmented
    n_train_tokens: int  # each </s> counted
    counts: Counts  # of the text
    fallback_orders: tuple[int, ...]  # orders of n-grams for which fixed discounts were used
    systems: tuple[System, ...]  # the n-gram model first, then each model and its mixture
    seeds: tuple[Seeds, ...]  # of models
    mixed_seeds: tuple[Seeds, ...]  # of the same models' mixtures
    pairs: tuple[Pair, ...]
    state: State  # of the bands: that in which the first model was trained, if it was asked for
    bands: tuple[Band, ...]
    verdict: tuple[str, ...]  # one sentence per model, and one on the two best
    notes: tuple[str, ...]

    @property
    def best_two(self) -> Pair | None:
        """The two best unmixed systems in that state; None if there is only the n-gram model.

        If no two models are better than the n-gram model, the pair includes the n-gram model.
        """
        log10_probs = {  # these are finite even where a perplexity is not
            system.name: system.by_state[self.state].perplexity.sums.log10_prob
            for system in self.systems
            if system.n_parameters is None or system.n_ngrams is None
        }
        two = set(sorted(log10_probs, key=lambda name: -log10_probs[name])[:2])
        return next((pair for pair in self.pairs if {pair.first, pair.second} == two), None)

    def seed_differences(
        self,
    ) -> Iterator[tuple[Seeds, Seeds, Mapping[State, MeanDifference | None]]]:
        """Each two groups of trainings, and the differences of their means."""
        for first, second in combinations(self.seeds, 2):
            yield first, second, {state: first.less(second, state) for state in first.by_state}

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return self.inventory.n_words

    def to_dict(self) -> dict[str, object]:
        counts, inventory = self.counts, self.inventory
        names = [system.name for system in self.systems]
        bands = [
            {
                "name": band.name,
                "n_tokens": band.n_tokens,
                "share": band.share,
                "ppl": dict(zip(names, band.ppls, strict=True)),
            }
            for band in self.bands
        ]
        return {
            "n_words_of_vocabulary": self.n_words,
            "n_characters_of_vocabulary": inventory.n_characters_as_published,
            "n_morphs_of_vocabulary": self.n_morphs,
            "n_train_tokens": self.n_train_tokens,
            "vocabulary_sha256": inventory.sha256,
            "normalisation": inventory.normalisation.to_dict(),
            **asdict(counts),
            "n_tokens": counts.n_tokens,
            "oov_share": share(counts.n_oov, counts.n_words),
            "fallback_orders": list(self.fallback_orders),
            "systems": [system.to_dict() for system in self.systems],
            "seeds": [each.to_dict() for each in (*self.seeds, *self.mixed_seeds)],
            "differences_of_seeds": [
                {"first": first.names, "second": second.names}
                | {state: found and asdict(found) for state, found in by_state.items()}
                for first, second, by_state in self.seed_differences()
            ],
            "differences": [pair.to_dict() for pair in self.pairs],
            "state_of_bands": self.state,
            "bands": bands,
            "verdict": list(self.verdict),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Comparison(ShortRepr):
    """Models against Kneser–Ney on one text."""

    options: CompareKnOptions
    groups: tuple[Group, ...]
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        states = self.options.states
        header = ("", *(f"perplexity, {state}" for state in states))
        return "".join(
            table_html(
                header,
                [(each.name, *(_ppl(each.by_state[s]) for s in states)) for each in group.systems],
                told=group.verdict,
            )
            for group in self.groups
        )

    def to_dict(self) -> dict[str, object]:
        asked = self.options
        return {
            "data": str(asked.data),
            "split": asked.split,
            "states": list(asked.states),
            "order": asked.order,
            "prune": list(parse_pruning(asked.prune)),
            "samples": asked.samples,
            "block": asked.block,
            "seed": asked.seed,
            "device": asked.device,
            "precision": asked.precision,
            "threads": asked.threads,
            "groups": [group.to_dict() for group in self.groups],
            "notes": list(self.notes),
        }


def _ppl(figures: SystemFigures) -> str:
    ppl = figures.perplexity.ppl
    return "undefined" if ppl is None else f"{ppl:,.2f}"
