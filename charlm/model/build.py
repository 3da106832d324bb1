"""From settings to a model: the one place where JSON becomes parts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from charlm.errors import ConfigError
from charlm.model.contexts import CONTEXTS
from charlm.model.contract import Context, Encoder, Output
from charlm.model.encoders import ENCODERS
from charlm.model.language_model import LanguageModel
from charlm.model.outputs import OUTPUTS
from charlm.settings import Family, Settings, build_part, hint, option_names, shown
from charlm.text.vocabulary.vocabulary import Inventory

ENCODER = Family("encoder", Encoder, ENCODERS)
CONTEXT = Family("context", Context, CONTEXTS)
# An output gets (input width, inventory, encoder); an encoder within it gets only the inventory.
OUTPUT = Family("output", Output, OUTPUTS, inner=[(ENCODER, slice(1, 2))])
PARTS: Mapping[str, Family] = {each.noun: each for each in (ENCODER, CONTEXT, OUTPUT)}


class _Undrawn(TorchFunctionMode):
    """Skips the draws from the normal distribution with which nn.Embedding initialises itself."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if func is torch.nn.init.normal_ or func is Tensor.normal_:
            return args[0] if args else named["tensor"]
        return func(*args, **named)


@contextmanager
def without_memory() -> Iterator[None]:
    """A context in which models are built on the meta device: with shapes but no values.

    Normal draws are skipped, since on the meta device torch loads its compiler for them, which took
    half of every start-up.
    """
    with torch.device("meta"), _Undrawn():
        yield


def build_model(
    settings: Settings, inventory: Inventory, *, may_read: bool = False
) -> tuple[LanguageModel, Settings]:
    """The model, uninitialised, and its settings with all defaults filled in.

    Within `without_memory()` it takes no memory, whatever its size. `may_read`: the settings are
    the user's own, so files that they name (of classes, for example) are read.

    Raises:
        ConfigError: an unknown part or option, a wrong value, or parts that do not fit together.
    """
    _refuse_unknown(settings)
    resolved: Settings = {}

    def built(family: Family, *leading: Any) -> Any:
        own = settings.get(family.noun)
        part, resolved[family.noun] = build_part(family, own, leading=leading, may_read=may_read)
        return part

    encoder = built(ENCODER, inventory)
    context = built(CONTEXT, encoder.dim)
    output = built(OUTPUT, context.dim, inventory, encoder)
    return LanguageModel(encoder, context, output), resolved


def _refuse_unknown(settings: Settings) -> None:
    for place in settings:
        if place not in (*PARTS, "recipe"):
            raise ConfigError(
                f"unknown part {shown(place)}; {hint(place, _all_names(settings))}"
                f"expected one of {', '.join(PARTS)}, or recipe"
            )


def _all_names(settings: Settings) -> Iterator[str]:
    """Parts and their options; of the recipe, which is built elsewhere, what the settings name."""
    yield from (*PARTS, "recipe")
    for place, family in PARTS.items():
        if isinstance(own := settings.get(place), dict):
            yield from option_names(family, own, place=place)
    recipe = settings.get("recipe")
    for option, value in recipe.items() if isinstance(recipe, dict) else ():
        yield f"recipe.{option}"
        if isinstance(value, dict):
            yield from (f"recipe.{option}.{inner}" for inner in value)
