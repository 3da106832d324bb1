"""Pictures of a few numbers that are known, at their places and in their colours."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from charlm.insight.filters import FilterMatches
from charlm.insight.gates import GateProfile, TransformGate
from charlm.insight.pictures import filter, gate, transform, words


def labels_of(axes: Any) -> list[str]:
    return [text.replace("\n", " ") for text in axes.get_legend_handles_labels()[1]]


def test_the_strongest_substring_is_the_first_and_darkest() -> None:
    found = FilterMatches(1, 1, 2, ("ab",) * 100, tuple(range(100, 0, -1)), (1,) * 100, 100)
    subject: Any = SimpleNamespace(filter=found, name="run")
    axes = filter.draw(subject).figure.axes[0]
    corners = [(column, row) for column in range(5) for row in range(20)]
    assert [patch.get_xy() for patch in axes.patches] == corners
    assert [text.get_position() for text in axes.texts] == [(x + 0.5, y + 0.5) for x, y in corners]
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 5), (20, 0))  # the first at the top
    reds = [patch.get_facecolor()[0] for patch in axes.patches]
    assert reds == pytest.approx(np.linspace(0.03, 0.93, 100))
    assert not any(text.get_parse_math() for text in axes.texts)
    assert axes.get_xticks().tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    names = [tick.get_text() for tick in axes.get_xticklabels()]
    assert names == ["1 to 20", "21 to 40", "41 to 60", "61 to 80", "81 to 100"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["1", "5", "10", "15", "20"]
    assert axes.get_yticks().tolist() == [0.5, 4.5, 9.5, 14.5, 19.5]


def test_words_have_the_colour_of_their_count_and_frequent_ones_lie_on_top() -> None:
    plane = SimpleNamespace(points_N2=np.array([[0.0, 0.5], [1.0, 2.0]]), shares=(0.6, 0.4))
    found = SimpleNamespace(words=("a", "b"), counts=(1000, 0), plane=plane, tap="word")
    subject: Any = SimpleNamespace(words=found, name="run")
    axes = words.draw(subject).figure.axes[0]
    (dots,) = axes.collections
    assert np.asarray(dots.get_offsets()).tolist() == [[1.0, 2.0], [0.0, 0.5]]
    assert np.asarray(dots.get_array()).tolist() == [0.0, 3.0]
    assert [text.get_position()[1] for text in axes.texts] == [0.5, 2.0]
    assert not any(text.get_parse_math() for text in axes.texts)


def test_no_more_than_80_words_are_named() -> None:
    grid = np.stack(np.divmod(np.arange(100.0), 10.0), axis=1)
    assert [row for row, _ in words.named(("a",) * 100, grid)] == list(range(80))


def test_the_bars_of_a_transform_gate_are_shares() -> None:
    layers = (TransformGate(1, np.array([3, 1]), 0.25, 4, 2),)
    subject: Any = SimpleNamespace(transform=layers, name="run")
    drawn = transform.draw(subject)
    assert drawn.rows == [(1, 0.0, 0.5, 3, 0.75), (1, 0.5, 1.0, 1, 0.25)]
    (axes,) = drawn.figure.axes
    (bars,) = axes.patches
    assert bars.get_data().values.tolist() == [0.75, 0.25]
    assert labels_of(axes) == [
        "mean 0.25; 2 of 4 dimensions are below 0.1 on some word and above 0.9 on another"
    ]


def test_gates_and_norms_are_drawn_with_what_they_are() -> None:
    norms = np.array([1.0, 2.0, 6.0]), np.array([2.0, 2.0, 2.0])
    profile = GateProfile(
        ("a", "b", "c"), np.array([0.25, 0.5, 1.0]), *norms, -0.001, None, 0.6, 67
    )
    subject: Any = SimpleNamespace(gate=profile, name="run")
    top, bottom = gate.draw(subject).figure.axes
    assert labels_of(top) == [
        "a word",
        "median; Spearman’s ρ with the rank -0.001, of the 3 most frequent undefined",
        "<unk>: 0.6, above 67 % of the words",
    ]
    each, medians, unknown = top.lines
    assert (each.get_xdata().tolist(), each.get_ydata().tolist()) == ([1, 2, 3], [0.25, 0.5, 1.0])
    assert [*medians.get_ydata()] == [0.25, 0.75]  # of the first, and of the second and third
    assert [*unknown.get_ydata()] == [0.6, 0.6]
    assert labels_of(bottom) == ["word: mean 3.00", "spelling: mean 2.00"]
    assert [[*line.get_ydata()] for line in bottom.lines] == [[1.0, 4.0], [2.0, 2.0]]
    assert bottom.get_ylim()[0] == 0
    scales = top.get_xscale(), top.get_yscale(), bottom.get_xscale(), bottom.get_yscale()
    assert scales == ("log", "log", "log", "linear")
