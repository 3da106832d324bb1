"""A text's hardest and easiest sentences for the first run, words coloured by surprisal.

They are set as on a page: lines are as long as the picture is wide, and run from the right if the
first word with letters does. Only a word longer than a line is cut.
"""

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from charlm.insight.pictures.canvas import Drawn, set_title
from charlm.insight.pictures.subject import Subject
from charlm.insight.text_reading import ScoredLine
from charlm.notebook import MOST_BITS, bits_of, runs_from_right
from charlm.run.fonts import drawable
from charlm.text.corpus.tokens import END_WORD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

N_SENTENCES = 3  # hardest, and as many easiest
WIDTH, INCHES = 504.0, 7.0  # of the picture: points of print, and the same in inches
SIZE, LINE, GAP = 10.0, 17.0, 6.0  # points: letters, from line to line, between sentences
SPACE = 7.0  # between words
LONGEST = WIDTH - 2 * SPACE  # a word; drawn in whole dots its letters may be wider
TO_LEFT = "\u200f"  # shows nothing; signs behind it are mirrored, as between Arabic words
FURNITURE = 110.0  # points of height for the title and the scale
LIGHT, DARK = "#ffffff", "#e8965a"  # the strongest still lets black letters be read


def draw(subject: Subject) -> Drawn:
    """Both kinds, under headings of their own."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    hardest, easiest = subject.reading.extremes(N_SENTENCES)
    kinds = {"least expected": hardest, "most expected": easiest}
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    colours = LinearSegmentedColormap.from_list("surprisal", [LIGHT, DARK])
    scale = ScalarMappable(Normalize(0, MOST_BITS), colours)
    y = 0.0
    for kind, lines in kinds.items():
        y = _write(axes, [(kind, None)], y=y, scale=scale) if lines else y
        for line in lines:
            y = _write(axes, _tokens(line), y=y, scale=scale)
    axes.set(xlim=(0, WIDTH), ylim=(y, -LINE))
    axes.axis("off")
    set_title(axes, f"Sentences of {text_of(subject)} as {subject.name} read them")
    figure.set_size_inches(INCHES, max(INCHES * 0.65, (y + FURNITURE) * INCHES / WIDTH))
    label = "surprisal in bits: 1 is a chance of one in 2, 10 of one in 1,024"
    figure.colorbar(scale, ax=axes, label=label, orientation="horizontal", shrink=0.6, aspect=40)
    rows = [
        (kind, line.line, place, word, bits)
        for kind, lines in kinds.items()
        for line in lines
        for place, (word, bits) in enumerate(_tokens(line), 1)
    ]
    return Drawn(figure, ("kind", "line", "place", "word", "bits"), rows)


def text_of(subject: Subject) -> str:
    """What titles call the text that was read."""
    options = subject.reading.options
    return f"{Path(options.data).resolve().name} {options.split}"


def _tokens(line: ScoredLine) -> list[tuple[str, float]]:
    return list(zip((*line.words, END_WORD), bits_of(line.log10_probs), strict=True))


def _write(
    axes: "Axes", tokens: Sequence[tuple[str, float | None]], *, y: float, scale: "ScalarMappable"
) -> float:
    """Words from the left at the height `y`, in as many lines as they need; the next free height.

    A heading is a word without a number.
    """
    x, from_right = 0.0, runs_from_right([word for word, _ in tokens])
    for word, bits in tokens:
        shown = drawable(word)
        if from_right and not any(each.isalnum() for each in word):
            shown = TO_LEFT + shown  # alone a bracket or a quote would open to the wrong side
        while (width := _width(shown)) > LONGEST:
            shown = f"{shown[:-2]}…"
        if x and x + width > WIDTH:
            x, y = 0.0, y + LINE
        box = None
        if bits is not None:
            (colour,) = scale.to_rgba(np.array([bits]))
            box = {"facecolor": colour, "linewidth": 0, "boxstyle": "round,pad=0.2"}
        weight = "bold" if bits is None else "normal"
        edge, side = (WIDTH - x, "right") if from_right else (x, "left")
        text = axes.text(
            edge, y, shown, parse_math=False, fontsize=SIZE, bbox=box, weight=weight, ha=side
        )
        text.set_in_layout(False)  # for a word near the edge the axes would shrink below the words
        x += width + SPACE
    return y + LINE + GAP


def _width(shown: str) -> float:
    from matplotlib.textpath import TextPath

    ink = TextPath((0, 0), shown.replace("$", r"\$"), size=SIZE).get_extents().width
    squares = sum(unicodedata.east_asian_width(each) in "WF" for each in shown)
    return max(float(ink), SIZE * squares)  # a Chinese full stop is as wide as any letter
