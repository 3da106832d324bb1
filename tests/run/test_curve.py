"""The learning curve is a picture that anything can open."""

import warnings
from pathlib import Path

import pytest

from charlm.run.curve import drawable, save_curve


@pytest.mark.parametrize("n_epochs", [1, 3])
def test_a_curve_is_a_whole_picture_with_both_lines(tmp_path: Path, n_epochs: int) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.image import imread

    history = [
        {"epoch": n, "train_ppl": 400.0 / n, "valid_ppl": 300.0 / n, "rate": 0.5**n}
        for n in range(1, n_epochs + 1)
    ]
    path = tmp_path / "curve.png"
    save_curve(history, path, title=r"char-small on [noise] $\nothing$")
    picture = imread(path)[..., :3]
    assert picture.shape == (540, 840, 3)
    for colour in ("#0072b2", "#d55e00", "#666666"):
        assert (abs(picture - to_rgb(colour)).max(axis=-1) < 0.02).sum() > 20 * (n_epochs - 1)


@pytest.mark.parametrize(
    ("title", "drawn"),
    [
        ("char-small on ptb", "char-small on ptb"),
        ("Überraschung č ж", "Überraschung č ж"),
        ("on 日本語", "on \\u65e5\\u672c\\u8a9e"),
        ("on \n\x1b\udc80😾\U0001fabf", "on \\n\\x1b\\udc80😾\\U0001fabf"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_a_title_holds_only_what_the_font_can_draw_and_no_more_than_fits(
    title: str, drawn: str
) -> None:
    assert drawable(title) == drawn


@pytest.mark.parametrize("name", ["日本語", "日" * 80, "a\nb\udcff"])
def test_a_corpus_of_any_name_has_its_curve_without_a_warning(tmp_path: Path, name: str) -> None:
    record = {"epoch": 1, "train_ppl": 400.0, "valid_ppl": 300.0, "rate": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_curve([record], tmp_path / "curve.png", title=f"char-small on {name}")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
