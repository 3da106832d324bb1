"""Minimal pairs: does a model prefer the better of two sentences that differ in little?

A pair is judged right if the better sentence is strictly more probable. Uninformative pairs are
counted separately: ties, and pairs whose differing words the model does not know, since all unknown
words are one word to it. BLiMP's objects (sentence_good, sentence_bad, UID, linguistics_term) need
no option; its total is the mean over its sets (Warstadt et al., 2020).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, get_args

from charlm.errors import ConfigError, DataError
from charlm.interface.options import keywords
from charlm.interface.progress_messages import with_progress
from charlm.interface.short_repr import ShortRepr
from charlm.scoring.evaluation.surprisal.opened_models import opened_models
from charlm.scoring.evaluation.surprisal.surprisal_options import PAIR_COLUMNS, PairOptions
from charlm.scoring.evaluation.surprisal.table_items import Item, Items, read_items
from charlm.scoring.evaluation.surprisal.token_bits import TokenModel, finite
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.normalisation.spelling_rules import options_advised
from charlm.text.corpus.tokens import share, without_marks
from charlm.text.io.lines import split_words

UID, TERM = "UID", "linguistics_term"
ALL = "all"
Z = 1.959964  # for 95 %
BITS = ("surprisal_good", "surprisal_bad")

Outcome = Literal["right", "wrong", "tie", "unknown"]


@dataclass(frozen=True)
class JudgedPair:
    """A pair under one model."""

    good: float  # bits of the better sentence, its end among them
    bad: float
    outcome: Outcome  # unknown: it differs in words that the model does not know


@dataclass(frozen=True)
class PairSet:
    """The pairs of one set under one model."""

    name: str
    term: str
    n_right: int
    n_wrong: int
    n_ties: int
    n_unknown: int  # pairs with a differing word that the model does not know

    @property
    def n_pairs(self) -> int:
        return self.n_right + self.n_wrong + self.n_ties + self.n_unknown

    @property
    def n_judged(self) -> int:
        """Pairs whose differing words are known; a tie counts as not right."""
        return self.n_pairs - self.n_unknown

    @property
    def accuracy(self) -> float | None:
        """Right pairs as a share of the judged ones."""
        return share(self.n_right, self.n_judged) if self.n_judged else None


@dataclass(frozen=True)
class PairAccuracy:
    """Several sets together: the mean over the sets, with equal weight."""

    name: str
    sets: tuple[PairSet, ...]

    @property
    def accuracy(self) -> float | None:
        """The mean over the sets that have judged pairs."""
        shares = [each.accuracy for each in self.sets if each.accuracy is not None]
        return math.fsum(shares) / len(shares) if shares else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval: pairs count as a sample, sets as fixed.

        For one set it is Wilson's interval, which also holds near 0 and 1. For several sets, each
        end's distance from the mean combines those of Wilson's intervals, squares summed (Zou and
        Donner, 2008).
        """
        if self.accuracy is None:
            return None
        judged = [each for each in self.sets if each.n_judged]
        ends = [_wilson(each.n_right, each.n_judged) for each in judged]
        shares = [each.n_right / each.n_judged for each in judged]
        below = math.hypot(*(p - low for p, (low, _) in zip(shares, ends, strict=True)))
        above = math.hypot(*(high - p for p, (_, high) in zip(shares, ends, strict=True)))
        n = len(judged)
        return max(0.0, self.accuracy - below / n), min(1.0, self.accuracy + above / n)

    def counts(self) -> dict[str, int]:
        """Counts over all sets."""
        names = ("n_pairs", "n_right", "n_wrong", "n_ties", "n_unknown")
        return {name: sum(getattr(each, name) for each in self.sets) for name in names}

    def to_dict(self) -> dict[str, object]:
        interval = self.interval
        return {
            "name": self.name,
            **self.counts(),
            "accuracy": self.accuracy,
            "interval": list(interval) if interval else None,
        }


