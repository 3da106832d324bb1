"""Why one hypothesis has a higher total than another, word by word.

A total is the sum of the weighted features of the whole hypothesis (acoustic score, number of
words, …) and of the weighted log-probabilities that scorers give to its words. The difference of
two totals is added up in that order: first the features, then the words from left to right, the end
last. The deciding part is the largest one, either a word or the features together. It is not the
part that changes the sign, which may be a trifle after a word that brings nearly all. The deciding
word may be one that both hypotheses have, since a different word before it may change its score.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import log

from rapidfuzz.distance import Levenshtein

from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.nbest.hypotheses import NbestList, Rescored
from charlm.nbest.ranking.features import FeatureTable, Floats, weighted
from charlm.nbest.ranking.weights import Weights
from charlm.scoring.rescoring.pipeline import ScoredList
from charlm.text.corpus.tokens import END_WORD

GAP = ""  # where only the other hypothesis has a word
RANK = re.compile(r" *[0-9]{1,9} *")
UNKNOWN = "*"  # after a word that is not in a scorer's vocabulary


@dataclass(frozen=True)
class FeatureRow:
    """A feature of whole hypotheses and its share in the difference."""

    name: str
    weight: float
    winner: float  # nats, or a count
    other: float
    difference: float  # weighted, log10


@dataclass(frozen=True)
class WordRow:
    """A word of one hypothesis beside that of the other."""

    winner: str  # empty where only the other has a word
    other: str
    winner_log10_probs: tuple[float, ...]  # of each scorer, unweighted; 0 for an empty word
    other_log10_probs: tuple[float, ...]
    winner_known: tuple[bool, ...]  # by scorer
    other_known: tuple[bool, ...]
    difference: float  # weighted, log10; above 0 if it favours the winner
    so_far: float  # with all rows above
    decided: bool

    @property
    def shown(self) -> tuple[str, str]:
        """Both words; an unknown one is marked."""
        sides = (self.winner, self.winner_known), (self.other, self.other_known)
        first, second = (word if all(known) else word + UNKNOWN for word, known in sides)
        return first, second


@dataclass(frozen=True)
class Explanation(JsonResult):
    """Two hypotheses of a list; `winner` has the higher total. All sums are log10."""

    id: str
    winner_rank: int  # from 1, in the order of the list
    other_rank: int
    scorers: tuple[str, ...]
    features: tuple[FeatureRow, ...]  # those with a weight
    features_difference: float
    words: tuple[WordRow, ...]  # the last is the end of the sentences
    difference: float  # of the totals

    @property
    def deciding(self) -> WordRow | None:
        """The word with the largest share in the difference; None: the features', or a tie.

        In a tie the totals are equal and `difference` is 0.
        """
        return next((row for row in self.words if row.decided), None)

    @property
    def lacking_a_word(self) -> tuple[str, ...]:
        """The scorers to which a word of the two hypotheses is unknown."""
        known = [side for row in self.words for side in (row.winner_known, row.other_known)]
        return tuple(
            name for n, name in enumerate(self.scorers) if not all(each[n] for each in known)
        )

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of plain cells: features, their sum, then the words."""
        sides = [f"{name} {side}" for name in self.scorers for side in ("winner", "other")]
        header = ["winner", "other", *sides, "difference", "so far", ""]
        rows = []
        for feature in self.features:
            values = f"{feature.winner:g}", f"{feature.other:g}"
            cells = [f"{feature.name} {value} ×{feature.weight:g}" for value in values]
            empty = [""] * len(sides)
            rows.append([*cells, *empty, f"{feature.difference:+z.3f}", "", ""])
        label = f"{self.features_difference:+z.3f}"
        rows.append(["(features)", "(features)", *[""] * len(sides), label, label, ""])
        for word in self.words:
            pairs = zip(word.winner_log10_probs, word.other_log10_probs, strict=True)
            probs = [
                f"{value:.3f}" if text else ""
                for pair in pairs
                for value, text in zip(pair, (word.winner, word.other), strict=True)
            ]
            sums = [f"{word.difference:+z.3f}", f"{word.so_far:+z.3f}"]
            rows.append([*word.shown, *probs, *sums, "<" if word.decided else ""])
        return header, rows


def explain(
    scored: ScoredList, ranks: tuple[int, int], *, names: Sequence[str], weights: Weights
) -> Explanation:
    """Align two hypotheses, given by their ranks from 1; the one with the higher total comes first.

    If the totals are equal, the one that a ranking puts first comes first. `names` are the
    scorers'.

    Raises:
        ConfigError: a rank outside the list, or the same rank twice.
    """
    _require_ranks(scored.nbest, ranks)
    table = scored.table
    weights_F = weights.of(table)
    totals = weighted(table.values_HF, weights_F)
    ties = weights.tie_order(table).tolist()
    chosen = sorted((rank - 1 for rank in ranks), key=lambda i: (-totals[i], ties.index(i)))
    features = _feature_rows(table, weights_F, chosen=chosen, without=names)
    start = sum(row.difference for row in features)
    own_weights = [float(weights_F[table.names.index(name)]) for name in names]
    rows = _word_rows(scored, chosen, weights=own_weights, start=start)
    winner, other = chosen
    return Explanation(
        scored.nbest.id,
        winner + 1,
        other + 1,
        scorers=tuple(names),
        features=features,
        features_difference=start,
        words=rows,
        difference=rows[-1].so_far,
    )


