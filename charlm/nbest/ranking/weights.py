"""The weights of features, the JSON file that keeps them, and the ranking that they give.

The weight of a feature that is not named is 0. A file written by tuning records the lists used, so
that nobody reports an error rate on the lists that the weights were tuned on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeGuard, get_args

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import LARGEST, Dedup, NbestList, Rescored, Sureness
from charlm.nbest.ranking.features import FeatureTable, Floats, require_known, tie_order, weighted
from charlm.nbest.references.fingerprint import Fingerprint
from charlm.settings import as_assignments, shown
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.normalisation.pieces import ReadAs
from charlm.text.io.files import read_json, write_json
from charlm.text.io.lines import number_in

FORMAT = 1
OF_THE_TUNING = "; expected what the weights were tuned with, models by --model, --lm or --old-lm"


@dataclass(frozen=True)
class Origin:
    """How weights were tuned."""

    metric: str  # the signature of the error rate
    error: float  # on the tuning lists, as a share
    seed: int
    version: str  # of charlm
    lists: Fingerprint
    spelled: bool | None = None  # unknown words, by their spelling; None: the file does not say
    # What models knew of earlier lists; empty: nothing; None: the file does not say.
    history: str | None = None
    spelled_by: tuple[str, ...] = ()  # the scorers that spelled; empty: none, or it does not say
    unknown: float | None = None  # share of the words; None: the file does not say

    def to_dict(self) -> dict[str, object]:
        found = {
            "metric": self.metric,
            "error": self.error,
            "seed": self.seed,
            "charlm": self.version,
            "open_vocabulary": self.spelled,
            "lists": self.lists.to_dict(),
            "history": self.history,
            "spelled_by": list(self.spelled_by) or None,
            "unknown": self.unknown,
        }
        return {name: value for name, value in found.items() if value is not None}


class ListLayout(NamedTuple):
    """How the tuning lists were read; other lists of their format take the same columns."""

    format: str
    columns: tuple[str, ...]  # of a table; empty: from its header, or guessed
    length_penalty: float | None = None  # taken out of the scores; None: the file does not say


class Pieces(NamedTuple):
    """How pieces of words in the tuning lists were read."""

    mark: str  # by which they were joined to words
    read_as: ReadAs  # what the models read


@dataclass(frozen=True)
class Weights:
    """The weight of each feature; 0 for those not named."""

    values: Mapping[str, float]
    origin: Origin | None = None  # None: not tuned
    # Text rules of the tuning, beyond the model's own; None: not known.
    text: Normalisation | None = None
    raw: bool | None = None  # tuned without the model's own text rules; None: not known
    unnormalised: bool | None = None  # tuned on such scores of models; None: not known
    lists: ListLayout | None = None  # None: not known
    pieces: Pieces | None = None  # None: none were joined
    # Shares of the models that were mixed word by word (--mix); empty: each model was a feature.
    mixture: Mapping[str, float] = field(default_factory=dict)
    sureness: Sureness | None = None  # None: not fitted

    def of(self, table: FeatureTable, *, place: str = "") -> Floats:
        """The weights in the order of the table's features, (F,).

        Raises:
            ConfigError: a weight for a feature that the table, of a list at `place`, lacks.
        """
        require_known(self.values, table.names, place=place)
        return np.array([self.values.get(name, 0.0) for name in table.names])

    def tie_order(self, table: FeatureTable) -> npt.NDArray[np.intp]:
        """Rows in the order in which ties are broken: the list's if no feature has a weight."""
        return tie_order(table) if any(self.values.values()) else np.arange(len(table.values_HF))

    def to_dict(self) -> dict[str, object]:
        """The JSON object that the file holds."""
        found = {
            "format": FORMAT,
            "weights": dict(self.values),
            "text": self.text and self.text.to_dict(),
            "raw": self.raw,
            "unnormalised": self.unnormalised,
            "mixture": dict(self.mixture) or None,
            "sureness": self.sureness and self.sureness._asdict(),
            "lists": self.lists and self.lists._asdict(),
            "pieces": self.pieces and self.pieces._asdict(),
            "tuned": self.origin and self.origin.to_dict(),
        }
        return {name: value for name, value in found.items() if value is not None}

    def with_scale(self, scale: float | None) -> "Weights":
        """These weights with another scale for posteriors; None leaves theirs."""
        if scale is None:
            return self
        return replace(self, sureness=(self.sureness or Sureness())._replace(scale=scale))

    def save(self, path: str | Path) -> None:
        """Write the weights to `path`, whole or not at all."""
        write_json(path, self.to_dict(), through_links=True)


