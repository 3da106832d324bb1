"""All settings of a preset: what it says, and the defaults that its parts fill in; what they mean.

Ranges and meanings are those of the parts' own annotations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from charlm.model.build import CONTEXT, ENCODER, OUTPUT, build_model, without_memory
from charlm.presets import preset
from charlm.settings import (
    Family,
    Meaning,
    Range,
    Settings,
    inner_family,
    merged,
    options_of,
    overridden,
)
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.recipe.recipe import FAMILIES, Recipe, build_recipe

N_WORDS = 10_000  # as many as PTB's, which numbers of classes are meant for

PARTS: Mapping[str, Family] = {"encoder": ENCODER, "context": CONTEXT, "output": OUTPUT}
KINDS = {int: "a whole number", float: "a number", bool: "true, false", str: "a file"}


@dataclass(frozen=True)
class DescribedSetting:
    """A setting as `--set` knows it, its value, what else it could be, and what it means."""

    name: str  # `context.dropout`
    value: Any
    values: str  # `0.0 to 0.999`; empty for the type of a part
    meaning: str


def all_settings(name: str, overrides: Sequence[str] = ()) -> Settings:
    """The settings of a preset, changed as `--set` does, as a run of it stores them.

    Raises:
        ConfigError: no such preset, or a change that makes no model.
    """
    settings = merged(preset(name), overridden({}, overrides))
    with without_memory():
        _, parts = build_model(settings, _words())
    if "cutoffs" in parts["output"]:  # else chosen by the counts of words that are none
        parts["output"]["cutoffs"] = settings["output"].get("cutoffs", [])
    _, recipe = build_recipe(settings.get("recipe"))
    return {**parts, "recipe": recipe}


def _words() -> Inventory:
    """What a preset is built over to see its defaults, which depend on no words."""
    words = ("</s>", "<unk>", *map(str, range(2, N_WORDS)))
    morphs = MorphModel(("a",), (1.0,), {"a": ("a",)})
    return Inventory(words, (1,) * N_WORDS, ("a",), morphs=morphs)


def described_settings(name: str, overrides: Sequence[str] = ()) -> list[DescribedSetting]:
    """The same, one after the other.

    Raises:
        ConfigError: as there.
    """
    settings = all_settings(name, overrides)
    recipe = settings["recipe"]
    return [
        *(
            each
            for place, family in PARTS.items()
            for each in _part(family, settings[place], place)
        ),
        *(
            _option(f"recipe.{option}", recipe[option], annotation)
            for option, (annotation, _) in options_of(Recipe).items()
            if option not in FAMILIES
        ),
        *(
            each
            for option, family in FAMILIES.items()
            for each in _part(family, recipe[option], f"recipe.{option}")
        ),
    ]


def _part(family: Family, settings: Settings, path: str) -> Iterator[DescribedSetting]:
    part = family.table[settings["type"]]
    summary = (part.__doc__ or "").splitlines()[0]
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
    low, high = (f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in bounds)
    return f"{'each ' if get_origin(kind) is tuple else ''}{low} to {high}"
