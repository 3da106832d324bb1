"""Tests for results as JSON."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from charlm.interface.json_results import JsonResult


class Near(NamedTuple):
    word: str
    cosine: float


@dataclass(frozen=True)
class Part(JsonResult):
    tap: str
    near: tuple[Near, ...]


@dataclass(frozen=True)
class Own:
    secret: int

    def to_dict(self) -> dict[str, int]:
        return {"told": self.secret + 1}


@dataclass(frozen=True)
class Found(JsonResult):
    path: Path
    parts: list[Part]
    by_depth: dict[int, Own]
    nothing: None = None
    derived = ("n_parts",)

    @property
    def n_parts(self) -> int:
        return len(self.parts)


def test_a_result_is_the_object_of_its_fields_then_of_what_is_derived() -> None:
    found = Found(Path("exp/first"), [Part("cnn", (Near("cat", 0.5),))], {2: Own(6)})
    assert list(found.to_dict().items()) == [
        ("path", "exp/first"),
        ("parts", [{"at": "cnn", "near": [{"word": "cat", "cosine": 0.5}]}]),
        ("by_depth", {"2": {"told": 7}}),
        ("nothing", None),
        ("n_parts", 1),
    ]
