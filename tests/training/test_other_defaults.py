"""A part of another type than the preset's: its own defaults are told, which nobody asked for."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from charlm.training.preset_settings import all_settings
from charlm.training.training_notes import other_defaults


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
    plan = SimpleNamespace(arch="rnn", settings=all_settings("rnn", changes), changes=changes)
    assert [*other_defaults(cast(Any, plan))] == told
