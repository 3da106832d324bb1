"""`charlm table`: one table across data sets, of what `charlm compare-kn --json` found on each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from charlm.cli.printing import output
from charlm.cli.program.build_command import Results, command
from charlm.errors import ConfigError
from charlm.interface.options import Opt
from charlm.scoring.evaluation.comparison.across import Table, TableCell, TableOptions
from charlm.scoring.evaluation.comparison.across import table as across
from charlm.text.perplexity.perplexity import decimals_of, shown_ppl

SIZES = (
    "V words, C characters and M morphs of the vocabulary, T tokens of train, tokens of the text"
)


@dataclass(frozen=True, kw_only=True)
class TableCommand(TableOptions):
    """The options, and how the table is laid out."""

    format: Annotated[
        Literal["text", "tsv", "markdown"],
        Opt("Layout: aligned text, tab-separated for a spreadsheet, or Markdown."),
    ] = "text"


@command(TableCommand)
def table(options: TableCommand, *, as_json: bool) -> Results:
    """Print one table across data sets.

    Models are rows, data sets columns. Each FILE is what `charlm compare-kn --json` printed for
    one set. The table has the sizes as Kim et al. count them, perplexities, and by how many per
    cent a model is above (+) or below (-) the Kneser-Ney model of the highest order, with the
    95 % interval of that change. Trainings that differ in their seed alone have a further row, of
    their mean and standard deviation. Perplexities are not comparable across data sets.

    \b
    charlm compare-kn --data cs --model exp/cs --json > cs.json
    charlm table cs.json de.json --format markdown
    """
    if as_json and options.format != "text":
        raise ConfigError(f"--json and --format {options.format}: expected one; drop either")
    result = across(options)
    yield result
    if options.format == "text":
        _print_text(result)
    else:
        layout = _tsv_lines if options.format == "tsv" else _markdown_lines
        output.write("\n".join(layout(result)))


def _print_text(found: Table) -> None:
    header = ["", *(column.name for column in found.columns)]
    rows = [[name, *cells] for name, cells in _sizes(found)]
    rows += [[name, *(_ppl(cell) for cell in cells)] for name, cells in _rows(found)]
    output.table(rows, header=header)
    percents = [[name, *map(_percent, cells)] for name, cells in _rows(found)]
    compared = [row for row in percents if set(row[1:]) != {output.NOTHING}]
    if compared:
        output.write(f"\nchange from {_baselines(found)} in per cent{_intervals(found)}")
        output.table(compared, header=header)
    output.write(
        f"\nppl of the test text, or of the part behind a colon, state {found.state}"
        f"{_deviations(found)}; {SIZES}"
    )
    for column in found.columns:
        for name, cell in column.cells.items():
            if cell.signature:
                output.write(f"signature of {name} on {column.name}: {cell.signature}")


def _sizes(found: Table) -> Iterator[tuple[str, list[str]]]:
    """The rows above the models'."""
    columns = found.columns
    yield "V", [str(column.n_words) for column in columns]
    yield "C", [output.shown_number(column.n_characters) for column in columns]
    yield "M", [output.shown_number(column.n_morphs) for column in columns]
    yield "T", [output.shown_number(column.n_train_tokens) for column in columns]
    yield "tokens", [str(column.n_tokens) for column in columns]


def _rows(found: Table) -> Iterator[tuple[str, list[TableCell | None]]]:
    for name in found.systems:
        yield name, [column.cells.get(name) for column in found.columns]


def _ppl(cell: TableCell | None) -> str:
    """A perplexity, or `40.48±1.05`."""
    if cell is None:
        return output.NOTHING
    return shown_ppl(cell.ppl) + ("" if cell.deviation is None else f"±{shown_ppl(cell.deviation)}")


def _percent(cell: TableCell | None) -> str:
    """`-23.6[-26.4,-20.7]`: one field for awk."""
    if cell is None or cell.percent is None:
        return output.NOTHING
    percent, *ends = _signed(cell)
    return percent + (f"[{','.join(ends)}]" if ends else "")


def _signed(cell: TableCell) -> list[str]:
    """The change and the ends of its interval: no end is shown as 0 that is none."""
    ends = [end for end in (cell.low, cell.high) if end is not None]
    decimals = decimals_of(ends, least=1)
    return [f"{value:+z.{decimals}f}" for value in (cell.percent, *ends)]


def _baselines(found: Table) -> str:
    return ", ".join(dict.fromkeys(column.baseline for column in found.columns))


def _intervals(found: Table) -> str:
    cells = (cell for column in found.columns for cell in column.cells.values())
    if any(cell.low is not None for cell in cells):
        return ", with its 95 % interval"
    return "; no interval: no model was compared with it in one call, or by an older charlm"


def _has_deviations(found: Table) -> bool:
    cells = (cell for column in found.columns for cell in column.cells.values())
    return any(cell.deviation is not None for cell in cells)


def _deviations(found: Table) -> str:
    if not _has_deviations(found):
        return ""
    return "; NAME… and ±: mean and standard deviation of trainings that differ in their seed alone"


def _tsv_lines(found: Table) -> Iterator[str]:
    kinds = ("", ":percent", ":from", ":to", *([":deviation"] if _has_deviations(found) else []))
    yield _tabbed(["model", *(f"{each.name}{kind}" for each in found.columns for kind in kinds)])
    for name, sizes in _sizes(found):
        numbers = ("" if size == output.NOTHING else size for size in sizes)
        empty = [""] * (len(kinds) - 1)
        yield _tabbed([name, *(each for number in numbers for each in (number, *empty))])
    for name, cells in _rows(found):
        yield _tabbed([name, *(each for cell in cells for each in _tsv_cells(cell)[: len(kinds)])])


def _tabbed(cells: Sequence[str]) -> str:
    return "\t".join(output.escape(cell) for cell in cells)


def _tsv_cells(cell: TableCell | None) -> list[str]:
    numbers: list[float | None] = [None] * 5
    if cell is not None:
        numbers = [cell.ppl, cell.percent, cell.low, cell.high, cell.deviation]
    return ["" if number is None else f"{number:.6g}" for number in numbers]


def _markdown_lines(found: Table) -> Iterator[str]:
    names = [column.name for column in found.columns]
    yield _barred(["", *names])
    yield "|---" * (len(names) + 1) + "|"
    for name, sizes in _sizes(found):
        yield _barred([name, *sizes])
    for name, cells in _rows(found):
        yield _barred([name, *map(_markdown_cell, cells)])
    yield ""
    yield (
        f"Perplexity of the test text, or of the part behind a colon, state {found.state}; in "
        f"brackets the change from {_baselines(found)} in per cent{_intervals(found)}"
        f"{_deviations(found)}. "
        f"{SIZES}."
    )


def _barred(cells: Sequence[str]) -> str:
    return f"| {' | '.join(output.escape(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _markdown_cell(cell: TableCell | None) -> str:
    if cell is None or cell.percent is None:
        return _ppl(cell)
    percent, *ends = _signed(cell)
    interval = f"; {' to '.join(ends)}" if ends else ""
    return f"{_ppl(cell)} ({percent} %{interval})".replace("-", "−")
