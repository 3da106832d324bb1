"""Gate against frequency rank on logarithmic axes (Miyamoto and Cho, 2016, figure 2), and norms.

A small gate need not mean that spelling counts little: the spelling's vector may be the longer one,
so the norms of both sides are drawn below.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from charlm.insight.gates import GateProfile
from charlm.insight.pictures.canvas import (
    BLACK,
    BLUE,
    EACH,
    ORANGE,
    VERMILION,
    Drawn,
    legend_below,
    set_title,
)
from charlm.insight.pictures.subject import Subject
from charlm.run.curve import plain_numbers
from charlm.text.corpus.tokens import UNK_WORD

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS_A_DECADE = 5


def draw(subject: Subject) -> Drawn:
    """The gate between words and characters in the first run."""
    from matplotlib.figure import Figure

    found = subject.gate
    figure = Figure(figsize=(7.0, 6.4), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    _draw_gates(top, found)
    _draw_norms(bottom, found)
    set_title(top, f"{subject.name}: share of the spelling in a word's vector")
    top.set(ylabel="gate g (1: spelling alone)")
    plain_numbers(top)
    bottom.set(xscale="log", xlabel="frequency rank of the word", ylabel="mean norm of the vectors")
    bottom.xaxis.set_major_formatter("{x:,.0f}")
    for axes in (top, bottom):
        axes.grid(alpha=0.25)
    legend_below(figure)
    header = ("rank", "word", "gate", "word_norm", "char_norm")
    numbers = (found.gates_N, found.word_norms_N, found.char_norms_N)
    columns = (found.ranks.tolist(), found.words, *(each.tolist() for each in numbers))
    rows = zip(*columns, strict=True)
    return Drawn(figure, header, [(None, UNK_WORD, found.unk_gate, None, None), *rows])


def _draw_gates(axes: "Axes", found: GateProfile) -> None:
    (each,) = axes.plot(
        found.ranks, found.gates_N, ".", color=BLUE, markersize=3, alpha=0.35, label="a word"
    )
    each.set_gid(EACH)
    middles, medians = by_rank(found.gates_N, np.median)
    correlation, frequent = map(_signed, (found.correlation, found.correlation_frequent))
    axes.plot(
        middles,
        medians,
        color=BLACK,
        linewidth=2,
        label=f"median; Spearman\u2019s \u03c1 with the rank {correlation},\n"
        f"of the {found.n_frequent:,} most frequent {frequent}",
    )
    axes.axhline(
        found.unk_gate,
        color=VERMILION,
        linestyle="--",
        label=f"<unk>: {found.unk_gate:.3g}, above {found.unk_percentile:.4g} % of the words",
    )


def _signed(value: float | None) -> str:
    return "undefined" if value is None else f"{value:+z.3f}"


def _draw_norms(axes: "Axes", found: GateProfile) -> None:
    for norms_N, name, colour, marker in (
        (found.word_norms_N, "word", BLUE, "o"),
        (found.char_norms_N, "spelling", ORANGE, "s"),
    ):
        middles, means = by_rank(norms_N, np.mean)
        label = f"{name}: mean {norms_N.mean():.2f}"
        axes.plot(middles, means, color=colour, marker=marker, markersize=4, label=label)
    axes.set_ylim(bottom=0)


def by_rank(
    values_N: npt.NDArray[np.float64], summarise: Callable[[npt.NDArray[np.float64]], np.floating]
) -> tuple[list[float], list[float]]:
    """The middles of bins of ranks, equally wide on a logarithmic axis, and the values in each."""
    n_bins = max(1, round(BINS_A_DECADE * np.log10(max(len(values_N), 2))))
    edges = np.unique(np.geomspace(1, len(values_N) + 1, n_bins + 1).round().astype(int))
    bins = list(zip(edges, edges[1:], strict=False))
    middles = [float(np.sqrt(first * (end - 1))) for first, end in bins]
    return middles, [float(summarise(values_N[first - 1 : end - 1])) for first, end in bins]
