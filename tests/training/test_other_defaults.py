"""A part of another type than the preset's: its own defaults are told, which nobody asked for."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from charlm.training.planning.preset_settings import all_settings
from charlm.training.planning.training_notes import other_defaults


@pytest.mark.parametrize(
    ("context", "told"),
    [
        (
            {"type": "lstm"},
            [
                "context.type=lstm has its own context.dim=300, context.layers=2, "
                "context.dropout=0.5; rnn has context.dim=200, context.layers=1, "
                "context.dropout=0.25"
            ],
        ),
        (
            {"type": "lstm", "dim": 300, "layers": 1},
            ["context.type=lstm has its own context.dropout=0.5; rnn has context.dropout=0.25"],
        ),
        ({"type": "lstm", "dim": 200, "layers": 1, "dropout": 0.25}, []),
        ({"type": "rnn", "dim": 100}, []),
        ({"dim": 100}, []),
    ],
)
def test_defaults_of_another_type_are_told_beside_the_presets(
    context: dict[str, Any], told: list[str]
) -> None:
    changes = {"context": context}
    settings = all_settings("rnn", changes)
    plan = SimpleNamespace(arch="rnn", settings=settings, changes=changes, init=None)
    assert [*other_defaults(cast(Any, plan))] == told


def test_what_a_run_begins_from_is_no_default_and_its_preset_may_be_gone(
    train_toy: Callable[..., Any], tmp_path: Path
) -> None:
    kept = ("context.type=lstm", "context.dim=7", "context.layers=1")
    train_toy("first", epochs=1, overrides=kept)
    path = tmp_path / "first" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"arch": "gone"}))
    notes: list[str] = []
    train_toy("second", arch=None, init=path.parent, epochs=1, overrides=kept[:1], notes=notes)
    assert not [note for note in notes if "has its own" in note]
