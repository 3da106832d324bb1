"""Noisy words brought back to normal ones: is the normal form among the nearest words?

Only words of the vocabulary can be found, so the share of pairs whose normal form is one bounds
what can be reached. A noisy form that the model cannot read counts as not found.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from charlm.errors import DataError
from charlm.insight.vectors.inputs import OpenVectors, measured
from charlm.insight.vectors.neighbourhood import Neighbour
from charlm.insight.vectors.nn_options import MeasureOptions
from charlm.insight.vectors.taps import Reader, ReadWord
from charlm.options import keywords
from charlm.text.corpus.tokens import END, UNK
from charlm.text.io.files import display_name
from charlm.text.io.lines import read_lines
from charlm.text.io.table_lines import csv_hint

RANKS = (1, 5, 10)


@dataclass(frozen=True)
class NormalisationScore:
    """How often the normal form is among the words nearest to the noisy one, at one tap."""

    file: str
    tap: str
    n_pairs: int
    n_same: int  # pairs of one form: nothing to normalise
    n_outside: int  # pairs whose normal form is not a word of the vocabulary
    n_asked: int  # the rest: what accuracy is over
    n_unread: int  # of these: the noisy form cannot be read, and counts as not found
    found: dict[int, int]  # by rank: how often the normal form stands there or before

    @property
    def accuracy(self) -> dict[int, float | None]:
        """By rank: the share of `n_asked`; None of nothing."""
        return {k: n / self.n_asked if self.n_asked else None for k, n in self.found.items()}

    def to_dict(self) -> dict[str, object]:
        accuracy = {f"accuracy@{k}": share for k, share in self.accuracy.items()}
        value = asdict(self)
        del value["found"]
        return {**value, **accuracy}


@dataclass(frozen=True)
class _Pair:
    noisy: ReadWord | None
    normal: ReadWord


@keywords(MeasureOptions)
def text_normalisation(options: MeasureOptions) -> tuple[NormalisationScore, ...]:
    """Accuracy at 1, 5 and 10 of each file (noisy TAB normal, a pair a line) at each tap.

    The noisy form itself, `</s>` and `<unk>` are never an answer. The rest as `neighbours`.

    Raises:
        ConfigError: as `neighbours`.
        DataError: a file of another format.
    """
    return measured(options, read=_read_pairs, score=_score)


@dataclass(frozen=True)
class _Read:
    pairs: list[_Pair]  # those that are asked
    n_same: int
    n_outside: int


def _read_pairs(path: str | Path, reader: Reader) -> _Read:
    name = display_name(path)
    pairs: list[_Pair] = []
    n_same = n_outside = 0
    for number, line in read_lines(path):
        if not line.strip(" \t") or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise DataError(
                f"{name}:{number}: found {line!r:.60}; expected noisy TAB normal{csv_hint(line)}"
            )
        noisy, normal = map(reader.try_to_read, fields)
        if normal is None or not normal.is_known or normal.number in (END, UNK):
            n_outside += 1
        elif noisy is not None and noisy.form == normal.form:
            n_same += 1
        else:
            pairs.append(_Pair(noisy, normal))
    if not (pairs or n_same or n_outside):
        raise DataError(f"{name}: no pair in it; expected noisy TAB normal, a pair a line")
    return _Read(pairs, n_same, n_outside)


def _score(read: _Read, opened: OpenVectors, *, tap: str, name: str) -> NormalisationScore:
    pairs = [(each.noisy, each.normal) for each in read.pairs if each.noisy is not None]
    pairs = [pair for pair in pairs if opened.vectors.reads(pair[0], tap=tap)]
    found = dict.fromkeys(RANKS, 0)
    if pairs:
        # A noisy form may stand in several pairs.
        distinct = {noisy.identity: noisy for noisy, _ in pairs}
        nearest = dict(zip(distinct, _nearest(list(distinct.values()), opened, tap), strict=True))
        for noisy, normal in pairs:
            words = [near.word for near in nearest[noisy.identity]]
            for k in RANKS:
                found[k] += normal.form in words[:k]
    return NormalisationScore(
        file=name,
        tap=tap,
        n_pairs=len(read.pairs) + read.n_same + read.n_outside,
        n_same=read.n_same,
        n_outside=read.n_outside,
        n_asked=len(read.pairs),
        n_unread=len(read.pairs) - len(pairs),
        found=found,
    )


def _nearest(noisy: list[ReadWord], opened: OpenVectors, tap: str) -> list[tuple[Neighbour, ...]]:
    queries = opened.units_of(noisy, tap=tap)
    left_out = [{END, UNK, each.number} for each in noisy]
    nearest = opened.search(tap).nearest(queries.of(noisy), k=max(RANKS), left_out=left_out)
    return list(nearest)
