"""Histogram of the transform gate: whether highway layers choose by word, or by dimension alone.

The slides of Kim et al. (2016) show that a dimension's gate is closed for some words and open for
others; the legend tells for how many dimensions this is so.
"""

from charlm.insight.pictures.canvas import DASHES, Drawn, blank, legend_below, style_of
from charlm.insight.pictures.subject import Subject


def draw(subject: Subject) -> Drawn:
    """The transform gate of each highway layer of the first run, over all words and dimensions."""
    layers = subject.transform
    title = f"Transform gate of {subject.name}\nover all words and dimensions"
    figure, axes = blank(title=title)
    rows = []
    for gate in layers:
        shares_B = gate.counts_B / max(1, gate.counts_B.sum())
        style = style_of(gate.layer - 1)
        name = f"layer {gate.layer}: " if len(layers) > 1 else ""
        axes.stairs(
            shares_B,
            gate.edges,
            fill=len(layers) == 1,
            color=style.colour,
            linestyle=DASHES[(gate.layer - 1) % len(DASHES)],  # steps have no markers
            linewidth=1.8,
            alpha=0.85,
            label=f"{name}mean {gate.mean:.2f}; {gate.n_switching} of {gate.n_dimensions} "
            "dimensions\nare below 0.1 on some word and above 0.9 on another",
        )
        edges = gate.edges
        columns = (each.tolist() for each in (edges[:-1], edges[1:], gate.counts_B, shares_B))
        rows += [(gate.layer, *numbers) for numbers in zip(*columns, strict=True)]
    axes.set(
        xlabel="gate: 0 carries a number on, 1 makes it anew",
        ylabel="share of all values",
        xlim=(0, 1),
    )
    legend_below(figure)
    return Drawn(figure, ("layer", "from", "to", "count", "share"), rows)
