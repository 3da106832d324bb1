"""The learning curve is a picture that anything can open."""

from pathlib import Path

import pytest

from charlm.run.curve import save_curve


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
