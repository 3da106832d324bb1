"""Character n-grams in the plane, as in figure 2 of Kim et al. (2016): before the highway layers.

The paper's red and blue become vermilion and blue with markers of their own; the rest, which is the
majority, is grey and lies below.
"""

from charlm.insight.pictures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    VERMILION,
    Drawn,
    blank,
    label_plane,
    legend_below,
)
from charlm.insight.pictures.subject import Subject
from charlm.insight.vectors.projection import KINDS, Kind

# Colour, marker, size, opacity, and the name in the legend.
LOOKS: dict[Kind, tuple[str, str, float, float, str]] = {
    "other": (GREY, ".", 5, 0.45, "other"),
    "prefix": (VERMILION, "^", 7, 0.55, "prefix, as {un"),
    "suffix": (BLUE, "s", 6, 0.55, "suffix, as ing}"),
    "hyphenated": (ORANGE, "x", 12, 0.9, "hyphenated"),
}


def draw(subject: Subject) -> Drawn:
    """The map of n-grams of the first run."""
    found = subject.ngrams
    points_N2 = found.plane.points_N2
    title = f"Character n-grams as {subject.name} reads them"
    total = len(found.ngrams) + found.n_left_out
    counted = f"{len(found.ngrams):,}" + (f" of {total:,}" if found.n_left_out else "")
    title += f"\n{counted} in two words or more, before any highway layer"
    figure, axes = blank(title=title, size=(7.0, 6.0))
    for kind, (colour, marker, size, opacity, label) in LOOKS.items():
        inside = [row for row, own in enumerate(found.kinds) if own == kind]
        axes.scatter(
            points_N2[inside, 0],
            points_N2[inside, 1],
            s=size,
            c=colour,
            marker=marker,
            alpha=opacity,
            linewidths=0.8 if marker == "x" else 0,
            label=f"{label} ({len(inside):,})",
            rasterized=True,
        )
    label_plane(axes, found.plane.shares)
    legend_below(figure, markerscale=2)
    columns = (found.ngrams, found.kinds, found.n_words, *points_N2.T.tolist())
    rows = list(zip(*columns, strict=True))
    assert set(LOOKS) == set(KINDS)
    return Drawn(figure, ("ngram", "kind", "n_words", "x", "y"), rows)
