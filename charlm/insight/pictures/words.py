"""Words in the plane, at a tap of the encoder; frequent words are named where there is room."""

import numpy as np
from rich.cells import cell_len

from charlm.insight.pictures.canvas import Drawn, blank, label_plane
from charlm.insight.pictures.subject import Subject
from charlm.insight.vectors.projection import Floats
from charlm.run.fonts import drawable

MOST_NAMED = 80
LONGEST = 24  # letters of a name, which would run over the axes
WIDE, HIGH = 0.0145, 0.03  # of a letter and a line, in shares of the picture
MARGIN = 0.04  # of the axes beyond the outermost words


def draw(subject: Subject) -> Drawn:
    """The most frequent words of the first run."""
    from matplotlib.patheffects import withStroke

    found = subject.words
    points_N2 = found.plane.points_N2
    title = f"Words of {subject.name} at {found.tap}"
    title += f"\nthe {len(found.words):,} most frequent, by direction"
    figure, axes = blank(title=title, size=(7.0, 6.0))
    drawn = axes.scatter(
        points_N2[::-1, 0],  # the frequent ones on top
        points_N2[::-1, 1],
        c=np.log10(np.maximum(found.counts, 1))[::-1],
        cmap="cividis",
        s=6,
        linewidths=0,
        alpha=0.55,
        rasterized=True,
    )
    shown = tuple(map(_name, found.words))
    for row, x in named(shown, points_N2):
        y = float(points_N2[row, 1])
        name = axes.text(x, y, shown[row], parse_math=False, fontsize=8, ha="center", va="center")
        name.set_path_effects([withStroke(linewidth=2, foreground="white")])
    figure.colorbar(drawn, ax=axes, label="occurrences in the training text, log10", shrink=0.7)
    label_plane(axes, found.plane.shares)
    rows = list(zip(found.words, found.counts, *points_N2.T.tolist(), strict=True))
    return Drawn(figure, ("word", "count", "x", "y"), rows)


def _name(word: str) -> str:
    shown = drawable(word)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def named(words: tuple[str, ...], points_N2: Floats) -> list[tuple[int, float]]:
    """Which of the drawn words get a name, and the horizontal middle of the name.

    Frequent words come first; names do not overlap, and do not leave the axes.
    """
    low, span = points_N2.min(axis=0), np.ptp(points_N2, axis=0)
    places_N2 = (points_N2 - low) / np.where(span > 0, span, 1)
    taken: list[tuple[float, float, float]] = []
    chosen = []
    for row, (middle, y) in enumerate(places_N2.tolist()):
        half = WIDE * cell_len(words[row]) / 2
        x = max(half - MARGIN, min(middle, 1 + MARGIN - half))
        if all(abs(x - u) > half + other or abs(y - v) > HIGH for u, v, other in taken):
            taken.append((x, y, half))
            chosen.append((row, float(low[0] + x * span[0])))
            if len(chosen) == MOST_NAMED:
                break
    return chosen