def rescored(
    nbest: NbestList,
    table: FeatureTable,
    *,
    weights: Weights,
    scores: Sequence[float] = (),
    dedup: Dedup = "none",
) -> Rescored:
    """The list ranked by its totals; ties are broken by `am`, then by the list's order.

    `scores` are the values that a writer adds to the list as the feature `charlm`. `dedup` decides
    the common total of hypotheses with the same words. If no feature has a weight, the list keeps
    its order, except that by `sum` a text counts as often as it stands there.

    Raises:
        ConfigError: a weight for a feature that this list lacks.
    """
    if not weights.values and dedup == "none":
        return Rescored(nbest, tuple(scores))
    totals_H = weighted(table.values_HF, weights.of(table, place=nbest.hypotheses[0].place))
    ties = weights.tie_order(table)
    order = ties[np.argsort(-totals_H[ties], kind="stable")].tolist()
    totals, sureness = tuple(totals_H.tolist()), weights.sureness or Sureness()
    plain = Rescored(nbest, tuple(scores), totals, tuple(order), sureness=sureness)
    return plain if dedup == "none" else deduplicated(plain, dedup)


def deduplicated(item: Rescored, dedup: Dedup) -> Rescored:
    """The list with hypotheses of the same words grouped together, the best of each group first.

    Several derivations or alignments of the same words each keep their line and features, but share
    one total: the largest, or log Σ exp(scale·total) / scale, since probabilities add up over
    derivations: of tuned weights only the ratios have a meaning, and the scale makes the totals
    logarithms of posteriors. At 0 the most frequent words win. Ties are broken as before.
    """
    scale = item.sureness.positive_scale
    groups: dict[tuple[str, ...], list[int]] = {}
    for index in item.ranking:
        groups.setdefault(item.nbest.hypotheses[index].words, []).append(index)
    totals = list(item.totals)
    for members in groups.values():
        own = [item.totals[index] for index in members]
        common = max(own)
        if dedup == "sum":  # a text that comes once keeps its total to the bit
            common += float(np.logaddexp.reduce(scale * (np.array(own) - common))) / scale
        for index in members:
            totals[index] = common
    ranked = sorted(groups.values(), key=lambda members: -totals[members[0]])
    return replace(
        item,
        totals=tuple(totals),
        order=tuple(index for members in ranked for index in members),
        duplicates=frozenset(index for members in ranked for index in members[1:]),
    )


def parse_weights(
    path: str | Path | None,
    overrides: Sequence[str] | Mapping[str, float] = (),
    *,
    known: Sequence[str] | None = None,
    base: Mapping[str, float] | None = None,
) -> Weights:
    """The weights of a file, else those of `base`, overridden by `nn=.6` and the like.

    A file's origin is kept in spite of overrides: the other weights were still tuned on its lists.

    Raises:
        ConfigError: an override that is not NAME=NUMBER, two of one name, or a feature that is not
            `known`; in a file this is most likely the feature of a model that was not given.
        DataError: a file that does not hold weights.
    """
    weights = load_weights(path) if path is not None else Weights(dict(base or {}))
    changes: dict[str, float] = {}
    for text in as_assignments(overrides):
        name, value = _parse_override(text)
        if name in changes:
            raise ConfigError(f"--weight {shown(text)}: {name} stands twice; expected it once")
        changes[name] = value
    if known is not None:
        if path is not None:
            require_known(weights.values, known, place=path, remedy=OF_THE_TUNING)
        require_known([*weights.values, *changes], known)
    if not changes:
        return weights
    return replace(weights, values={**weights.values, **changes})


def _parse_override(text: str) -> tuple[str, float]:
    name, equals, digits = text.partition("=")
    value = number_in(digits)
    if not (name and equals and abs(value) <= LARGEST):  # NaN compares false
        raise ConfigError(f"--weight {shown(text)}: expected NAME=NUMBER, as nn=.6, up to 1e30")
    return name, value


