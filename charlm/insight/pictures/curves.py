"""Learning curves: training and validation perplexity by epoch, of one or several runs.

A colour is a run's; of one run alone training has its own, as in the run's curve.png.
Perplexities of runs with other words do not compare; the legend says how many words each has.
"""

from charlm.insight.pictures.canvas import Drawn, blank, labelled, plain_numbers, style_of
from charlm.insight.pictures.subject import Subject
from charlm.run.curve import TRAINING
from charlm.run.history import best_record, shown_ppl


def draw(subject: Subject) -> Drawn:
    """Of all runs."""
    from matplotlib.ticker import MaxNLocator

    several = len(subject.names) > 1
    title = f"Learning curve{'s' if several else f' of {subject.name}'}"
    figure, axes = blank(title=title)
    rows, points = [], []
    for number, (member, history) in enumerate(
        zip(subject.members, subject.histories, strict=True)
    ):
        style = style_of(number)
        epochs = [record["epoch"] for record in history]
        best = best_record(history)
        lowest, n_words = shown_ppl(best["valid_ppl"]), member.inventory.n_words
        shown = f"validation, best {lowest} (V = {n_words:,})"
        alone = "." if len(epochs) == 1 else None
        training = style.colour if several else TRAINING
        for key, label, colour, dashes, marker in (
            ("valid_ppl", shown, style.colour, "-", style.marker),
            ("train_ppl", "training, with dropout", training, ":", alone),
        ):
            (line,) = axes.plot(
                epochs,
                [record[key] for record in history],
                dashes,
                color=colour,
                marker=marker,
                markersize=4,
                label=f"{labelled(member.name)}: {label}" if several else label,
            )
            told = (
                f"{member.name}, {label.partition(',')[0]}" if several else label.partition(",")[0]
            )
            points.append((line, [f"{told}, {r['epoch']}: {shown_ppl(r[key])}" for r in history]))
        rows += [
            (member.name, r["epoch"], float(r["train_ppl"]), float(r["valid_ppl"])) for r in history
        ]
    axes.set(xlabel="epoch", ylabel="perplexity")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    plain_numbers(axes)
    axes.legend(fontsize=9)
    return Drawn(figure, ("run", "epoch", "train_ppl", "valid_ppl"), rows, points)
