"""All settings of a preset: what it says, and the defaults that its parts fill in."""

from charlm.model.build import build_model, without_memory
from charlm.presets import preset
from charlm.settings import Settings
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.recipe.recipe import build_recipe

# A preset is built to see its defaults, which depend on no words.
WORDS = Inventory(
    ("</s>", "<unk>", "a"), (1, 1, 1), ("a",), morphs=MorphModel(("a",), (1.0,), {"a": ("a",)})
)


def all_settings(name: str) -> Settings:
    """The settings of a preset as a run of it stores them.

    Raises:
        ConfigError: no such preset.
    """
    settings = preset(name)
    with without_memory():
        _, parts = build_model(settings, WORDS)
    _, recipe = build_recipe(settings.get("recipe"))
    return {**parts, "recipe": recipe}