def load_weights(path: str | Path) -> Weights:
    """The weights in a file, whose content is not trusted.

    Raises:
        DataError: no such file, a pipe, or not a file of weights.
    """
    if str(path) == "-" or Path(path).is_fifo():
        raise DataError(f"{path}: a pipe; expected a file of weights: it is read more than once")
    if not Path(path).is_file():
        found = "is a folder" if Path(path).is_dir() else "no such file"
        raise DataError(f"{path}: {found}; expected weights, as charlm tune writes them")
    content = read_json(path)
    is_object = isinstance(content, dict)
    if not is_object or content.get("format") != FORMAT or "weights" not in content:
        raise DataError(f"{path}: not a file of weights; expected one that charlm tune wrote")
    values = _parse_numbers(content["weights"], "weights are", path=path)
    mixture = _parse_numbers(content.get("mixture", {}), "mixture is", path=path)
    origin = _parse_origin(content["tuned"], path=path) if "tuned" in content else None
    text = Normalisation.from_dict(content["text"], str(path)) if "text" in content else None
    flags = {name: content.get(name) for name in ("raw", "unnormalised")}
    for name, flag in flags.items():
        if not isinstance(flag, bool | None):
            raise DataError(f"{path}: {name} is {shown(flag)}; expected true or false")
    lists = _parse_layout(content["lists"], path=path) if "lists" in content else None
    pieces = _parse_pieces(content["pieces"], path=path) if "pieces" in content else None
    sureness = _parse_sureness(content["sureness"], path=path) if "sureness" in content else None
    return Weights(
        values,
        origin,
        text,
        lists=lists,
        pieces=pieces,
        mixture=mixture,
        sureness=sureness,
        **flags,
    )


def _parse_sureness(value: object, *, path: str | Path) -> Sureness:
    numbers = _parse_numbers(value, "sureness is", path=path)
    if numbers.keys() != {*Sureness._fields} or min(numbers.values()) < 0 or numbers["ceiling"] > 1:
        raise DataError(
            f"{path}: sureness is {shown(value)}; expected a scale, 0 or more, and a ceiling of 0 "
            "to 1"
        )
    return Sureness(**numbers)


def _parse_numbers(values: object, found: str, *, path: str | Path) -> dict[str, float]:
    if not isinstance(values, dict) or not all(map(_is_number, values.values())):
        raise DataError(f"{path}: {found} {shown(values)}; expected an object of numbers")
    return {name: float(value) for name, value in values.items()}


def _parse_pieces(value: object, *, path: str | Path) -> Pieces:
    if isinstance(value, dict) and value.keys() == {*Pieces._fields}:
        mark, read_as = value["mark"], value["read_as"]
        if isinstance(mark, str) and mark and read_as in get_args(ReadAs):
            return Pieces(mark, read_as)
    raise DataError(f"{path}: pieces is {shown(value)}; expected a mark, and words or pieces")


def _parse_layout(lists: object, *, path: str | Path) -> ListLayout:
    if isinstance(lists, dict) and isinstance(lists.get("format"), str):
        columns, penalty = lists.get("columns"), lists.get("length_penalty")
        if _are_names(columns) and (penalty is None or _is_number(penalty)):
            return ListLayout(lists["format"], tuple(columns), penalty)
    raise DataError(
        f"{path}: lists is {shown(lists)}; expected format and columns, as charlm tune writes them"
    )


def _parse_origin(tuned: object, *, path: str | Path) -> Origin:
    lists = Fingerprint.parse(tuned.get("lists")) if isinstance(tuned, dict) else None
    if (
        isinstance(tuned, dict)
        and lists is not None
        and isinstance(tuned.get("metric"), str)
        and isinstance(tuned.get("charlm"), str)
        and isinstance(tuned.get("seed"), int)
        and _is_number(tuned.get("error"))
    ):
        error = float(tuned["error"])
        spelled, history = tuned.get("open_vocabulary"), tuned.get("history")
        names, unknown = tuned.get("spelled_by", []), tuned.get("unknown")
        is_share = unknown is None or (_is_number(unknown) and 0 <= unknown <= 1)
        is_whole = isinstance(spelled, bool | None) and isinstance(history, str | None)
        if is_whole and is_share and _are_names(names):
            facts = (tuned["metric"], error, tuned["seed"], tuned["charlm"], lists)
            return Origin(*facts, spelled, history, tuple(names), unknown)
    raise DataError(
        f"{path}: tuned is {shown(tuned)}; expected how the weights were tuned, as charlm tune "
        "writes it"
    )


def _are_names(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