@dataclass(frozen=True)
class PairResult(ShortRepr):
    """Every model's judgements by set; `rows` yields those of each pair, `header` names them."""

    models: tuple[str, ...]
    sets: tuple[tuple[PairSet, ...], ...]  # by model
    advice: Mapping[str, str] = field(default_factory=dict)  # by model: options, in a sentence
    columns: Mapping[str, str] = field(default_factory=dict)  # the user's, and their names in rows
    pairs: tuple[tuple[tuple[str | None, ...], tuple[JudgedPair, ...]], ...] = ()

    def by_set(self, model: int) -> list[PairAccuracy]:
        """Each set alone."""
        return [PairAccuracy(each.name, (each,)) for each in self.sets[model]]

    def by_term(self, model: int) -> list[PairAccuracy]:
        """The mean over the sets of each term; empty if the pairs name no terms."""
        terms = sorted({each.term for each in self.sets[model]} - {""})
        return [
            PairAccuracy(term, tuple(each for each in self.sets[model] if each.term == term))
            for term in terms
        ]

    def total(self, model: int) -> PairAccuracy:
        """The mean over all sets."""
        return PairAccuracy(ALL, self.sets[model])

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns of `rows`."""
        names = [""] if len(self.models) == 1 else [f"_{name}" for name in self.models]
        measures = (f"{each}{name}" for name in names for each in (*BITS, "judged"))
        return ("item", *self.columns.values(), *measures)

    def rows(self) -> Iterator[tuple[int | str | float | None, ...]]:
        """One row per pair: its number, the user's columns, and each model's judgement."""
        for number, (values, judged) in enumerate(self.pairs, 1):
            measures = ((finite(each.good), finite(each.bad), each.outcome) for each in judged)
            yield (number, *values, *chain.from_iterable(measures))

    @property
    def notes(self) -> tuple[str, ...]:
        """Why figures of these models may not compare, in sentences."""
        notes = list[str]()
        for name, sets in zip(self.models, self.sets, strict=True):
            notes += _on_set_aside(name, sets, advice=self.advice.get(name, ""))
        if len({tuple(each.n_unknown for each in sets) for sets in self.sets}) > 1:
            notes.append(
                "each model is judged by the pairs whose differing words it knows, and these are "
                "not the same: the accuracies do not compare; give the models one vocabulary "
                "(train and ngram --vocab FILE), or spell unknown words (--open-vocabulary)"
            )
        return tuple(notes)

    def to_dict(self) -> dict[str, object]:
        return {
            name: {
                "total": self.total(k).to_dict(),
                "by_term": [each.to_dict() for each in self.by_term(k)],
                "by_set": [each.to_dict() for each in self.by_set(k)],
            }
            for k, name in enumerate(self.models)
        }


def _on_set_aside(name: str, sets: Sequence[PairSet], *, advice: str) -> Iterator[str]:
    """On sets whose figures are of less than half of their pairs, or of none, and on options."""
    thin = [each for each in sets if each.n_judged < each.n_unknown]
    if advice:
        yield f"{name}: {advice}"
    if not thin:
        return
    first = max(thin, key=lambda each: share(each.n_unknown, each.n_pairs))
    n_without = sum(not each.n_judged for each in thin)
    left_out = f", and its means leave out {n_without} sets with none" if n_without else ""
    figures = f"its accuracies are of the others{left_out}"
    yield (
        f"{name} does not know the differing words of most pairs in {len(thin)} of {len(sets)} "
        f"sets ({first.name}: {first.n_unknown} of {first.n_pairs}): "
        f"{figures if n_without < len(sets) else 'it has no accuracy'}"
        f"{'' if advice else '; expected a model of more words, or --open-vocabulary'}"
    )


@keywords(PairOptions)
def minimal_pairs(options: PairOptions) -> PairResult:
    """How often models prefer the better sentence of a pair, each sentence scored on its own.

    With an open vocabulary unknown words are spelled, and no pair is set aside because of them.

    >>> found = charlm.minimal_pairs("pairs.tsv", model="exp/first")
    >>> found.total(0).counts()["n_pairs"]  # of the first model
    2

    Raises:
        ConfigError: no files, no such columns, no such model; an open vocabulary without a
            speller.
        DataError: a file, a table or a run that is not what was expected.
    """
    items = read_items(options.texts, format=options.format, encoding=options.encoding)
    columns = _columns(items, options.pair_columns)
    opened = opened_models(options)
    sets, advice, by_model = [], {}, []
    for model in opened.models:
        rules, unknown = opened.rules(model), Counter[str]()
        pairs = [
            tuple(_tokens(item, column, rules=rules) for column in columns) for item in items.items
        ]
        judged = [*_judged(model, pairs, unknown=unknown, options=options)]
        by_model.append(judged)
        sets.append(tuple(_sets(items.items, judged)))
        advice[model.name] = options_advised(unknown, model.vocabulary)
    names = items.names_beside(_is_ours)
    values = (tuple(item.values.get(name) for name in names) for item in items.items)
    judged_pairs = zip(values, zip(*by_model, strict=True), strict=True)
    return PairResult(opened.names, tuple(sets), advice, names, tuple(judged_pairs))


def _is_ours(name: str) -> bool:
    return name == "item" or name.startswith((*BITS, "judged"))


def _columns(items: Items, names: str | Sequence[str]) -> tuple[str, str]:
    if items.is_text:
        raise ConfigError(
            "--pairs: found a text; expected a table with two columns of sentences, or --format "
            "csv, tsv or jsonl"
        )
    split = names.split(",") if isinstance(names, str) else names
    columns = [each if each in items.columns else each.strip(" ") for each in split]
    if names == PAIR_COLUMNS and not {*columns} <= {*items.columns}:
        raise ConfigError(
            f"--pairs: found the columns {items.shown_columns}; expected "
            f"{' and '.join(columns)}; say which two by --pair-columns GOOD,BAD"
        )
    if len(columns) != 2:
        raise ConfigError(f"--pair-columns {names!r}: expected two names with a comma between")
    good, bad = (items.require(name, option="--pair-columns") for name in columns)
    return good, bad


def _judged(
    model: TokenModel,
    pairs: Sequence[tuple[tuple[str, ...], ...]],
    *,
    unknown: Counter[str],
    options: PairOptions,
) -> Iterator[JudgedPair]:
    """Each pair, judged; `unknown` counts the unknown words."""
    distinct = list(dict.fromkeys(sentence for pair in pairs for sentence in pair))
    read = with_progress(distinct, model.name, unit="sentence", tell=options.on_stage)
    found = model.bits(read, is_carried=False, entropy=False)
    bits = {
        sentence: (math.fsum(each.surprisals), dict(zip(sentence, each.known, strict=True)))
        for sentence, each in zip(distinct, found, strict=True)
    }
    for good, bad in pairs:
        known = {**bits[good][1], **bits[bad][1]}
        unknown.update(word for word in (*good, *bad) if not known[word])
        better, worse = bits[good][0], bits[bad][0]
        outcome: Outcome = "right" if better < worse else "wrong" if worse < better else "tie"
        if not options.open_vocabulary and not all(known[word] for word in differing(good, bad)):
            outcome = "unknown"
        yield JudgedPair(better, worse, outcome)


def _sets(items: Sequence[Item], judged: Sequence[JudgedPair]) -> Iterator[PairSet]:
    """The sets, in order of their first pairs."""
    tallies: dict[tuple[str, str], Counter[Outcome]] = defaultdict(Counter)
    for item, pair in zip(items, judged, strict=True):
        name, term = (item.values.get(key) or "" for key in (UID, TERM))
        tallies[name or item.file, term][pair.outcome] += 1
    for (name, term), tally in tallies.items():
        yield PairSet(name, term, *(tally[outcome] for outcome in get_args(Outcome)))


def differing(good: Sequence[str], bad: Sequence[str]) -> list[str]:
    """The words that one sentence has more often than the other; none if only the order differs."""
    one, other = Counter(good), Counter(bad)
    return [*(one - other), *(other - one)]


def _tokens(item: Item, column: str, *, rules: Normalisation | None) -> tuple[str, ...]:
    text = item.text(column)
    found = split_words(text if rules is None else rules(text))
    words = tuple(without_marks(found, where=item.where))
    if not words:  # they would win against most sentences
        raise DataError(f"{item.where}: nothing in column {column!r}; expected a sentence")
    return words


def _wilson(n_right: int, n: int) -> tuple[float, float]:
    p, spread = n_right / n, Z * Z / n
    middle = (p + spread / 2) / (1 + spread)
    half = Z * math.sqrt(p * (1 - p) / n + spread / (4 * n)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
