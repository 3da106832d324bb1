"""Learning curves: training and validation perplexity by epoch, of one or several runs.

Each run has a colour; a single run has one each for training and validation, as in its curve.png.
Perplexities of runs with different words, or with single sentences and one stream, are not
comparable; the legend tells how many words each has, and which were validated by sentence.
"""

from typing import TYPE_CHECKING, Any

from charlm.insight.pictures.canvas import (
    Drawn,
    blank,
    labelled,
    legend_below,
    style_of,
)
from charlm.insight.pictures.subject import Subject
from charlm.run.curve import TRAINING, plain_numbers
from charlm.run.history import best_record
from charlm.scoring.evaluation.comparison.runs import Contender
from charlm.text.perplexity.perplexity import shown_ppl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


def draw(subject: Subject) -> Drawn:
    """The learning curves of all runs."""
    from matplotlib.ticker import MaxNLocator

    several = len(subject.names) > 1
    title = f"Learning curve{'s' if several else f' of {subject.name}'}"
    figure, axes = blank(title=title)
    rows, points = [], []
    for number, (member, history) in enumerate(
        zip(subject.members, subject.histories, strict=True)
    ):
        points += _draw_run(axes, member, history=history, number=number if several else None)
        rows += [
            (member.name, r["epoch"], float(r["train_ppl"]), float(r["valid_ppl"])) for r in history
        ]
    axes.set(xlabel="epoch", ylabel="perplexity")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    plain_numbers(axes)
    legend_below(figure)
    return Drawn(figure, ("run", "epoch", "train_ppl", "valid_ppl"), rows, points)


def _draw_run(
    axes: "Axes", member: Contender, *, history: list[dict[str, Any]], number: int | None
) -> list[tuple["Line2D", list[str]]]:
    """Both lines of a run, with notes on their points; `number` is None for a single run."""
    style = style_of(number or 0)
    best = shown_ppl(best_record(history)["valid_ppl"])
    epochs = [record["epoch"] for record in history]
    alone = "." if len(epochs) == 1 else None
    points = []
    how = ", by sentence" if member.is_validated_by_sentence else ""
    lowest = f"best {best} (V = {member.inventory.n_words:,}{how})"
    training = TRAINING if number is None else style.colour
    for key, name, more, colour, dashes, marker in (
        ("valid_ppl", "validation", lowest, style.colour, style.dashes, style.marker),
        ("train_ppl", "training", "while learning", training, ":", alone),
    ):
        label = f"{name}, {more}"
        (line,) = axes.plot(
            epochs,
            [record[key] for record in history],
            dashes,
            color=colour,
            marker=marker,
            markersize=4,
            label=label if number is None else f"{labelled(member.name)}: {label}",
        )
        told = name if number is None else f"{member.name}, {name}"
        points.append((line, [f"{told}, {r['epoch']}: {shown_ppl(r[key])}" for r in history]))
    return points
