"""Settings of parts: what a schema accepts, and the whole message where it does not."""

import math
from typing import Annotated, Any, Literal

import pytest

from charlm.errors import ConfigError
from charlm.settings import (
    Count,
    Dim,
    Family,
    Probability,
    Range,
    Settings,
    build_part,
    checked,
    hint,
    options_of,
    shown,
)


class Shape:
    """The contract of the parts below."""

    def __init__(self, **values: Any) -> None:
        self.values = values


class Dot(Shape):
    def __init__(self, colour: str) -> None:
        super().__init__(colour=colour)


class Box(Shape):
    """An option of every kind, each with a default."""

    def __init__(
        self,
        colour: str,
        *,
        dim: Dim = 3,
        dropout: Probability = 0.5,
        gain: float = 1.0,
        tied: bool = False,
        label: str = "box",
        mode: Literal["soft", "hard"] = "soft",
        sides: Annotated[tuple[int, ...], Range(1, 9)] = (1, 2),
    ) -> None:
        super().__init__(
            colour=colour,
            dim=dim,
            dropout=dropout,
            gain=gain,
            tied=tied,
            label=label,
            mode=mode,
            sides=sides,
        )


class Frame(Shape):
    def __init__(self, colour: str, *, inside: Shape, layers: Count = 1) -> None:
        super().__init__(colour=colour, inside=inside, layers=layers)


class Plain(Shape):
    """No constructor of its own, as a schedule without options."""

    def __init__(self) -> None:
        super().__init__()


SHAPE = Family("shape", Shape, {"dot": Dot, "box": Box, "frame": Frame})


def build(settings: Any) -> tuple[Any, Settings]:
    return build_part(SHAPE, settings, leading=["red"])


def message_of(settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        build(settings)
    return str(caught.value)


DEFAULTS = {
    "dim": 3,
    "dropout": 0.5,
    "gain": 1.0,
    "tied": False,
    "label": "box",
    "mode": "soft",
    "sides": [1, 2],
}


def test_a_part_is_built_with_its_defaults_and_they_are_written_out() -> None:
    part, resolved = build({"type": "box", "dim": 7})
    assert resolved == {"type": "box", **DEFAULTS, "dim": 7}
    assert part.values == {"colour": "red", **DEFAULTS, "dim": 7, "sides": (1, 2)}


def test_parts_within_parts_get_the_same_leading_arguments() -> None:
    part, resolved = build(
        {"type": "frame", "inside": {"type": "frame", "inside": {"type": "dot"}}}
    )
    assert resolved == {
        "type": "frame",
        "inside": {"type": "frame", "inside": {"type": "dot"}, "layers": 1},
        "layers": 1,
    }
    innermost = part.values["inside"].values["inside"]
    assert isinstance(innermost, Dot)
    assert innermost.values == {"colour": "red"}


def test_resolved_settings_build_the_same_part_and_resolve_to_themselves() -> None:
    first, resolved = build({"type": "box", "dropout": 0, "sides": [4], "tied": True})
    again, resolved_again = build(resolved)
    assert resolved_again == resolved
    assert again.values == first.values


def test_a_whole_number_goes_for_a_number_and_becomes_one() -> None:
    _, resolved = build({"type": "box", "dropout": 0, "gain": 2})
    assert [type(resolved[name]) for name in ("dropout", "gain")] == [float, float]


@pytest.mark.parametrize(
    ("option", "value", "found"),
    [
        ("dim", 0, "0; expected 1 to 65536"),
        ("dim", 65_537, "65537; expected 1 to 65536"),
        ("dim", 10**9, "1000000000; expected 1 to 65536"),
        ("dim", 2.5, "2.5; expected a whole number"),
        ("dim", 3.0, "3.0; expected a whole number"),
        ("dim", True, "True; expected a whole number"),
        ("dim", "3", "'3'; expected a whole number"),
        ("dim", None, "None; expected a whole number"),
        ("dim", [3], "[3]; expected a whole number"),
        ("dropout", -0.1, "-0.1; expected 0.0 to 0.999"),
        ("dropout", 1, "1; expected 0.0 to 0.999"),
        ("dropout", math.nan, "nan; expected 0.0 to 0.999"),
        ("dropout", False, "False; expected a number"),
        ("gain", "big", "'big'; expected a number"),
        ("gain", math.nan, "nan; expected a finite number up to 3e+38"),
        ("gain", -math.inf, "-inf; expected a finite number up to 3e+38"),
        ("gain", 1e39, "1e+39; expected a finite number up to 3e+38"),
        ("gain", 10**400, "1" + "0" * 56 + "...; expected a finite number up to 3e+38"),
        ("gain", 10**5000, "a value too large to show; expected a finite number up to 3e+38"),
        ("tied", 1, "1; expected true or false"),
        ("tied", "true", "'true'; expected true or false"),
        ("label", 3, "3; expected a word"),
        ("label", ["a"], "['a']; expected a word"),
        ("mode", "sfot", "'sfot'; expected one of 'soft', 'hard'"),
        ("mode", ["soft"], "['soft']; expected one of 'soft', 'hard'"),
        ("sides", 3, "3; expected a list of at most 64, as [1, 2]"),
        ("sides", "1,2", "'1,2'; expected a list of at most 64, as [1, 2]"),
        ("sides", [1] * 65, "[" + "1, " * 18 + "1,...; expected a list of at most 64, as [1, 2]"),
        ("sides", [1, 10], "10; expected 1 to 9"),
        ("sides", [1, 2.0], "2.0; expected a whole number"),
        ("sides", [1, True], "True; expected a whole number"),
        ("sides", [[1]], "[1]; expected a whole number"),
    ],
    ids=lambda value: shown(value)[:20],
)
def test_a_value_that_does_not_fit_is_refused_with_what_was_expected(
    option: str, value: Any, found: str
) -> None:
    message = message_of({"type": "box", option: value})
    assert message == f"option {option!r} of shape 'box' is {found}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (None, "shape: found None; expected an object with a type"),
        ("box", "shape: found 'box'; expected an object with a type; say shape.type=box"),
        ("bix", "shape: found 'bix'; expected an object with a type"),
        ([1], "shape: found [1]; expected an object with a type"),
        ({"dim": 3}, "shape: found {'dim': 3}; expected an object with a type"),
        ({"type": 3}, "shape: found {'type': 3}; expected an object with a type"),
        ({"type": "bxo"}, "unknown shape 'bxo'; did you mean box? expected one of dot, box, frame"),
        ({"type": "BOX"}, "unknown shape 'BOX'; did you mean box? expected one of dot, box, frame"),
        (
            {"type": "x" * 99},
            f"unknown shape '{'x' * 56}...; expected one of dot, box, frame",
        ),
        ({"type": "\x1b[31m"}, r"unknown shape '\x1b[31m'; expected one of dot, box, frame"),
        ({"type": "dot", "dim": 3}, "shape 'dot' has no option 'dim'; it takes none"),
        (
            {"type": "frame", "layer": 2},
            "shape 'frame' has no option 'layer'; did you mean shape.layers? "
            "it takes inside, layers",
        ),
        (
            {"type": "frame", "dim": 3, "inside": {"type": "frame", "inside": {"type": "box"}}},
            "shape 'frame' has no option 'dim'; did you mean shape.inside.inside.dim? "
            "it takes inside, layers",
        ),
        (
            {"type": "dot", "y" * 99: 2},
            f"shape 'dot' has no option '{'y' * 56}...; it takes none",
        ),
        (
            {"type": "dot", "colour": "blue"},  # its place dictates this option
            "shape 'dot' has no option 'colour'; it takes none",
        ),
        (
            {"type": "frame"},
            "option 'inside' of shape 'frame' is missing; expected a part; add shape.inside.type",
        ),
        (
            {"type": "frame", "inside": 3},
            "shape: found 3; expected an object with a type",
        ),
        (
            {"type": "frame", "inside": {"type": "box", "dmi": 3}},
            "shape 'box' has no option 'dmi'; did you mean shape.inside.dim? "
            "it takes dim, dropout, gain, tied, label, mode, sides",
        ),
    ],
    ids=lambda value: shown(value)[:30],
)
def test_settings_that_are_no_part_are_refused(settings: Any, message: str) -> None:
    assert message_of(settings) == message


