"""The learning curve: training and validation perplexity by epoch, and the learning rate below."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charlm.run.fonts import drawable, fonts_for
from charlm.run.history import best_record
from charlm.text.io.files import write_bytes
from charlm.text.perplexity.perplexity import shown_ppl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HIGHEST = 1e200  # perplexity that is drawn: beyond 1e250 matplotlib's ticks overflow
WIDE = 1e4  # ratio of the axis limits from which on only powers of ten are labelled
# Where labels stand within a decade, by the largest ratio of an axis' ends.
STEPS = (
    (4.0, (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)),
    (300.0, (1.0, 2.0, 3.0, 5.0, 7.0)),
    (math.inf, (1.0,)),
)
VALIDATION, TRAINING, GREY = "#0072b2", "#c04f00", "#666666"  # the report's colours, on white


def save_curve(history: Sequence[dict[str, Any]], path: Path, *, title: str) -> None:
    """Write the picture of a history (records of log.jsonl) as PNG, atomically."""
    buffer = io.BytesIO()
    with fonts_for([title]):
        _drawn(history, title=title).savefig(buffer, format="png", dpi=120)
    write_bytes(path, buffer.getvalue())


def _drawn(history: Sequence[dict[str, Any]], *, title: str) -> "Figure":
    # Imported here because it takes half a second, which no other command should pay.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    epochs = [record["epoch"] for record in history]
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    alone = "o" if len(epochs) == 1 else None  # a single epoch draws no line
    best = best_record(history)
    best_label = f"validation, best {shown_ppl(best['valid_ppl'])} (epoch {best['epoch']})"
    for key, label, colour, style, marker in (
        ("valid_ppl", best_label, VALIDATION, "-", "o"),
        ("train_ppl", "training, while learning", TRAINING, ":", alone),
    ):
        values = [min(record[key], HIGHEST) for record in history]
        top.plot(epochs, values, style, color=colour, marker=marker, markersize=3, label=label)
    top.set(yscale="log", ylabel="perplexity")
    top.set_title(drawable(title), parse_math=False)  # a corpus may be called a$b$
    lowest, highest = top.get_ylim()
    if highest < WIDE * lowest:  # otherwise the default labels, powers of ten, suffice
        plain_numbers(top)
    top.minorticks_off()
    top.legend(frameon=False)
    rates = [record["rate"] for record in history]
    bottom.step(epochs, rates, where="mid", color=GREY, marker=alone, markersize=3)
    bottom.set(xlabel="epoch", ylabel="rate")
    bottom.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    for axes in (top, bottom):
        axes.grid(alpha=0.25)
    return figure


def plain_numbers(axes: "Axes") -> None:
    """Label a logarithmic axis with 200 instead of 2 × 10²."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    span = high / max(low, 1e-30)
    steps = next(steps for most, steps in STEPS if span <= most)
    # Within less than a factor of 2, LogLocator may label a power of ten alone.
    few = MaxNLocator(6, steps=[1, 2, 5, 10])
    axes.yaxis.set_major_locator(few if span < 2 else LogLocator(subs=steps))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
