"""Noisy words brought back to normal ones: is the normal form among the nearest words?

Only words of the vocabulary can be found, so the share of pairs whose normal form is one bounds
what can be reached. A noisy form that the model cannot read counts as not found.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import DataError
from charlm.insight.vectors.inputs import OpenVectors, measured
from charlm.insight.vectors.nn_options import MeasureOptions
from charlm.insight.vectors.taps import Reader, ReadWord
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords
from charlm.text.corpus.tokens import END, UNK
from charlm.text.io.files import display_name
from charlm.text.io.lines import read_lines
from charlm.text.io.table_lines import csv_hint

RANKS = (1, 5, 10)
COMMENT = re.compile("#(?: |[^\t]*$)")  # `#tag TAB tag` is a pair

Pair = tuple[ReadWord | None, ReadWord | None]  # noisy and normal; None for what cannot be read


@dataclass(frozen=True)
class NormalisationScore(JsonResult):
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
        value = super().to_dict()
        del value["found"]
        return value | {f"accuracy@{k}": share for k, share in self.accuracy.items()}


@keywords(MeasureOptions)
def text_normalisation(options: MeasureOptions) -> tuple[NormalisationScore, ...]:
    """Accuracy at 1, 5 and 10 of each file (noisy TAB normal, a pair a line) at each tap.

    The noisy form itself, `</s>` and `<unk>` are never an answer. The rest as `neighbours`.

    Raises:
        ConfigError: as `neighbours`.
        DataError: a file of another format.
    """
    return measured(options, read=_read_pairs, score=_score)


def _read_pairs(path: str | Path, reader: Reader) -> list[Pair]:
    name = display_name(path)
    pairs: list[Pair] = []
    for number, line in read_lines(path):
        if not line.strip(" \t") or COMMENT.match(line):
            continue
        fields = line.split("\t")
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise DataError(
                f"{name}:{number}: found {line!r:.60}; expected noisy TAB normal{csv_hint(line)}"
            )
        noisy, normal = map(reader.try_to_read, fields)
        pairs.append((noisy, normal))
    if not pairs:
        raise DataError(f"{name}: no pair in it; expected noisy TAB normal, a pair a line")
    return pairs


def _score(pairs: list[Pair], opened: OpenVectors, *, tap: str, name: str) -> NormalisationScore:
    inside = [
        (noisy, normal)
        for noisy, normal in pairs
        if normal is not None and normal.is_known and normal.number not in (END, UNK)
    ]
    asked = [
        (noisy, normal.form)
        for noisy, normal in inside
        if noisy is None or noisy.form != normal.form
    ]
    readable = [
        (noisy, normal)
        for noisy, normal in asked
        if noisy is not None and opened.vectors.reads(noisy, tap=tap)
    ]
    found = dict.fromkeys(RANKS, 0)
    if readable:
        # A noisy form may stand in several pairs.
        distinct = {noisy.identity: noisy for noisy, _ in readable}
        queries_QE = opened.units_of(distinct.values(), tap=tap).of(distinct.values())
        left_out = [{END, UNK, each.number} for each in distinct.values()]
        nearest = opened.search(tap).nearest(queries_QE, k=max(RANKS), left_out=left_out)
        words = {
            identity: [near.word for near in hood]
            for identity, hood in zip(distinct, nearest, strict=True)
        }
        for k in RANKS:
            found[k] = sum(normal in words[noisy.identity][:k] for noisy, normal in readable)
    return NormalisationScore(
        file=name,
        tap=tap,
        n_pairs=len(pairs),
        n_same=len(inside) - len(asked),
        n_outside=len(pairs) - len(inside),
        n_asked=len(asked),
        n_unread=len(asked) - len(readable),
        found=found,
    )
