"""The substrings of a filter, as on Kim et al.'s slides: the darker, the stronger."""

from typing import TYPE_CHECKING

from charlm.insight.pictures.canvas import Drawn, blank
from charlm.insight.pictures.subject import Subject
from charlm.run.fonts import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_COLUMNS, N_ROWS = 5, 20
LIGHT, DARK = (0.93, 0.96, 0.99), (0.03, 0.27, 0.48)
MONOSPACE, SIZE = "monospace", 9
ROOM = 12  # letters of this size in a cell
MIDDLE = 0.7  # darker cells have white letters: there, black and white are read equally well


def draw(subject: Subject) -> Drawn:
    """The top substrings of the filter asked for, of the first run."""
    found = subject.filter
    title = (
        f"What filter {found.number} of {found.n_filters} of {subject.name} looks for\n"
        f"the {len(found.substrings)} of {found.n_asked:,} substrings of {found.width} characters "
        "with the largest response"
    )
    figure, axes = blank(title=title, size=(7.0, 6.4))
    axes.grid(visible=False)
    low, high = min(found.responses), max(found.responses)
    for place, (text, value) in enumerate(zip(found.substrings, found.responses, strict=True)):
        strength = (value - low) / (high - low) if high > low else 0.0
        _draw_cell(axes, place, text=text, strength=strength)
    axes.set(xlim=(0, N_COLUMNS), ylim=(N_ROWS, 0), ylabel="rank within the column")
    names = [f"{c * N_ROWS + 1} to {(c + 1) * N_ROWS}" for c in range(N_COLUMNS)]
    axes.set_xticks([c + 0.5 for c in range(N_COLUMNS)], names)
    axes.set_yticks([0.5, 4.5, 9.5, 14.5, 19.5], ["1", "5", "10", "15", "20"])
    axes.set_xlabel("ranks; { begins a word, } ends one")
    _draw_scale(axes, low=low, high=high)
    ranks = range(1, len(found.substrings) + 1)
    rows = list(zip(ranks, found.substrings, found.responses, found.n_words, strict=True))
    return Drawn(figure, ("rank", "substring", "response", "n_words"), rows)


def _draw_cell(axes: "Axes", place: int, *, text: str, strength: float) -> None:
    from matplotlib import rcParams
    from matplotlib.patches import Rectangle

    families = (MONOSPACE, *rcParams["font.family"])
    shown = drawable(text, families=families)
    column, row = divmod(place, N_ROWS)
    red, green, blue = (a + strength * (b - a) for a, b in zip(LIGHT, DARK, strict=True))
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=(red, green, blue), edgecolor="white"))
    axes.text(
        column + 0.5,
        row + 0.5,
        shown,
        parse_math=False,
        ha="center",
        va="center",
        family=families,
        fontsize=SIZE * min(1.0, ROOM / len(shown)),  # escapes are long
        color="white" if strength > MIDDLE else "black",
    )


def _draw_scale(axes: "Axes", *, low: float, high: float) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    colours = LinearSegmentedColormap.from_list("response", [LIGHT, DARK])
    scale = ScalarMappable(Normalize(low, high), colours)
    figure = axes.get_figure()
    assert figure is not None
    figure.colorbar(scale, ax=axes, label="response of the filter, before tanh", shrink=0.6)
