"""Tables with one hypothesis per line; the columns are named by a header or by the user.

Numbers are in nats, larger is better, unless a column's name says otherwise: `am:cost`, `lm:log10`.
Without names, the first column is the id and the last is the text. A second column that counts the
lines of an id from 0 or 1 is the rank; other numbers in between are features named after their
place: c3, c4.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from charlm.errors import CharlmError, ConfigError, DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.reading.format import FEATURE, Sample, Source
from charlm.nbest.reading.list_lines import Line, Lines, OpenSource, lines_of
from charlm.nbest.reading.policies import (
    check_options,
    is_number,
    number,
    plain_words,
    refuse_twice,
    score_text,
)
from charlm.nbest.reading.repairs import Notices, filled
from charlm.nbest.reading.templates import ListBuilder, OtherLine, Row, TemplateFormat
from charlm.text.io.paths import is_pipe
from charlm.text.io.table_lines import (
    IDS,
    REFERENCES,
    TEXTS,
    csv_hint,
    may_name_columns,
    names_columns,
)

ROLES = (IDS, TEXTS, REFERENCES, ("rank",), ("recording",))
COUNTS = ("word", "words")  # a number if another column is the text
SKIPPED = "-"  # names a column without meaning; pandas leaves its index column without a name
NO_FEATURE = f"; if this is no feature, --columns gives it the name {SKIPPED}"
UNITS = {"ln": 1.0, "log10": log(10), "log2": log(2), "cost": -1.0}  # nats per unit
MISSING = ("NA", "")  # how R and pandas write missing values
RANK = re.compile("[0-9]{1,9}")
RECOGS = re.compile(r"(ref|hyp)=\[.*\]")  # behind an id, a colon and a TAB, as icefall writes it
# NeMo's files of beams have no ids: each list has the same number of lines.
WITHOUT_IDS = (
    "if they have no ids, as NeMo's beams, put some before them "
    "(of 4 a list: awk '{print int((NR-1)/4) \"\\t\" $0}' FILE), and "
)
TRN_ID = re.compile(r"\([^()0-9]*+[0-9][^()]*\)")  # behind a text and a TAB, as ESPnet writes it


@dataclass(frozen=True)
class Columns:
    names: tuple[str, ...]
    roles: Mapping[str, int]  # the column of each role, by the role's first name; has id and text
    features: tuple[tuple[int, str, float], ...]  # column, name, nats per unit


@dataclass(frozen=True)
class _Cells:
    fields: tuple[str, ...]  # as they are written
    columns: Columns


Fields = list[str]


class TsvFormat(TemplateFormat):
    """A table; the new feature becomes a column before the text, in nats, named in the header.

    Columns: `id` and `text`; optionally `rank`, `ref`, `recording`, `-` or no name (kept, without
    meaning), and features. If `NA` or nothing stands in all hypotheses of a list, the list lacks
    the feature; in only some of them, it is treated as NaN. Hypotheses are read in order of rank;
    re-ranked lines get the ranks of their new places. Lines that begin with `#` and blank lines are
    comments.
    """

    name = "tsv"
    mark, marks = "\t", "TABs"  # between fields

    def claims(self, sample: Sample) -> bool:
        """Every line has as many TABs as the first, at least one, and the first is not JSON."""
        lines = [line for line in sample.lines if not is_comment(line)]
        if not lines or any(line.count("\t") != lines[0].count("\t") for line in lines):
            return False
        fields = lines[0].split("\t")
        return len(fields) > 1 and not fields[0].startswith(("{", "["))

    def read(self, source: Source) -> Iterator[NbestList]:
        check_options(source, self.name, "columns")
        with lines_of(source) as lines:
            rows = self._rows(lines, source, _sample(source, lines))
            for found in ListBuilder(source, name=lines.name).lists(rows):
                yield _whole(found, source.notices) if source.allow_missing else found

    def piece(self, hypothesis: Hypothesis, score: float | None, *, at: Hypothesis) -> str:
        original, there = hypothesis.original, at.original
        assert isinstance(original, _Cells)
        assert isinstance(there, _Cells)
        fields, columns = list(original.fields), original.columns
        if "rank" in columns.roles:
            rank = columns.roles["rank"]
            fields[rank] = there.fields[rank]
        if score is not None:
            refuse_twice(hypothesis)
            fields.insert(columns.roles["text"], score_text(score, hypothesis))
        return self.mark.join(fields)

    def records(self, lines: Iterator[Line]) -> Iterator[tuple[Line, Fields, Fields]]:
        """Lines with their fields, as they are read and as they are written."""
        for line in lines:
            fields = line.text.split(self.mark)
            yield line, fields, fields

    def guessed(self, fields: Fields, line: Line, *, sample: tuple[str, ...]) -> Columns:
        """The columns of a table without names, guessed from its first lines.

        Raises:
            DataError: a single field; scores, or sclite's ids, where the texts should be.
        """
        if len(fields) < 2:
            raise DataError(
                f"{line.place}: found no TAB; expected fields between TABs, the first an id, the "
                f"last a text{csv_hint(fields[0])}"
            )
        rows = [each.split("\t") for each in sample if not is_comment(each)]
        lasts = [row[-1] for row in rows]
        if _are_scores(lasts):
            raise DataError(
                f"{line.place}: found numbers alone in the last column, as {fields[-1]!r:.40}; "
                f"expected texts; {WITHOUT_IDS if len(fields) == 2 else ''}name the columns with "
                "--columns, as id,text,am"
            )
        if lasts and all(map(RECOGS.fullmatch, lasts)):
            raise DataError(
                f"{line.place}: found a reference or its only hypothesis, {fields[-1]!r:.40}, as "
                "in icefall's recogs; expected lists of hypotheses; give its n-best lists"
            )
        if lasts and all(map(TRN_ID.fullmatch, lasts)):
            raise DataError(
                f"{line.place}: found ids alone in the last column, as {fields[-1]!r:.40}, where "
                "sclite has them; expected texts; give --format trn"
            )
        names = ["id", *(SKIPPED for _ in fields[2:]), "text"]
        rows = rows or [fields]
        for column in range(1, len(fields) - 1):
            said = (row[column] for row in rows if row[column:] and row[column] not in MISSING)
            if is_number(next(said, "0").strip(" ")):  # a number that is always missing is one
                names[column] = f"c{column + 1}"
        if len(fields) > 2 and _are_ranks(rows):
            names[1] = "rank"
        return columns_named(names, line.place, error=DataError)

    def _rows(
        self, lines: Iterator[Line], source: Source, sample: tuple[str, ...]
    ) -> Iterator[Row | OtherLine]:
        said = source.columns
        columns = columns_named(said, "columns", error=ConfigError) if said else None
        begun = False
        for line, fields, raw in self.records(lines):
            if is_comment(line.text):
                if begun and columns and len(fields) == len(columns.names):
                    source.notices.pass_over("rows whose id begins with #, a comment's sign", 1)
                yield OtherLine(line)
                continue
            if not begun:
                begun = True
                if names_columns(fields):
                    _require_one_order(said, fields, place=line.place)
                    columns = columns or columns_named(fields, line.place, error=DataError)
                    self.check_width(fields, columns, place=line.place)
                    at = columns.roles["text"]
                    yield OtherLine(line, self.mark.join([*raw[:at], FEATURE, *raw[at:]]))
                    continue
                columns = columns or self.guessed(fields, line, sample=sample)
                if may_name_columns(fields):
                    self.check_width(fields, columns, place=line.place)
                    _refuse_names(fields, columns, place=line.place)
                    source.notices.headings.append(line.place)
            assert columns is not None  # the first line named them
            self.check_width(fields, columns, place=line.place)
            yield _row(line, fields, _Cells(tuple(raw), columns))

    def check_width(self, fields: Fields, columns: Columns, *, place: str) -> None:
        """Raises DataError for a row of more or fewer fields than there are columns."""
        if len(fields) != len(columns.names):
            raise DataError(
                f"{place}: found {len(fields)} fields between {self.marks}; expected "
                f"{len(columns.names)} ({','.join(columns.names)})"
            )


def _require_one_order(said: Sequence[str], header: Fields, *, place: str) -> None:
    """Raises ConfigError where a header has the names that were said, but in another order."""
    if sorted(said) == sorted(header) and list(said) != header:
        raise ConfigError(
            f"{place}: the header names {','.join(header)}, and --columns (or the file of weights) "
            f"{','.join(said)}; expected one order; give --columns as the header has it"
        )


def _refuse_names(fields: Fields, columns: Columns, *, place: str) -> None:
    """Raises DataError for a line that could be a header and has words where features stand."""
    features = [fields[column].strip(" ") for column, _, _ in columns.features]
    if any(field not in MISSING and not is_number(field) for field in features):
        raise DataError(
            f"{place}: found names where features stand, as in a header; call its columns as "
            f"--columns does ({','.join(columns.names)}), or begin the line with #"
        )


def _whole(nbest: NbestList, notices: Notices) -> NbestList:
    """The list with a value for each feature of the table, also where it has none itself."""
    cells = nbest.hypotheses[0].original
    assert isinstance(cells, _Cells)
    return filled(nbest, [name for _, name, _ in cells.columns.features], notices=notices)


def _sample(source: Source, lines: Lines) -> tuple[str, ...]:
    """The first lines; none for a pipe that was not sampled before, since that could take long."""
    if isinstance(source, OpenSource):
        return source.sample.lines
    return () if is_pipe(source.path) else lines.sample()


def is_comment(line: str) -> bool:
    """Whether a line of a table is a comment or blank, not a row."""
    return line.startswith("#") or not line.strip(" \t")


def _row(line: Line, fields: Fields, cells: _Cells) -> Row:
    columns = cells.columns
    said = {role: fields[column] for role, column in columns.roles.items()}
    if not said["id"]:
        raise DataError(f"{line.place}: found an empty id; expected the name of an utterance")
    return Row(
        line,
        said["id"],
        plain_words(said["text"], line.place),
        {
            name: nats
            * number(fields[column].strip(" "), f"{line.place}: column {name!r}", remedy=NO_FEATURE)
            for column, name, nats in columns.features
            if fields[column] not in MISSING
        },
        cells,
        rank=_rank(said["rank"], line.place) if "rank" in said else None,
        recording=said.get("recording", ""),
        reference=plain_words(said["ref"], line.place) if "ref" in said else None,
    )


def _rank(field: str, place: str) -> int:
    if not RANK.fullmatch(field):
        raise DataError(
            f"{place}: column 'rank': found {field[:40]!r}; expected a whole number; "
            "name the columns with --columns, '-' for one without meaning"
        )
    return int(field)


def columns_named(names: Sequence[str], where: str, *, error: type[CharlmError]) -> Columns:
    """The columns with these names.

    Raises:
        CharlmError: of the type `error`: no id, no text, a repeated name, an unknown unit.
    """
    found: dict[str, int] = {}
    features = []
    for column, name in enumerate(names):
        plain, mark, unit = name.partition(":")
        role = _role(plain, names)
        if name == "" or role == SKIPPED:
            continue
        if role in found or not role:
            raise error(
                f"{where}: found the column {name!r} twice or without a name; expected each once, "
                f"{SKIPPED!r} for one without meaning"
            )
        found[role] = column
        is_feature = all(role != synonyms[0] for synonyms in ROLES)
        if mark and not (is_feature and unit in UNITS):
            raise error(
                f"{where}: found the column {name!r}; expected a unit among {', '.join(UNITS)}, "
                "and after the name of a feature alone"
            )
        if is_feature:
            features.append((column, plain, UNITS[unit or "ln"]))
    for role in ("id", "text"):
        if role not in found:
            raise error(
                f"{where}: found no column {role!r} among {','.join(names)!r:.80}; expected one"
            )
    roles = {role: found[role] for role, *_ in ROLES if role in found}
    return Columns(tuple(names), roles, tuple(features))


def _role(name: str, names: Sequence[str]) -> str:
    """The role of a column; that of a feature is its own name."""
    plain = name.lower()
    if plain in COUNTS and any(
        each.lower() in TEXTS and each.lower() not in COUNTS for each in names
    ):
        return name
    return next((synonyms[0] for synonyms in ROLES if plain in synonyms), name)


def _are_scores(fields: Sequence[str]) -> bool:
    """Whether all are numbers, but not all are digits alone, which may be spoken text."""
    return all(map(is_number, fields)) and not all(map(str.isdecimal, fields))


def _are_ranks(rows: Sequence[Sequence[str]]) -> bool:
    """Whether second fields count the lines of each id from 0, or from 1, which comes first.

    The last id may have more lines than these, so its numbers may have gaps.
    """
    ranks: dict[str, list[int]] = {}
    for key, *rest in rows:
        if rest and not is_comment(key):
            if not RANK.fullmatch(rest[0]):
                return False
            ranks.setdefault(key, []).append(int(rest[0]))
    if {found[0] for found in ranks.values()} not in ({0}, {1}):
        return False
    *whole, last = ranks.values()
    are_counts = all(sorted(each) == [*range(each[0], each[0] + len(each))] for each in whole)
    return are_counts and len(set(last)) == len(last)
