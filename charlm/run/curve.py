"""The learning curve: training and validation perplexity by epoch, and the rate below them."""

import io
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charlm.run.history import best_record, shown_ppl
from charlm.text.io.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

WIDE = 1e4  # times the lowest perplexity
JOINERS = "\u200c\u200d"  # unseen, yet Persian and Hindi are spelled with them
LONGEST_TITLE = 80  # characters; more runs out of the picture
VALIDATION, TRAINING, GREY = "#0072b2", "#c04f00", "#666666"  # the report's, on white


def save_curve(history: Sequence[dict[str, Any]], path: Path, *, title: str) -> None:
    """Write the picture of a history (records of log.jsonl) as PNG, atomically."""
    # Loaded where something is drawn: half a second that no other command should pay.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    epochs = [record["epoch"] for record in history]
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    alone = "o" if len(epochs) == 1 else None  # no line leads to it
    best = best_record(history)
    best_label = f"validation, best {shown_ppl(best['valid_ppl'])} (epoch {best['epoch']})"
    for key, label, colour, style, marker in (
        ("valid_ppl", best_label, VALIDATION, "-", "o"),
        ("train_ppl", "training, with dropout", TRAINING, ":", alone),
    ):
        values = [record[key] for record in history]
        top.plot(epochs, values, style, color=colour, marker=marker, markersize=3, label=label)
    top.set(yscale="log", ylabel="perplexity")
    top.set_title(drawable(title), parse_math=False)  # a corpus may be called a$b$
    lowest, highest = top.get_ylim()
    if highest < WIDE * lowest:  # else powers of ten do
        top.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        top.yaxis.set_major_formatter(ScalarFormatter())
    top.minorticks_off()
    top.legend(frameon=False)
    rates = [record["rate"] for record in history]
    bottom.step(epochs, rates, where="mid", color=GREY, marker=alone, markersize=3)
    bottom.set(xlabel="epoch", ylabel="rate")
    bottom.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    for axes in (top, bottom):
        axes.grid(alpha=0.25)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    write_bytes(path, buffer.getvalue())


def drawable(title: str, *, families: Sequence[str] | None = None) -> str:
    """A title with escapes for what the fonts lack, as \\u65e5, cut where it is too long."""
    fonts = _fonts(families)
    shown = "".join(
        c
        if (c.isprintable() or c in JOINERS) and any(font.get_char_index(ord(c)) for font in fonts)
        else c.encode("unicode_escape").decode()
        for c in title
    )
    return shown if len(shown) <= LONGEST_TITLE else f"{shown[: LONGEST_TITLE - 1]}…"


def _fonts(families: Sequence[str] | None) -> list["FT2Font"]:
    """Those that matplotlib takes letters from."""
    from matplotlib import rcParams
    from matplotlib.font_manager import get_font

    return [get_font(path) for path in _font_files(tuple(families or rcParams["font.family"]))]


@cache
def _font_files(families: tuple[str, ...]) -> list[str]:
    """One a family that is installed, else matplotlib's own."""
    from matplotlib.font_manager import FontProperties, findfont

    paths = []
    for family in families:
        with suppress(ValueError):  # not installed
            paths.append(findfont(FontProperties(family=family), fallback_to_default=False))
    return paths or [findfont(FontProperties())]
