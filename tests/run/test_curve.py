"""The learning curve is a picture that any viewer can open."""

import warnings
from pathlib import Path
from typing import Any

import pytest

from charlm.run.curve import HIGHEST, TRAINING, VALIDATION, save_curve


def records(*ppls: tuple[float, float]) -> list[dict[str, Any]]:
    """The records of epochs with these perplexities of the training and the validation text."""
    return [
        {"epoch": n, "train_ppl": train, "valid_ppl": valid, "rate": 1.0}
        for n, (train, valid) in enumerate(ppls, 1)
    ]


@pytest.mark.parametrize("n_epochs", [1, 3])
def test_a_curve_is_a_whole_picture_with_both_lines(tmp_path: Path, n_epochs: int) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.image import imread

    path, history = tmp_path / "curve.png", records((400.0, 300.0), (200.0, 150.0), (133.0, 100.0))
    save_curve(history[:n_epochs], path, title=r"char-small on [noise] $\nothing$")
    picture = imread(path)[..., :3]
    assert picture.shape == (540, 840, 3)
    for colour in (VALIDATION, TRAINING, "#666666"):
        assert (abs(picture - to_rgb(colour)).max(axis=-1) < 0.02).sum() > 20 * (n_epochs - 1)


def test_a_curve_is_drawn_without_latex_whatever_the_users_matplotlibrc_says(
    tmp_path: Path,
) -> None:
    from matplotlib import rc_context

    with rc_context({"text.usetex": True}):
        save_curve(records((400.0, 300.0)), tmp_path / "curve.png", title="a_b")
    assert (tmp_path / "curve.png").exists()


@pytest.fixture
def drawn_figure(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that were written."""
    from matplotlib.figure import Figure

    figures: list[Any] = []
    savefig = Figure.savefig

    def kept(self: Figure, *arguments: Any, **options: Any) -> None:
        figures.append(self)
        savefig(self, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", kept)
    return figures


def test_the_curve_of_one_epoch_has_its_rate_and_whole_epochs(
    tmp_path: Path, drawn_figure: list[Any]
) -> None:
    save_curve(records((400.0, 300.0)), tmp_path / "curve.png", title="one")
    top, bottom = drawn_figure[0].axes
    # Not "with dropout", which some models do not have.
    names = [text.get_text() for text in top.get_legend().get_texts()]
    assert names == ["validation, best 300.00 (epoch 1)", "training, while learning"]
    assert bottom.lines[0].get_marker() == "o"  # a line from a point to itself would be invisible
    low, high = bottom.get_xlim()
    assert [tick for tick in bottom.get_xticks() if low <= tick <= high] == [1.0]


@pytest.mark.parametrize("best_epoch", [1, 3, 5])
def test_what_is_written_on_the_curve_stays_within_its_frame(
    tmp_path: Path, drawn_figure: list[Any], best_epoch: int
) -> None:
    history = records(*((500.0 / n, 122 + abs(n - best_epoch)) for n in range(1, 6)))
    save_curve(history, tmp_path / "curve.png", title="one")
    drawn_figure[0].draw_without_rendering()
    top = drawn_figure[0].axes[0]
    labels = [*top.texts, *top.get_legend().get_texts()]
    assert any("best 122.00" in label.get_text() for label in labels)
    frame = top.get_window_extent()
    boxes = [label.get_window_extent() for label in labels]
    assert [(b.x0 > frame.x0, b.x1 < frame.x1, b.y1 < frame.y1) for b in boxes] == [
        (True, True, True)
    ] * len(labels)


def test_perplexities_beyond_measure_leave_room_for_the_curve(
    tmp_path: Path, drawn_figure: list[Any]
) -> None:
    save_curve(
        records((270.0, 9.3e79), (1.8e212, 2.6e154)), tmp_path / "curve.png", title="diverged"
    )
    top = drawn_figure[0].axes[0]
    assert top.get_position().width > 0.8
    assert top.get_legend().get_texts()[0].get_text() == "validation, best 9.30e+79 (epoch 1)"
    low, high = top.get_ylim()
    ticks = [tick for tick in top.get_yticks() if low <= tick <= high]
    assert 3 <= len(ticks) <= 12
    assert max(ticks) / min(ticks) > 1e100


@pytest.mark.parametrize("name", ["日本語", "日" * 80, "a\nb\udcff"])
def test_a_corpus_of_any_name_has_its_curve_without_a_warning(tmp_path: Path, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_curve(records((9.0, 8.0)), tmp_path / "curve.png", title=f"char-small on {name}")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_perplexities_too_large_for_ticks_are_drawn_at_the_edge(
    tmp_path: Path, drawn_figure: list[Any]
) -> None:
    history = records((8.9e265, 2.5e161), (6.0e300, 4.3e280))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n_epochs in (1, 2):
            save_curve(history[-n_epochs:], tmp_path / "curve.png", title="diverged")
    valid, train = drawn_figure[-1].axes[0].lines[:2]
    assert [*valid.get_ydata()] == [2.5e161, HIGHEST]
    assert [*train.get_ydata()] == [HIGHEST] * 2
    assert history[-1]["valid_ppl"] == 4.3e280  # the log keeps it


def test_the_labels_of_perplexities_span_the_curve(tmp_path: Path, drawn_figure: list[Any]) -> None:
    history = records((1800.0, 540.0), (300.0, 210.0), (92.0, 187.0))
    save_curve(history, tmp_path / "curve.png", title="nnlm-5gram")
    top = drawn_figure[0].axes[0]
    low, high = top.get_ylim()
    ticks = [tick for tick in top.get_yticks() if low <= tick <= high]
    assert min(ticks) < 120
    assert 4 <= len(ticks) <= 12


@pytest.mark.parametrize(("low", "high"), [(98.8, 101.5), (9.7, 10.4), (100.0, 100.2)])
def test_a_narrow_axis_around_a_power_of_ten_has_several_labels(
    tmp_path: Path, drawn_figure: list[Any], low: float, high: float
) -> None:
    save_curve(records((low, high)), tmp_path / "curve.png", title="a")
    top = drawn_figure[0].axes[0]
    assert sum(low <= tick <= high for tick in top.get_yticks()) > 1
