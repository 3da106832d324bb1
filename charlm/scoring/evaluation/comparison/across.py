"""One table across data sets, from what `charlm compare-kn --json` found on each.

A column stands for one training text, one measured text and one vocabulary. Results of several
calls, for example with different orders of Kneser–Ney, share a column only if all three are the
same.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from charlm.errors import ConfigError, DataError
from charlm.interface.json_results import JsonResult
from charlm.interface.options import HOW_READ, Opt, keywords, require_one_stdin, several
from charlm.interface.short_repr import ShortRepr
from charlm.scoring.evaluation.evaluate_options import State
from charlm.text.io.files import display_name, open_bytes, parse_json
from charlm.text.io.lines import MIB
from charlm.text.io.short_names import name_of_all, short_names

TEXTS = re.compile(r"\|(train|data):([0-9a-f]+)(?=\|)")
MOST_BYTES = 64 * MIB  # a comparison takes a few KiB; a small .gz may unpack to any size
BASELINE = re.compile(r"KN-(\d+)")


@dataclass(frozen=True)
class TableOptions:
    """Which comparisons go into the table, and in which state."""

    files: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "What `charlm compare-kn --json` printed, one or several a data set, or - for stdin.",
            is_argument=True,
        ),
    ]
    state: Annotated[State, HOW_READ] = "carried"


@dataclass(frozen=True)
class TableCell:
    """The figures of one model on one data set."""

    ppl: float | None  # None: too large for a floating-point number
    deviation: float | None  # of several trainings, whose mean `ppl` is; None: of one
    percent: float | None  # change from Kneser–Ney's perplexity, + or -; None for itself
    low: float | None  # the 95 % interval of that change; None from a charlm before 0.2
    high: float | None
    signature: str | None


@dataclass(frozen=True)
class Column:
    """One data set: its sizes as Kim et al. count them, and the figures of each model."""

    name: str
    baseline: str  # the Kneser–Ney model of the highest order
    n_words: int  # V
    n_characters: int | None  # C; None where an older charlm wrote the file
    n_morphs: int | None  # M; None where words are not segmented
    n_train_tokens: int | None
    n_tokens: int  # tokens of the measured text
    cells: Mapping[str, TableCell]


@dataclass(frozen=True)
class Table(JsonResult, ShortRepr):
    """Rows are models, columns data sets."""

    state: str
    columns: tuple[Column, ...]

    @property
    def systems(self) -> tuple[str, ...]:
        """The rows: Kneser–Ney by order, then models as given, each followed by its mixture.

        Then those of several trainings, named after the first.
        """
        names = list(dict.fromkeys(name for column in self.columns for name in column.cells))
        return tuple(sorted(names, key=lambda name: _order(name) or 10))


@dataclass
class _DataSet:
    """What the files say about one data set."""

    file: str
    path: Path
    group: dict[str, Any]
    systems: dict[str, dict[str, Any]] = field(default_factory=dict)
    differences: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)


@keywords(TableOptions)
def table(options: TableOptions) -> Table:
    """A table of the files' comparisons, with data sets in the order given.

    >>> found = charlm.compare_kn(data="corpus", order=2)
    >>> with open("corpus.json", "w") as file:
    ...     json.dump(found.to_dict(), file)
    >>> charlm.table("corpus.json").systems
    ('KN-2',)

    Raises:
        ConfigError: no file, or standard input twice.
        DataError: a file that compare-kn did not write, or that has several vocabularies; two
            vocabularies for one data set; one model with different figures; a missing state.
    """
    files = several(options.files)
    if not files:
        raise ConfigError("table: found no file; expected what `charlm compare-kn --json` printed")
    require_one_stdin(files)
    by_texts: dict[object, _DataSet] = {}
    for file in files:
        with open_bytes(file) as opened:
            content = opened.read(MOST_BYTES + 1)
        texts, found = _comparison(content, options.state, file=display_name(file))
        _join(by_texts.setdefault(texts, found), found, state=options.state)
    all_found = list(by_texts.values())
    names = _names([found.path for found in all_found])
    return Table(options.state, tuple(map(_column, names, all_found)))


def _parsed(content: bytes, file: str) -> Any:
    """The JSON object in a file."""
    if not content.startswith((b"{", b"[")):
        raise DataError(
            f"{file}: no JSON; expected what `charlm compare-kn --json` prints; add --json there"
        )
    if len(content) > MOST_BYTES:
        raise DataError(
            f"{file}: larger than {MOST_BYTES // MIB} MiB; expected what `charlm compare-kn "
            "--json` prints"
        )
    value = parse_json(content, file)
    if isinstance(value, list) and value:
        raise DataError(
            f"{file}: a list of {len(value)}; expected one object of `charlm compare-kn --json`; "
            "give each a file of its own"
        )
    return value


def _comparison(content: bytes, state: str, *, file: str) -> tuple[object, _DataSet]:
    """The key of a file's texts, and the comparison in the file."""
    value = _parsed(content, file)
    try:
        path, groups, split = Path(value["data"]), value["groups"], value.get("split", "test")
        group = groups[0]
        systems = {system["name"]: system[state] for system in group["systems"]}
        for each in group.get("seeds", []):
            figures = {"ppl": each[state]["mean"], "deviation": each[state]["deviation"]}
            systems[name_of_all(each["systems"])] = {**figures, "signature": None}
        pairs = {(p["first"], p["second"]): p[state] for p in group["differences"]}
        texts = tuple(sorted(TEXTS.findall(group["systems"][0][state]["signature"])))
        _ = group["n_words_of_vocabulary"], group["n_tokens"]
        if not isinstance(group["vocabulary_sha256"], str):
            raise TypeError("text as 'vocabulary_sha256'")
        for name, figures in systems.items():
            _ = figures["signature"], _order(name)
            numbers = {"ppl": figures["ppl"], "deviation": figures.get("deviation")}
            for key, value in numbers.items():
                if not _is_number_or_none(value):
                    raise TypeError(f"number as {key!r} of {name!r}")
        if not all(_is_difference(each) for each in pairs.values()):
            raise TypeError("object with numbers as each of 'differences'")
    except (KeyError, TypeError, IndexError) as error:
        raise DataError(
            f"{file}: not what `charlm compare-kn --json` prints with --state {state} or both "
            f"(no {error}); make it again"
        ) from None
    if len(groups) > 1:
        raise DataError(
            f"{file}: {len(groups)} vocabularies; expected one, since perplexities over other "
            "words never stand in one column; compare the runs of each in a file of its own"
        )
    path = path if split == "test" else Path(f"{path}:{split}")
    return texts, _DataSet(file, path, group, systems, pairs)


