"""Word pairs with human scores, and Spearman's rho of the scores and the vectors' cosines.

Rho depends on the pairs as much as on the vectors: a figure over the pairs whose words are both in
the vocabulary is not comparable with one over all pairs that could be read by spelling.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from charlm.errors import DataError
from charlm.insight.vectors.inputs import OpenVectors, measured
from charlm.insight.vectors.neighbourhood import DECIMALS
from charlm.insight.vectors.nn_options import MeasureOptions
from charlm.insight.vectors.taps import Reader, ReadWord, are_known
from charlm.interface.json_results import JsonResult
from charlm.interface.options import keywords
from charlm.text.io.files import display_name
from charlm.text.io.lines import number_in, read_lines, split_words
from charlm.text.io.table_lines import csv_hint

LEAST_PAIRS = 3  # rho of two is 1 or -1 whatever they are

Pair = tuple[ReadWord | None, ReadWord | None]  # None: not one word, or not readable
ScoredPair = tuple[Pair, float]


@dataclass(frozen=True)
class Similarity(JsonResult):
    """How well the cosines at one tap agree with the scores of one file."""

    file: str
    tap: str
    n_pairs: int
    n_known: int  # pairs of two words of the vocabulary
    n_spelled: int  # further pairs, read with a word's spelling
    rho_known: float | None  # over the known; None where too few or all of one score
    rho: float | None  # over both


@keywords(MeasureOptions)
def word_similarity(options: MeasureOptions) -> tuple[Similarity, ...]:
    """Spearman's rho of each file's scores and the cosines at each tap, coverage beside it.

    A line has word, word, score and perhaps more, separated by TABs, or by blanks if there is no
    TAB; lines that begin with # and one heading are skipped. The rest as `neighbours`.

    Raises:
        ConfigError: as `neighbours`.
        DataError: a file of another format.
    """
    return measured(options, read=_read_pairs, score=_similarity)


def _read_pairs(path: str | Path, reader: Reader) -> list[ScoredPair]:
    name, has_heading = display_name(path), False
    pairs: list[ScoredPair] = []
    for number, line in read_lines(path):
        if not line.strip(" \t") or line.startswith("#"):
            continue
        fields = line.split("\t") if "\t" in line else split_words(line)
        score = number_in(fields[2]) if len(fields) > 2 else math.nan
        if math.isfinite(score):
            one, other = (reader.try_to_read(word) for word in fields[:2])
            pairs.append(((one, other), score))
        elif len(fields) < 3 or pairs or has_heading:
            found = repr(fields[2] if len(fields) > 2 else line)
            raise DataError(
                f"{name}:{number}: found {found:.60}; expected word, word, score{csv_hint(line)}"
            )
        else:
            has_heading = True
    if not pairs:
        raise DataError(f"{name}: no pair in it; expected word, word, score a line")
    return pairs


def _similarity(pairs: list[ScoredPair], opened: OpenVectors, *, tap: str, name: str) -> Similarity:
    found = opened.units_of((word for words, _ in pairs for word in words), tap=tap)
    readable = [(words, score) for words, score in pairs if found.has(*words)]
    known = [n for n, (words, _) in enumerate(readable) if are_known(words)]
    one_NE, other_NE = (found.of(words[i] for words, _ in readable).double() for i in (0, 1))
    # Rounded: a cosine's last digits depend on the batch, and would order what is equal.
    cosines = np.round((one_NE * other_NE).sum(dim=1).numpy(), DECIMALS)
    scores = np.array([score for _, score in readable])
    return Similarity(
        file=name,
        tap=tap,
        n_pairs=len(pairs),
        n_known=len(known),
        n_spelled=len(readable) - len(known),
        rho_known=spearman(scores[known], cosines[known], least=LEAST_PAIRS),
        rho=spearman(scores, cosines, least=LEAST_PAIRS),
    )


def spearman(one: np.ndarray, other: np.ndarray, *, least: int = 2) -> float | None:
    """Spearman's rho, ties at their mean rank; None for fewer than `least`, or all equal."""
    if len(one) < least or len(set(one)) < 2 or len(set(other)) < 2:
        return None
    from scipy.stats import spearmanr  # loaded where it is used: it takes a second

    return float(spearmanr(one, other).statistic)
