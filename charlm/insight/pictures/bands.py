"""Perplexity over bands of a text, a line for each system; below, how much lower or higher it is.

By frequency it shows where a character model wins against a word model and Kneser–Ney; by position
what carrying the state gains at the start: Kneser–Ney knows nothing before the first word, nor does
the first run when it reads sentence by sentence. A line's points do not average to its perplexity;
their logarithms do, by share of tokens.

On the upper axis two good models coincide; the lower one tells them apart. `</s>` and `<unk>` have
no place on a scale: their points are not joined.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from charlm.insight.perplexity_bands import by_frequency, by_position, position_systems
from charlm.insight.pictures.canvas import (
    Drawn,
    Style,
    labelled,
    legend_below,
    set_title,
    style_of,
)
from charlm.insight.pictures.subject import Subject
from charlm.insight.text_reading import READ, TextReading
from charlm.run.curve import plain_numbers
from charlm.scoring.evaluation.comparison.frequency_bands import Band
from charlm.text.corpus.tokens import END_WORD, UNK_WORD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

NAN = float("nan")
APART = (END_WORD, UNK_WORD)


def draw_by_frequency(subject: Subject) -> Drawn:
    """Perplexities of Kneser–Ney and of all runs with the first one's words."""
    reading = subject.reading
    return _draw(
        by_frequency(reading),
        systems=reading.systems,
        reading=reading,
        title="Perplexity by how frequent the predicted word is",
        xlabel="occurrences in the training text",
    )


def draw_by_position(subject: Subject) -> Drawn:
    """As `draw_by_frequency`, but by position, and the first run also in the other state."""
    reading = subject.reading
    return _draw(
        by_position(reading),
        systems=position_systems(reading),
        reading=reading,
        title="Perplexity by position in the sentence",
        xlabel="position of the predicted word",
        hidden=END_WORD,
    )


def _draw(
    bands: Sequence[Band],
    *,
    systems: Sequence[str],
    reading: TextReading,
    title: str,
    xlabel: str,
    hidden: str = "",
) -> Drawn:
    """Perplexity of each of `systems` in each band; the last system is grey.

    The band `hidden` is only in the table: it would compress the others.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.0), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    n_tokens = sum(band.n_tokens for band in bands)
    rows = [(band.name, band.n_tokens, band.share, *band.ppls) for band in bands]
    bands = [band for band in bands if band.name != hidden]
    text = f"{reading.options.split} text, {n_tokens:,} tokens, {READ[reading.states[0]]}"
    text += f"; {hidden} is not shown" if hidden else ""
    set_title(top, f"{title}\n{text}")
    points = []
    n_runs = len(reading.members)
    styles = (*reading.comparable, n_runs, n_runs)  # a run looks as in the learning curves
    for number, name in enumerate(systems):
        style = style_of(styles[number], is_baseline=number == len(systems) - 1)
        ppls = [NAN if ppl is None else ppl for ppl in (b.ppls[number] for b in bands)]
        line = _draw_line(top, ppls, bands=bands, style=style, label=labelled(name))
        firsts = [NAN if band.ppls[0] is None else band.ppls[0] for band in bands]
        more = [100 * (own / first - 1) for own, first in zip(ppls, firsts, strict=True)]
        below = _draw_line(bottom, more, bands=bands, style=style, label=labelled(name))
        points.append((line, _point_texts(ppls, bands=bands, name=name, form="{:,.2f}".format)))
        points.append((below, _point_texts(more, bands=bands, name=name, form=change)))
    labels = [f"{band.name}\n{band.share:.1%}" for band in bands]
    bottom.set_xticks(range(len(bands)), labels, fontsize=8)
    bottom.set(
        xlabel=f"{xlabel}; below, share of the tokens", ylabel=f"than {labelled(systems[0])}"
    )
    bottom.yaxis.set_major_formatter(lambda value, _: change(value, n_decimals=0))
    top.set_ylabel("perplexity")
    plain_numbers(top)
    for axes in (top, bottom):
        axes.grid(alpha=0.25)
    legend_below(figure)
    return Drawn(figure, ("band", "n_tokens", "share", *systems), rows, points)


def _draw_line(
    axes: "Axes", values: Sequence[float], *, bands: Sequence[Band], style: Style, label: str
) -> "Line2D":
    places = list(range(len(bands)))
    joined = [
        NAN if band.name in APART else value for band, value in zip(bands, values, strict=True)
    ]
    axes.plot(places, joined, style.dashes, color=style.colour)
    axes.plot([], [], style.dashes, color=style.colour, marker=style.marker, label=label)
    (points,) = axes.plot(places, values, style.marker, color=style.colour, markersize=5)
    return points


def change(percent: float, *, n_decimals: int = 1) -> str:
    """-12 as "12 % lower": a minus before what is better reads like a loss."""
    size = f"{abs(percent):,.{n_decimals}f}"
    if float(size.replace(",", "")) == 0:
        return "equal"
    return f"{size} % {'lower' if percent < 0 else 'higher'}"


def _point_texts(
    values: Sequence[float], *, bands: Sequence[Band], name: str, form: Callable[[float], str]
) -> list[str]:
    """What the page shows of each point under the pointer; a NaN is not drawn."""
    pairs = zip(bands, values, strict=True)
    return [f"{name}, {band.name}: {form(value)}" for band, value in pairs if not math.isnan(value)]
