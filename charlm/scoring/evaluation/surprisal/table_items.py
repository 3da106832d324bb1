"""Items of an experiment: sentences, and the other columns of their table.

A text has one sentence a line and no columns. CSV and TSV are read by Python's parser: a quoted
field may hold separators, line ends and doubled quotes. Where the decimal separator is a comma
(1,5), spreadsheets write CSV with semicolons, which is recognised from the first line. Some
programs write tables with lone quotes as characters, so a .tsv that is not consistent under these
rules is read without any quoting.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from charlm.errors import ConfigError, DataError
from charlm.scoring.evaluation.surprisal.surprisal_options import TableFormat
from charlm.text.io.files import display_name, unpacked_name
from charlm.text.io.lines import TEXT, LineRules, read_lines
from charlm.text.io.table_lines import SEPARATOR, refuse_tables

SUFFIXES: dict[str, TableFormat] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl"}
SENTENCE_COLUMNS = ("sentence", "text")
LINE_ENDS = re.compile("\r\n?|\n")
GIVEN = "given_"  # prefix for a user's column with the name of one of ours


@dataclass(frozen=True)
class Item:
    """A row of a table, or a line of a text."""

    where: str  # FILE:LINE, for messages
    file: str
    values: dict[str, str | None]  # by column; None: missing
    structures: frozenset[str] = frozenset()  # columns with a list or an object in JSON
    is_line: bool = False  # of a text; only LF ends a line, so a CR within it is a character

    def text(self, column: str) -> str:
        """The sentence in a column, on one line."""
        if column not in self.values:
            raise DataError(f"{self.where}: nothing in column {column!r}; expected a sentence")
        value = self.values[column]
        if column in self.structures:
            raise DataError(
                f"{self.where}: found {value!r:.40} in column {column!r}; expected a sentence as "
                "text, its words between blanks"
            )
        value = value or ""  # null, as pandas writes what is missing, is as an empty cell
        return value if self.is_line else LINE_ENDS.sub(" ", value)


@dataclass(frozen=True)
class Items:
    """All items of some files, and all columns that occur; a text's column is `sentence`."""

    items: tuple[Item, ...]
    columns: tuple[str, ...]
    is_text: bool
    by_file: tuple[range, ...]  # the numbers of each file's items, also of a file that stands twice

    @property
    def shown_columns(self) -> str:
        """The columns for a message: in quotes where blanks or nothing would not be seen."""
        return ", ".join(n if n and n == n.strip(" ") else repr(n) for n in self.columns)

    def require(self, column: str, *, option: str) -> str:
        """The name of a column, which must exist."""
        if column not in self.columns:
            raise ConfigError(
                f"{option} {column!r}: expected one of the columns {self.shown_columns}"
            )
        return column

    def sentence_column(self, column: str | None) -> str:
        """The column of the sentences: the one given, or else the one with a usual name."""
        if column is not None:
            if self.is_text:
                raise ConfigError(
                    f"--column {column!r}: a text has no columns; expected a table, or --format "
                    "csv, tsv or jsonl"
                )
            return self.require(column, option="--column")
        found = [name for name in SENTENCE_COLUMNS if name in self.columns]
        if not found:
            raise ConfigError(
                "no column is called sentence or text; expected --column, one of "
                f"{self.shown_columns}"
            )
        return found[0]

    def names_beside(
        self, is_ours: Callable[[str], bool], *, without: str | None = None
    ) -> dict[str, str]:
        """The names of the user's columns in a table that has columns of ours."""
        names = {name: name for name in self.columns if name != without}
        for name in list(names):
            while is_ours(names[name]) or (names[name] != name and names[name] in names):
                names[name] = f"{GIVEN}{names[name]}"
        return names


def notes_on_names(names: Mapping[str, str]) -> Iterator[str]:
    """What to tell of the user's columns that have other names in our table."""
    return (f"column {a!r} is called {b!r} here" for a, b in names.items() if a != b)


