"""CSV with a header: a table like TSV, with commas between fields, which may be quoted.

A quoted field may hold commas, line ends and doubled quotes; it is written back as it stood. A line
end inside a hypothesis is read as a blank. Files with semicolons, or without column names, do not
count as CSV: which field is the text could only be guessed.
"""

import csv
import re
from collections.abc import Iterator

from charlm.errors import DataError
from charlm.nbest.formats.tsv import Columns, Fields, TsvFormat, is_comment
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.list_lines import Line
from charlm.text.io.table_lines import is_csv_header

FIELD = re.compile(r'(?:"(?:[^"]|"")*+"|[^,]*+)(?:,|\Z)', re.DOTALL)
LINE_END = re.compile(r"\r?\n")


class CsvFormat(TsvFormat):
    """Columns are those of tsv, named by a header or --columns; the new feature gets its own."""

    name = "csv"
    mark, marks = ",", "commas"

    def claims(self, sample: Sample) -> bool:
        """The first line that is no comment names an id and a text, with commas between."""
        return is_csv_header(next((line for line in sample.lines if not is_comment(line)), ""))

    def records(self, lines: Iterator[Line]) -> Iterator[tuple[Line, Fields, Fields]]:
        taken: list[Line] = []

        def texts() -> Iterator[str]:
            for line in lines:
                taken.append(line)
                yield line.text + line.end

        reader = csv.reader(texts(), strict=True)
        while True:
            taken.clear()
            try:
                fields = next(reader, None)
            except csv.Error as error:
                found = str(error).partition(" - ")[0]  # advice for programmers follows
                raise DataError(
                    f"{taken[0].place}: {found}; expected fields between commas, those with "
                    "quotes, commas or line ends in quotes, and their quotes doubled"
                ) from None
            if fields is None:
                return
            *before, last = taken
            text = "".join(line.text + line.end for line in before) + last.text
            line = taken[0]._replace(text=text, end=last.end)
            raw = [found.removesuffix(",") for found in FIELD.findall(text)]
            yield line, [LINE_END.sub(" ", field) for field in fields], raw[: len(fields)]

    def guessed(self, fields: Fields, line: Line, *, sample: tuple[str, ...]) -> Columns:
        raise DataError(
            f"{line.place}: found no names of columns ({line.text!r:.40}); expected a header with "
            "id and text; write one above, or name them with --columns"
        )
