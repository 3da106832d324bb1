"""All settings of a preset, with the defaults that its parts fill in, and their meanings.

Ranges and meanings come from the annotations of the parts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from charlm.model.build import PARTS, build_model, without_memory
from charlm.presets import preset
from charlm.settings import (
    Family,
    Meaning,
    Range,
    Settings,
    inner_family,
    merged,
    options_of,
)
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.recipe.recipe import FAMILIES, Recipe, build_recipe

N_WORDS = 10_000  # as in PTB, for which the presets' numbers of classes are meant

KINDS = {int: "a whole number", float: "a number", bool: "true, false", str: "a file"}


@dataclass(frozen=True)
class DescribedSetting:
    """A setting under its name in `--set`: its value, the possible values, and its meaning."""

    name: str  # `context.dropout`
    value: Any
    values: str  # `0.0 to 0.999`; empty for the type of a part
    meaning: str


def all_settings(name: str, changes: Settings | None = None) -> Settings:
    """The settings of a preset with these changes, as its run would store them.

    Raises:
        ConfigError: no such preset, or no model can be built with the changes.
    """
    settings = merged(preset(name), changes or {})
    _, recipe = build_recipe(settings.get("recipe"))
    with without_memory():
        _, parts = build_model({**settings, "recipe": recipe}, _words())
    return {**parts, "recipe": recipe}


def _words() -> Inventory:
    """A made-up vocabulary to build a preset over; its defaults depend on no words."""
    words = ("</s>", "<unk>", *map(str, range(2, N_WORDS)))
    morphs = MorphModel(("a",), (1.0,), {"a": ("a",)})
    return Inventory(words, (1,) * N_WORDS, ("a",), morphs=morphs)


def described_settings(name: str, changes: Settings) -> list[DescribedSetting]:
    """The settings of `all_settings`, one after the other, described.

    Raises:
        ConfigError: as `all_settings`.
    """
    settings = all_settings(name, changes)
    recipe = settings["recipe"]
    found: list[DescribedSetting] = []
    for place, family in PARTS.items():
        found += _part(family, settings[place], place)
    for option, (annotation, _) in options_of(Recipe).items():
        if option not in FAMILIES:
            found.append(_option(f"recipe.{option}", recipe[option], annotation))
    for option, family in FAMILIES.items():
        found += _part(family, recipe[option], f"recipe.{option}")
    return found


def part_names() -> dict[str, tuple[str, ...]]:
    """The names that `--set PATH.type=` takes, by path."""
    families = {**PARTS, **{f"recipe.{option}": family for option, family in FAMILIES.items()}}
    return {path: tuple(family.table) for path, family in families.items()}


def _part(family: Family, settings: Settings, path: str) -> Iterator[DescribedSetting]:
    part = family.table[settings["type"]]
    summary = (part.__doc__ or "").partition("\n")[0]  # none under PYTHONOPTIMIZE=2
    yield DescribedSetting(f"{path}.type", settings["type"], "", summary)
    for option, (annotation, _) in options_of(part).items():
        name, value = f"{path}.{option}", settings[option]
        inner, _ = inner_family(annotation, family)
        if inner is not None and value is not None:
            yield from _part(inner[0], value, name)
        else:
            yield _option(name, value, annotation)


def _option(name: str, value: Any, annotation: Any) -> DescribedSetting:
    kind, *extras = get_args(annotation) if get_origin(annotation) is Annotated else [annotation]
    meanings = [each.text for each in extras if isinstance(each, Meaning)]
    bounds = next((each for each in extras if isinstance(each, Range)), None)
    return DescribedSetting(name, value, _values(kind, bounds), "".join(meanings[-1:]))


def _values(kind: Any, bounds: Range | None) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    if isinstance(kind, UnionType):
        return "a part, or null"
    if bounds is None:
        return KINDS[kind]
    low, high = (f"{end:,.10g}" for end in bounds)
    return f"{'each ' if get_origin(kind) is tuple else ''}{low} to {high}"
