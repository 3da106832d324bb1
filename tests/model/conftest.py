"""A small inventory, and model parts with parameters large enough to be far from linear."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch import nn

from charlm.model.forms import Forms, FormTable
from charlm.settings import Family, build_part
from charlm.text.vocabulary.morphs import MorphModel
from charlm.text.vocabulary.vocabulary import Inventory

Build = Callable[..., nn.Module]
Spell = Callable[[Sequence[str]], Forms]

LONG = "abc" * 20
WORDS = ("a", "ab", "cab", "bac", LONG, "abacus", "bb", "c", "caba", "abcabc", "acb")


@pytest.fixture(scope="session")
def inventory() -> Inventory:
    words = ("</s>", "<unk>", *WORDS)
    counts = tuple(range(len(words), 0, -1))
    segmentations = {word: tuple(word) for word in WORDS} | {"abcabc": ("abc", "abc")}
    morphs = MorphModel(("a", "b", "c", "u", "s", "abc"), (1.0,) * 6, segmentations)
    return Inventory(words, counts, ("a", "b", "c", "u", "s"), morphs=morphs)


@pytest.fixture(scope="session")
def spell(inventory: Inventory) -> Spell:
    """Forms of these spellings, in this order; words outside the vocabulary are read as `<unk>`."""

    def forms(spellings: Sequence[str]) -> Forms:
        further = [form for form in spellings if form not in inventory.word_ids]
        table = FormTable(inventory, (*inventory.words, *further))
        rows = [*inventory.words, *further]
        return table.forms(np.array([rows.index(form) for form in spellings]))

    return forms


@pytest.fixture(scope="session")
def build() -> Build:
    """Build a part of a family, draw its parameters from ±0.5, and restore what a step would."""

    def built(
        family: Family, settings: object, *, leading: Sequence[object], seed: int = 5
    ) -> nn.Module:
        torch.manual_seed(seed)
        part, _ = build_part(family, settings, leading=leading)
        for parameter in part.parameters():
            nn.init.uniform_(parameter, -0.5, 0.5)
        if hasattr(part, "after_step"):
            part.after_step()
        assert isinstance(part, nn.Module)
        return part.eval()

    return built
