"""A training that goes on under other circumstances says so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.run.folder import RUN
from charlm.runtime import versions


@pytest.mark.parametrize(
    ("what", "before", "now"),
    [
        ("device", "cuda", "cpu"),
        ("versions", {**versions(), "torch": "2.11.0"}, versions()),
    ],
)
def test_a_difference_in_what_bits_depend_on_is_said(
    train_toy: Callable[..., Any], tmp_path: Path, what: str, before: object, now: object
) -> None:
    train_toy(epochs=1)
    path = tmp_path / "run" / RUN
    path.write_text(json.dumps({**json.loads(path.read_text()), what: before}))
    notes: list[str] = []
    train_toy(epochs=1, resume=True, notes=notes)
    (note,) = notes
    assert note == (
        f"other {what} than the run's ({before}, now {now}): results agree closely, not to the bit"
    )
