"""Merged settings, and what `--set` accepts."""

import numpy as np
import pytest

from charlm.errors import ConfigError
from charlm.settings import MAX_NESTING, Settings, merged, overridden, parse_override, shown

AROUND: list[object] = []
AROUND.append(AROUND)  # in itself


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("context.dim=64", {"context": {"dim": 64}}),
        ("encoder.encoder.widths=1,2,3", {"encoder": {"encoder": {"widths": [1, 2, 3]}}}),
        ("encoder.widths=[1]", {"encoder": {"widths": [1]}}),
        ("recipe.clip=0.5", {"recipe": {"clip": 0.5}}),
        ("recipe.clip=-1e-3", {"recipe": {"clip": -0.001}}),
        ("recipe.clip=.5", {"recipe": {"clip": 0.5}}),
        ("recipe.clip=-.5e2", {"recipe": {"clip": -50}}),
        ("a.betas=.9,.999", {"a": {"betas": [0.9, 0.999]}}),
        ("a.betas=0,.999", {"a": {"betas": [0, 0.999]}}),
        ("a.file=./.5/x.5", {"a": {"file": "./.5/x.5"}}),
        ('a.words=".5","x"', {"a": {"words": [".5", "x"]}}),
        ("output.tied=true", {"output": {"tied": True}}),
        ("output.type=hierarchical", {"output": {"type": "hierarchical"}}),
        ("a.words=x,y", {"a": {"words": "x,y"}}),  # not JSON, so a string
        ('a.words="x","y"', {"a": {"words": ["x", "y"]}}),
        ('a={"type": "word", "dim": 3}', {"a": {"type": "word", "dim": 3}}),
        (" a.b = 3 ", {"a": {"b": 3}}),
        ("a=b=c", {"a": "b=c"}),
        ("a=", {"a": ""}),
        ("a=" + "[" * 100_000, {"a": "[" * 100_000}),
    ],
    ids=lambda value: shown(value)[:30],
)
def test_an_override_is_a_path_of_names_and_a_value(text: str, expected: Settings) -> None:
    assert parse_override(text) == expected


@pytest.mark.parametrize("text", ["context.dim", "=3", "", ".dim=3", "context.=3", "a..b=3"])
def test_an_override_without_a_name_or_a_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_override(text)
    assert str(caught.value) == (
        f"--set {text!r}: expected PART.OPTION=VALUE, as encoder.widths=1,2,3"
    )


BASE: Settings = {
    "encoder": {"type": "highway", "layers": 1, "encoder": {"type": "cnn", "widths": [1, 2]}},
    "context": {"dim": 3},
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, BASE),
        ({"context": {"layers": 2}}, {**BASE, "context": {"dim": 3, "layers": 2}}),
        (
            {"encoder": {"encoder": {"widths": [3]}}},
            {
                **BASE,
                "encoder": {
                    "type": "highway",
                    "layers": 1,
                    "encoder": {"type": "cnn", "widths": [3]},
                },
            },
        ),
        ({"encoder": {"type": "word"}}, {**BASE, "encoder": {"type": "word"}}),
        (
            {"encoder": {"type": "highway", "layers": 2}},
            {**BASE, "encoder": {**BASE["encoder"], "layers": 2}},
        ),
        ({"context": 3}, {**BASE, "context": 3}),
        ({"recipe": {"clip": 1}}, {**BASE, "recipe": {"clip": 1}}),
    ],
    ids=str,
)
def test_changes_are_laid_over_key_by_key(changes: Settings, expected: Settings) -> None:
    assert merged(BASE, changes) == expected


def test_merging_shares_nothing_with_what_was_merged() -> None:
    base: Settings = {"a": {"list": [1]}}
    changes: Settings = {"b": {"list": [2]}}
    result = merged(base, changes)
    result["a"]["list"].append(3)
    result["b"]["list"].append(3)
    assert base == {"a": {"list": [1]}}
    assert changes == {"b": {"list": [2]}}


@pytest.mark.parametrize("n_names", [MAX_NESTING + 1, 100_000])
def test_overrides_nested_beyond_all_measure_are_refused(n_names: int) -> None:
    override = parse_override(".".join(["a"] * n_names) + "=1")
    with pytest.raises(ConfigError) as caught:
        merged({}, override)
    assert str(caught.value) == "settings nested more than 64 deep; expected fewer"


def test_a_dict_of_overrides_is_what_as_many_texts_are() -> None:
    said = {
        "a.dim": np.int64(3),
        "a.widths": np.array([1, 2]),
        "a.tied": True,
        "a.type": "gru",
        "a.p": 0.5,
        "b": {"type": "word"},
    }
    texts = ["a.dim=3", "a.widths=1,2", "a.tied=true", "a.type=gru", "a.p=.5", 'b={"type":"word"}']
    assert overridden({}, said) == overridden({}, texts)


@pytest.mark.parametrize("value", [object(), {(1, 2): 3}, AROUND])
def test_what_is_no_setting_in_a_dict_of_overrides_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"^a\.b: found .*; expected a text, a number, or a list"):
        overridden({}, {"a.b": value})