def _is_number_or_none(value: object) -> bool:
    """Whether a value is a finite number, or None, which stands for one that is not finite."""
    return value is None or (isinstance(value, float | int) and abs(value) <= sys.float_info.max)


def _is_difference(value: object) -> bool:
    """Whether a value is an object, with both ends of the ratio's interval or with neither."""
    if not isinstance(value, dict):
        return False
    low, high = value.get("ratio_low"), value.get("ratio_high")
    return _is_number_or_none(low) and _is_number_or_none(high) and (low is None) == (high is None)


def _join(known: _DataSet, found: _DataSet, *, state: str) -> None:
    ours, theirs = (each.group["vocabulary_sha256"] for each in (known, found))
    if ours != theirs:
        raise DataError(
            f"{found.file}: vocabulary {theirs[:12]}, and {known.file} has {ours[:12]} for the "
            "same texts; perplexities over other words never stand in one column; leave one out"
        )
    for name, figures in found.systems.items():
        if known.systems.setdefault(name, figures)["ppl"] != figures["ppl"]:
            raise DataError(
                f"{found.file}: {name} has {figures['ppl']} ({state}), and in {known.file} "
                f"{known.systems[name]['ppl']}; expected a model once a data set; leave one out, "
                "or compare runs of one name in one call, which tells them apart"
            )
    known.differences.update(found.differences)


def _names(paths: list[Path]) -> list[str]:
    """Short names, unless texts have changed between comparisons of one folder."""
    names = short_names(paths)
    if len(set(names)) == len(names):
        return names
    return [f"{path}:{number}" for number, path in enumerate(paths, 1)]


def _order(name: str) -> int | None:
    """The order of a Kneser–Ney model; None for any other model."""
    match = BASELINE.fullmatch(name)
    return int(match[1]) if match else None


def _column(name: str, found: _DataSet) -> Column:
    baseline = max(found.systems, key=lambda each: _order(each) or 0)
    reference = found.systems[baseline]["ppl"]
    cells = {}
    for system, figures in found.systems.items():
        pair = found.differences.get((system, baseline), {})
        has_percent = system != baseline and reference and figures["ppl"] is not None
        cells[system] = TableCell(
            ppl=figures["ppl"],
            deviation=figures.get("deviation"),
            percent=_percent(figures["ppl"] / reference) if has_percent else None,
            low=_percent(pair.get("ratio_low")),
            high=_percent(pair.get("ratio_high")),
            signature=figures["signature"],
        )
    group = found.group
    return Column(
        name=name,
        baseline=baseline,
        n_words=group["n_words_of_vocabulary"],
        n_characters=group.get("n_characters_of_vocabulary"),
        n_morphs=group.get("n_morphs_of_vocabulary"),
        n_train_tokens=group.get("n_train_tokens"),
        n_tokens=group["n_tokens"],
        cells=cells,
    )


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * (ratio - 1)
