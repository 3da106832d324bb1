"""The page's line and bar charts: the pictures' own SVG, drawn for a wide window and a narrow one.

A chart follows the page's theme and font: colours become the page's variables. The page's policy
allows no inline styles, so matplotlib's styles become attributes; letters stay text, as large as
those around them, so one drawing does not fit all windows.
"""

import io
import re
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING

from charlm.insight.pictures import draw
from charlm.insight.pictures.canvas import (
    BLACK,
    BLUE,
    EACH,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Drawn,
    legend_entries,
)
from charlm.insight.pictures.subject import Subject
from charlm.run.curve import TRAINING
from charlm.run.fonts import WITHOUT_TEX

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHARTS = ("curves", "transform", "gate", "bands", "positions")  # sections, and pictures of the name
POINTS_AN_INCH = 72  # a point of matplotlib's is a pixel of the page's
LETTERS = 12  # pixels
# By window: width, height of one pair of axes, and letters that a line of a label has room for.
WINDOWS = {"wide": (860, 300, 100), "narrow": (380, 230, 46)}
GRID = "#b0b0b0"
VARIABLES = {
    **{BLUE: "--s0", VERMILION: "--s1", TRAINING: "--s1", GREEN: "--s2", PURPLE: "--s3"},
    **{SKY: "--s4", ORANGE: "--s5", GREY: "--base", BLACK: "--ink", GRID: "--line"},
}
PAGES_OWN = ("font-family", "font-size")  # set by the page for all text of a chart
REFERENCES = ("href", "clip-path")
REFERRED_TO = ("path", "clipPath")  # of all ids that matplotlib writes
NUMBER = re.compile(r"-?\d+\.\d+")


def charts_of(subject: Subject, sections: Container[str]) -> str:
    """The charts of the sections that have one, as templates that the script inserts."""
    import matplotlib

    named = [name for name in CHARTS if name in sections]
    with matplotlib.rc_context(WITHOUT_TEX):
        charts = [(name, "".join(_chart(name, subject))) for name in named]
    return "\n".join(f'<template id="chart-{name}">{svg}</template>' for name, svg in charts)


def _chart(name: str, subject: Subject) -> Iterable[str]:
    for window in WINDOWS:
        drawn = draw(name, subject)
        yield inline_svg(_fitted(drawn, window), name=f"{name}-{window}", drawn=drawn)


def _fitted(drawn: Drawn, window: str) -> "Figure":
    """The picture without its title, which the section has, and with one legend above it."""
    from matplotlib.text import Text

    width, height, n_letters = WINDOWS[window]
    figure = drawn.figure
    for own in [*figure.legends]:
        own.remove()
    for axes in figure.axes:
        axes.set_title("")
        for line in [line for line in axes.lines if line.get_gid() == EACH]:
            line.remove()
        axes.grid(alpha=1)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=LETTERS)
        if window == "narrow":
            _turn_bands(axes)
        axes.set_xlabel(textwrap.fill(axes.get_xlabel(), n_letters))
        axes.set_ylabel(textwrap.fill(axes.get_ylabel(), n_letters // 2))
    legend = legend_entries(figure, n_letters=n_letters)
    figure.legend([*legend.values()], [*legend], loc="outside upper left", frameon=False)
    for text in figure.findobj(Text):
        text.set_fontsize(LETTERS)
    n_lines = sum(label.count("\n") + 1 for label in legend)
    whole = height * (2 + len(figure.axes)) / 3 + n_lines * LETTERS * 1.6
    figure.set_size_inches(width / POINTS_AN_INCH, whole / POINTS_AN_INCH)
    return figure


def _turn_bands(axes: "Axes") -> None:
    """In a narrow window, turn the names of bands upright and drop shares: the table has them."""
    names = [label.get_text() for label in axes.get_xticklabels()]
    if any("\n" in name for name in names):
        shown = [name.partition("\n")[0] for name in names]
        axes.set_xticks(axes.get_xticks(), shown, rotation=60)
        axes.set_xlabel(axes.get_xlabel().partition(";")[0])


def inline_svg(figure: "Figure", *, name: str, drawn: Drawn) -> str:
    """A figure as markup for a page; its ids begin with `name`, so that they are unique."""
    import matplotlib

    for number, (line, _) in enumerate(drawn.points):
        line.set_gid(f"points-{number}")
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "charlm", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = ET.fromstring(buffer.getvalue())
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
    root[:] = [node for node in root if node.tag == "g" or node.find("clipPath") is not None]
    for number, (_, told) in enumerate(drawn.points):
        marks = root.findall(f".//g[@id='points-{number}']//use")
        for mark, text in zip(marks, told, strict=False):
            ET.SubElement(mark, "title").text = text
    for node in root.iter():
        if node.tag not in REFERRED_TO:
            node.attrib.pop("id", None)
        node.attrib = _attributes(node.attrib, name=name)
        node.tail = None
        node.text = (node.text or "").strip()
    root.attrib = {"class": name.rpartition("-")[2], "viewBox": root.attrib["viewBox"]}
    return ET.tostring(root, encoding="unicode")


def _attributes(given: Mapping[str, str], *, name: str) -> dict[str, str]:
    """Without namespaces and style, in the page's colours, to a tenth of a pixel."""
    plain = {each.rpartition("}")[2]: value for each, value in given.items()}
    style = plain.pop("style", "")
    declared = (part.partition(":") for part in style.split(";") if part.strip())
    plain |= {key.strip(): value.strip() for key, _, value in declared}
    return {key: _value(key, plain[key], name=name) for key in plain if key not in PAGES_OWN}


def _value(key: str, value: str, *, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key in REFERENCES:
        return value.replace("#", f"#{name}-")
    if value in VARIABLES:
        return f"var({VARIABLES[value]})"
    return NUMBER.sub(lambda found: f"{float(found[0]):.1f}", " ".join(value.split()))