def _require_ranks(nbest: NbestList, ranks: tuple[int, int]) -> None:
    for rank in ranks:
        if not 1 <= rank <= len(nbest.hypotheses):
            raise ConfigError(
                f"list {nbest.id!r}: no hypothesis {rank}; expected 1 to {len(nbest.hypotheses)}"
            )
    if ranks[0] == ranks[1]:
        raise ConfigError(f"list {nbest.id!r}: hypothesis {ranks[0]} twice; expected two of them")


def _feature_rows(
    table: FeatureTable, weights_F: Floats, *, chosen: Sequence[int], without: Sequence[str]
) -> tuple[FeatureRow, ...]:
    """The features with a weight, except those that a scorer splits into words."""
    winners, others = (table.values_HF[index].tolist() for index in chosen)
    columns = zip(table.names, weights_F.tolist(), winners, others, strict=True)
    return tuple(
        FeatureRow(name, weight, winner, other, weight * (winner - other) / log(10))
        for name, weight, winner, other in columns
        if weight and name not in without
    )


def _word_rows(
    scored: ScoredList, chosen: Sequence[int], *, weights: Sequence[float], start: float
) -> tuple[WordRow, ...]:
    """The aligned words of both, with the difference that adds up from `start`."""
    first, second = (scored.texts[index] for index in chosen)
    rows: list[WordRow] = []
    so_far = start
    for places in [*_aligned(first, second), (len(first), len(second))]:
        (winner, winners, winner_known), (other, others, other_known) = (
            _side(scored, *pair) for pair in zip(chosen, places, strict=True)
        )
        parts = zip(weights, winners, others, strict=True)
        difference = sum(weight * (one - two) for weight, one, two in parts)
        so_far += difference
        known = winner_known, other_known
        rows.append(WordRow(winner, other, winners, others, *known, difference, so_far, False))
    most = max(rows, key=lambda row: row.difference)
    if so_far > 0 and most.difference > start:
        rows[rows.index(most)] = replace(most, decided=True)
    return tuple(rows)


def _side(
    scored: ScoredList, index: int, place: int | None
) -> tuple[str, tuple[float, ...], tuple[bool, ...]]:
    """A word of a hypothesis, its log10 probabilities, and which scorers know it; None is a gap.

    The end and a gap count as known.
    """
    text, scores = scored.texts[index], [own[index] for own in scored.scores]
    if place is None:
        return GAP, (0.0,) * len(scores), (True,) * len(scores)
    is_end = place == len(text)
    log10_probs = tuple(float(each.log_probs[place]) / log(10) for each in scores)
    known = tuple(is_end or bool(each.known[place]) for each in scores)
    return END_WORD if is_end else text[place], log10_probs, known


def _aligned(first: Sequence[str], second: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Pairs of aligned places; None where only the other text has a word."""
    pairs: list[tuple[int | None, int | None]] = []
    for part in Levenshtein.opcodes(first, second):
        pairs += zip_longest(
            range(part.src_start, part.src_end), range(part.dest_start, part.dest_end)
        )
    return pairs


class ExplainRequest:
    """A question about two hypotheses of one list: `UTT`, or `UTT:A,B` with ranks from 1.

    Without ranks the best hypothesis is compared with the first of the list, or with the next best
    if it is the first itself. A hypothesis with other words is preferred, since a list may hold the
    same text several times.
    """

    def __init__(self, question: str, *, names: tuple[str, ...]) -> None:
        """`names` are the names of the scorers.

        Raises:
            ConfigError: the question is not of the form UTT or UTT:A,B.
        """
        self.id, self.ranks = question, None
        head, colon, tail = question.rpartition(":")
        fields = tail.split(",")
        if colon and len(fields) == 2 and all(map(RANK.fullmatch, fields)):
            self.id, self.ranks = head, (int(fields[0]), int(fields[1]))
        if not self.id:
            raise ConfigError(f"--explain {question!r}: expected UTT or UTT:A,B, as utt1:1,2")
        self.names = names
        self._found: Explanation | None = None

    def look(self, scored: ScoredList, result: Rescored, *, weights: Weights) -> None:
        """Explain the list if it is the one asked for."""
        if scored.nbest.id != self.id:
            return
        ranks = self.ranks or _ranks(result)
        self._found = explain(scored, ranks, names=self.names, weights=weights)

    def require_one_of(self, ids: Iterable[str]) -> None:
        """Raises DataError if the list asked for is not among these."""
        if self.id not in ids:
            raise DataError(f"--explain: found no list {self.id!r:.80}; expected the id of one")

    def found(self) -> Explanation:
        """The answer.

        Raises:
            DataError: the list was not found.
        """
        if self._found is None:
            self.require_one_of(())
        assert self._found is not None
        return self._found


def _ranks(result: Rescored) -> tuple[int, int]:
    ranking = result.ranking
    if len(ranking) < 2:
        raise ConfigError(
            f"--explain: list {result.nbest.id!r:.80} has one hypothesis; expected two to compare"
        )
    best, *others = ranking
    hypotheses = result.nbest.hypotheses
    rivals = [each for each in others if hypotheses[each].words != hypotheses[best].words] or others
    return best + 1, (0 if 0 in rivals else rivals[0]) + 1