def nested(depth: int) -> Settings:
    settings: Settings = {"type": "dot"}
    for _ in range(depth):
        settings = {"type": "frame", "inside": settings}
    return settings


def test_parts_nest_16_deep_and_no_deeper() -> None:
    build(nested(16))
    assert message_of(nested(17)) == "shape: parts nested more than 16 deep; expected fewer"


def test_settings_nested_beyond_all_measure_are_refused_and_not_a_crash() -> None:
    assert message_of(nested(900)) == "shape: parts nested more than 16 deep; expected fewer"
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    message = message_of({"type": "box", "dim": value})
    assert message == (
        "option 'dim' of shape 'box' is a value too large to show; expected a whole number"
    )


def test_the_schema_of_a_part_is_its_keyword_only_parameters() -> None:
    assert list(options_of(Box)) == list(DEFAULTS)
    assert options_of(Box)["dim"] == (Dim, 3)
    assert options_of(Dot) == {}
    assert options_of(Plain) == {}


def test_a_schema_with_a_union_is_our_own_mistake() -> None:
    with pytest.raises(TypeError, match="option: unions are no schema"):
        checked(3, int | None, where="option")


def test_a_long_value_is_shown_by_its_beginning() -> None:
    assert shown("x" * 58) == repr("x" * 58)
    assert shown("x" * 59) == "'" + "x" * 56 + "..."


class Wall:
    """A family of its own, whose parts may hold a shape."""


class Painted(Wall):
    def __init__(self, width: int, name: str, *, shape: Shape | None = None) -> None:
        self.width, self.name, self.shape = width, name, shape


class Dated(Shape):
    def __init__(self, name: str, *, year: int = 1) -> None:
        self.name, self.year = name, year


DATED = Family("shape", Shape, {"dated": Dated})
WALL = Family("wall", Wall, {"painted": Painted}, inner=[(DATED, slice(1, 2))])


def test_a_part_of_another_family_gets_its_share_of_the_leading_arguments() -> None:
    settings = {"type": "painted", "shape": {"type": "dated"}}
    wall, resolved = build_part(WALL, settings, leading=[7, "north"])
    assert (wall.width, wall.shape.name, wall.shape.year) == (7, "north", 1)
    assert resolved == {"type": "painted", "shape": {"type": "dated", "year": 1}}


def test_a_part_that_may_be_missing_is_none() -> None:
    wall, resolved = build_part(WALL, {"type": "painted"}, leading=[7, "north"])
    assert wall.shape is None
    assert resolved == {"type": "painted", "shape": None}


def test_another_families_part_is_checked_like_any() -> None:
    with pytest.raises(ConfigError, match=r"^unknown shape 'x'; expected one of dated$"):
        build_part(WALL, {"type": "painted", "shape": {"type": "x"}}, leading=[7, "north"])


@pytest.mark.parametrize(
    ("places", "told"), [("abcd", "did you mean a.dim or b.dim or c.dim or d.dim? "), ("abcde", "")]
)
def test_a_hint_lists_at_most_four_names_that_end_alike(places: str, told: str) -> None:
    assert hint("dim", [f"{place}.dim" for place in places]) == told