def read_items(
    files: Sequence[str | Path], *, format: TableFormat = "auto", encoding: str = "utf-8"
) -> Items:
    """The items of all files, in order.

    Raises:
        ConfigError: no files, or texts beside tables.
        DataError: no such file, a broken table, or no item.
    """
    if not files:
        raise ConfigError("no files; expected texts or tables, or - for standard input")
    rules = replace(TEXT, encoding=encoding)
    formats = [
        SUFFIXES.get(unpacked_name(path).suffix, "text") if format == "auto" else format
        for path in files
    ]
    if "text" in formats and len(set(formats)) > 1:
        text = display_name(files[formats.index("text")])
        raise ConfigError(
            f"files: found {text}, a text by its name, beside tables; expected either; use --format"
        )
    items, by_file = list[Item](), list[range]()
    for path, each in zip(files, formats, strict=True):
        first = len(items)
        items += READERS[each](path, rules)
        by_file.append(range(first, len(items)))
    if not items:
        names = ", ".join(map(display_name, files))
        raise DataError(f"{names}: no sentence in it; expected one a line, or a table of them")
    columns = tuple(dict.fromkeys(name for item in items for name in item.values))
    return Items(tuple(items), columns, is_text="text" in formats, by_file=tuple(by_file))


def _text_items(path: str | Path, rules: LineRules) -> Iterator[Item]:
    name = display_name(path)
    lines = read_lines(path, rules=rules)
    expected = "a sentence a line, or --format csv or tsv"
    for number, line in refuse_tables(lines, path, expected=expected):
        yield Item(f"{name}:{number}", name, {SENTENCE_COLUMNS[0]: line}, is_line=True)


def _csv_items(path: str | Path, rules: LineRules) -> Iterator[Item]:
    name = display_name(path)
    lines = (line + "\n" for _, line in read_lines(path, rules=rules))
    first = next(lines, "")
    delimiter = ";" if ";" in first and "," not in first else ","
    n_before = 0
    if said := SEPARATOR.fullmatch(first.rstrip("\n")):  # as Excel reads it
        delimiter, n_before, first = said[1], 1, next(lines, "")
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    try:
        yield from _table_items(((n_before + reader.line_num, row) for row in reader), name)
    except csv.Error as error:
        raise DataError(
            f"{name}:{n_before + reader.line_num}: {error}; expected fields between commas, those "
            "with quotes, commas or line ends in quotes, and their quotes doubled"
        ) from None


def _tsv_items(path: str | Path, rules: LineRules) -> list[Item]:
    name = display_name(path)
    lines = [line for _, line in read_lines(path, rules=rules)]
    reader = csv.reader((line + "\n" for line in lines), delimiter="\t", strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error:
        rows = []
    plain = [(n, line.split("\t")) for n, line in enumerate(lines, 1) if line]
    # Lone quotes may pair up by chance; they then join lines of which each is valid alone.
    is_whole = _n_widths(rows) == 1 and (len(rows) == len(plain) or _n_widths(plain) > 1)
    return list(_table_items(iter(rows if is_whole else plain), name))


def _n_widths(rows: Sequence[tuple[int, list[str]]]) -> int:
    return len({len(row) for _, row in rows})


def _table_items(rows: Iterator[tuple[int, list[str]]], name: str) -> Iterator[Item]:
    """Items of rows, each with the line on which it ends; the first row is the header."""
    header: list[str] | None = None
    for number, row in rows:
        if not row:  # a blank line
            continue
        if header is None:
            header = row
            twice = next((column for column in header if header.count(column) > 1), None)
            if twice is not None:
                raise DataError(f"{name}:{number}: two columns {twice!r}; expected a name for each")
            continue
        if len(row) != len(header):
            raise DataError(
                f"{name}:{number}: {len(row)} fields; expected {len(header)}, as in the header"
            )
        yield Item(f"{name}:{number}", name, dict(zip(header, row, strict=True)))


def _json_items(path: str | Path, rules: LineRules) -> Iterator[Item]:
    name = display_name(path)
    for number, line in read_lines(path, rules=rules):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise DataError(f"{name}:{number}: found {line[:40]!r}; expected a JSON object")
        structures = frozenset(key for key, each in value.items() if isinstance(each, list | dict))
        cells = {key: _cell(each) for key, each in value.items()}
        yield Item(f"{name}:{number}", name, cells, structures)


def _cell(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


READERS = {"text": _text_items, "csv": _csv_items, "tsv": _tsv_items, "jsonl": _json_items}
