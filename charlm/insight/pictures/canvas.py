"""What all pictures share: size, colours, names, and how one is written with its data.

Colours are Okabe and Ito's, which colour-blind people can tell apart; each has a marker or a line
style of its own, for print without colours. matplotlib is only loaded when something is drawn.
"""

import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from charlm.errors import ConfigError
from charlm.run.fonts import WITHOUT_TEX, drawable
from charlm.text.io.files import write_bytes
from charlm.text.io.table_lines import quoted_field

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
SKY, ORANGE, BLACK, GREY = "#56b4e9", "#e69f00", "#000000", "#777777"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
DOTS_PER_INCH = 160
LEGEND_SIZE, LEGEND_LINE = 9, 0.18  # letters of a legend in points, and a line of it in inches
ROOM, MARK = 84, 8  # letters of that size across a picture; a mark and its margins, in letters
EACH = "each"  # of points too many for the page, which shows what is made of them
FORMATS = (".png", ".svg")

Cell = str | int | float | None


@dataclass(frozen=True)
class Drawn:
    """A picture, and the numbers in it as a table."""

    figure: "Figure"
    header: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    points: Sequence[tuple["Line2D", Sequence[str]]] = ()  # what is told of each point of a line
    lacking: str = ""  # letters of its words that no installed font has


@dataclass(frozen=True)
class Style:
    """How one of several systems is drawn, in colour and without."""

    colour: str
    marker: str
    dashes: str


def style_of(number: int, *, is_baseline: bool = False) -> Style:
    """The style of the system with this number, from 0; a baseline is grey."""
    if is_baseline:
        return Style(GREY, "x", ":")
    return Style(
        COLOURS[number % len(COLOURS)],
        MARKERS[number % len(MARKERS)],
        DASHES[number // len(COLOURS) % len(DASHES)],
    )


def blank(*, title: str, size: tuple[float, float] = (7.0, 4.6)) -> tuple["Figure", "Axes"]:
    """A figure with one pair of axes, titled."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.grid(alpha=0.25)
    set_title(axes, title)
    return figure, axes


def set_title(axes: "Axes", title: str) -> None:
    """Set a title in which nothing is taken for a formula, and that the font can show."""
    lines = "\n".join(drawable(line) for line in title.split("\n"))
    axes.set_title(lines, parse_math=False, fontsize=11)


def legend_below(figure: "Figure", *, markerscale: float = 1.0) -> None:
    """One legend for all axes, below them, for which the picture grows: inside it hid points."""
    entries = legend_entries(figure, n_letters=ROOM - MARK)
    widest = max(len(line) for label in entries for line in label.split("\n"))
    n_columns = min(len(entries), max(1, ROOM // (widest + MARK)))
    legend = figure.legend(
        [*entries.values()],
        [*entries],
        loc="outside lower center",
        ncols=n_columns,
        fontsize=LEGEND_SIZE,
        frameon=False,
        markerscale=markerscale,
    )
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)
    n_lines = sum(label.count("\n") + 1 for label in entries) / n_columns
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * math.ceil(n_lines))


def legend_entries(figure: "Figure", *, n_letters: int) -> dict[str, "Artist"]:
    """The legend's entries from all axes, each name once, wrapped to some letters a line."""
    return {
        textwrap.fill(label, n_letters): handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }


def label_plane(axes: "Axes", shares: tuple[float, float]) -> None:
    """Name the axes of a plane of principal components by their shares of the variance."""
    first, second = shares
    axes.set(
        xlabel=f"first principal component ({first:.1%} of the variance)",
        ylabel=f"second principal component ({second:.1%})",
    )


def labelled(name: str) -> str:
    """A run's name for legends and axes: not a formula, and in letters that the font can show.

    matplotlib leaves a name that begins with _ out of legends.
    """
    shown = drawable(name).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def save(drawn: Drawn, path: str | Path) -> None:
    """Write a picture as PNG or SVG, by the ending of its name, atomically."""
    import matplotlib

    suffix = require_format(path)
    buffer = io.BytesIO()
    # Without a date and with fixed names inside, equal pictures are equal files.
    metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "charlm", **WITHOUT_TEX}):
        drawn.figure.savefig(buffer, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
    write_bytes(path, buffer.getvalue(), through_links=True)


def require_format(path: str | Path) -> str:
    """The ending of a picture's file.

    Raises:
        ConfigError: neither .png nor .svg.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ConfigError(
            f"--out {path}: ends in {suffix or 'nothing'}; expected {' or '.join(FORMATS)}"
        )
    return suffix


def save_rows(drawn: Drawn, path: str | Path) -> None:
    """Write a picture's numbers as TSV with a header, atomically; undefined ones are empty."""
    lines = [drawn.header, *drawn.rows]
    text = "".join("\t".join(map(_cell, line)) + "\n" for line in lines)
    write_bytes(path, text.encode(errors="backslashreplace"), through_links=True)


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else quoted_field(str(value))
