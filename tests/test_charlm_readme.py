"""charlm/README.md names files and functions that exist, and all parts; these are listed."""

import ast
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from charlm.model.build import PARTS
from charlm.nbest.formats import FORMATS
from charlm.nbest.reading.format import Format
from charlm.training.recipe.recipe import FAMILIES

HOUSE = Path(__file__).resolve().parents[1] / "charlm"
PAGE = (HOUSE / "README.md").read_text()
PLACES = sorted(set(re.findall(r"([\w/]+\.py): ([A-Za-z_][\w.]*)", PAGE)))
ROWS = dict(re.findall(r"^\| (?:recipe: )?([a-z]+) \| (.+) \|$", PAGE, re.MULTILINE))
# Folders with a file for each part, what their parts are, and the parts that they list.
LISTED = {
    **{f"charlm.model.{noun}s": (each.contract, each.table) for noun, each in PARTS.items()},
    "charlm.nbest.formats": (Format, FORMATS),
}
PICTURE = PAGE.partition("```text\n")[2].partition("```")[0]


def names_in(nodes: list[ast.stmt]) -> dict[str, ast.stmt]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name: node for node in nodes if isinstance(node, kinds)}


@pytest.mark.parametrize(("path", "name"), PLACES, ids=[": ".join(place) for place in PLACES])
def test_what_a_walk_names_is_there(path: str, name: str) -> None:
    found = names_in(ast.parse((HOUSE / path).read_text()).body)
    first, *rest = name.split(".")
    assert first in found
    for method in rest:
        part = found[first]
        assert isinstance(part, ast.ClassDef)
        assert method in names_in(part.body)


def test_the_walks_are_told() -> None:
    assert len(PLACES) >= 30


def test_every_file_that_is_named_exists() -> None:
    for path in re.findall(r"`([\w/]+\.py)`", PAGE):
        assert (HOUSE / path).is_file() or (HOUSE.parent / path).is_file(), path


def test_every_room_is_in_the_picture_and_no_other() -> None:
    rooms = {path.parent.name for path in HOUSE.glob("*/**/__init__.py")}
    drawn = set(re.findall(r"([a-z]+)/", PICTURE))
    assert drawn == rooms | {"charlm"}, "the picture in charlm/README.md, and folders"


@pytest.mark.parametrize("kind", [*PARTS, *FAMILIES])
def test_every_part_is_available_on_the_page_and_no_other(kind: str) -> None:
    groups = re.sub(r" \(.*?\)", "", ROWS[kind]).split(";")  # `wrapping one encoder: highway, mlp`
    named = {name.strip() for each in groups for name in each.rpartition(":")[2].split(",")}
    table = {**PARTS, **FAMILIES}[kind].table
    assert named == set(table), f"charlm/README.md, Available parts, row {kind}"


@pytest.mark.parametrize("folder", LISTED)
def test_every_part_that_a_file_defines_is_listed(folder: str) -> None:
    contract, table = LISTED[folder]
    names = [each.name for each in iter_modules(import_module(folder).__path__)]
    found = [each for name in names for each in vars(import_module(f"{folder}.{name}")).values()]
    kinds = {each for each in found if isinstance(each, type) and issubclass(each, contract)}
    parts = {each for each in kinds if not each.__subclasses__()}  # the others are base classes
    assert parts <= {*table.values()}, f"list it in {folder.replace('.', '/')}/__init__.py"
