"""The features of a list's hypotheses as a table, and their weighted sum.

Every list has the features `words` and `oov`; a column of the list with one of these names replaces
it. The sum is computed feature by feature, not as a matrix product: equal rows must get totals that
are equal to the last bit, or ties would go unnoticed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import LARGEST, NbestList

Floats = npt.NDArray[np.float64]

AM, WORDS, OOV = "am", "words", "oov"
UNNAMED = re.compile("c[0-9]+")  # a column of numbers in a table without a header


@dataclass(frozen=True)
class FeatureTable:
    """The features of one list's hypotheses, in its order."""

    names: tuple[str, ...]
    values_HF: Floats  # in nats where they are log-probabilities

    def take(self, names: Sequence[str]) -> "FeatureTable":
        """The table with only these features, in this order.

        Raises:
            ConfigError: an unknown feature; the message lists the known ones.
        """
        require_known(names, self.names)
        return FeatureTable(tuple(names), self.values_HF[:, [self.names.index(n) for n in names]])


def require_known(
    names: Iterable[str], known: Sequence[str], *, place: str | Path = "", remedy: str = ""
) -> None:
    """Raises ConfigError for a name that is not known; the message lists the known ones."""
    where = f"{place}: " if place else ""
    for name in names:
        if name not in known:
            column = next(filter(UNNAMED.fullmatch, known), None)
            hint = f"; {column} is a column without a name, which --columns gives" if column else ""
            raise ConfigError(
                f"{where}weight {name!r}: no such feature; this list has {', '.join(known)}"
                f"{hint}{remedy}"
            )


def feature_table(
    nbest: NbestList,
    *,
    added: Mapping[str, Sequence[float]] | None = None,
    n_oov: Sequence[int] | None = None,
) -> FeatureTable:
    """The list's own features, those `added` by scoring, and `words` and `oov`.

    `added` has one number for each hypothesis, and so does `n_oov`, the counts of unknown words.
    Without `n_oov`, `oov` is 0.

    Raises:
        ConfigError: an added feature that the list already has.
        DataError: a hypothesis that lacks a feature, or whose feature is not a finite number.
    """
    own = dict.fromkeys(name for each in nbest.hypotheses for name in each.features)
    columns = {name: _column(nbest, name) for name in own}  # in the order in which they first occur
    for name, values in (added or {}).items():
        if name in columns:
            raise ConfigError(
                f"{nbest.hypotheses[0].place}: the list has a feature {name!r} already, and "
                "scoring adds one; rename its column, or leave it out"
            )
        columns[name] = _checked(nbest, name, values=values)
    columns.setdefault(WORDS, np.array([len(each.words) for each in nbest.hypotheses]))
    columns.setdefault(OOV, np.array(n_oov or [0] * len(nbest.hypotheses)))
    table_HF = np.stack(list(columns.values()), axis=1).astype(np.float64)
    return FeatureTable(tuple(columns), table_HF)


def require_same_names(
    lists: Sequence[NbestList], tables: Sequence[FeatureTable], *, needed: Sequence[str] = ()
) -> None:
    """Raises DataError if a list does not have the same features as the first one.

    If some are `needed`, the others may differ, as the rare features of translation systems do.
    """
    compared = [{n for n in table.names if not needed or n in needed} for table in tables]
    for nbest, table, names in zip(lists, tables, compared, strict=True):
        if names != compared[0]:
            raise DataError(
                f"{nbest.hypotheses[0].place}: features {', '.join(table.names)}; expected those "
                f"of the first list: {', '.join(tables[0].names)}; or name those that all have "
                "(--tuned)"
            )


def tie_order(table: FeatureTable) -> npt.NDArray[np.intp]:
    """Rows in the order in which ties are broken: larger `am` first, then the list's order.

    Without a feature `am`, only the list's order counts.
    """
    if AM not in table.names:
        return np.arange(len(table.values_HF))
    am_H = table.values_HF[:, table.names.index(AM)]
    return np.argsort(-am_H, kind="stable")


def weighted(values_HF: Floats, weights_F: Sequence[float] | Floats) -> Floats:
    """Σ weight·feature of each row, (H,); equal rows get sums that are equal to the last bit."""
    totals_H = np.zeros(len(values_HF))
    for weight, column_H in zip(weights_F, values_HF.T, strict=True):
        if weight:
            totals_H += weight * column_H
    return totals_H


def _column(nbest: NbestList, name: str) -> Floats:
    for hypothesis in nbest.hypotheses:
        if name not in hypothesis.features:
            raise DataError(
                f"{hypothesis.place}: no feature {name!r}, which others of list {nbest.id!r} have; "
                "expected it of all or of none; --allow-missing takes the worst of the list"
            )
    values = [hypothesis.features[name] for hypothesis in nbest.hypotheses]
    return _checked(nbest, name, values=values)


def _checked(nbest: NbestList, name: str, *, values: Sequence[float]) -> Floats:
    column_H = np.asarray(values, np.float64)
    if column_H.shape != (len(nbest.hypotheses),):
        raise ValueError(f"{len(values)} values of {name!r} for {len(nbest.hypotheses)} hypotheses")
    is_bad_H = ~(np.abs(column_H) <= LARGEST)  # NaN compares false
    if is_bad_H.any():
        rank = int(is_bad_H.argmax())
        raise DataError(
            f"{nbest.hypotheses[rank].place}: feature {name!r} is {column_H[rank]}; "
            "expected a finite number"
        )
    return column_H
