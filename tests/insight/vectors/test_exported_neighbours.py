"""Neighbours under an exported model, on a stand-in that has a vector for each word of its own."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from charlm.errors import ConfigError
from charlm.insight.vectors.exported_neighbours import exported_neighbours
from charlm.insight.vectors.nn_options import NeighboursOptions
from charlm.text.vocabulary.vocabulary import Inventory

VECTORS = {
    "</s>": (1.0, 0.0),
    "<unk>": (1.0, 0.0),
    "cat": (2.0, 0.0),
    "cats": (3.0, 4.0),
    "dog": (-1e-9, 1.0),
}


def vectors_of(ids: np.ndarray, spellings: Sequence[str]) -> np.ndarray:
    """Those of words; every other form has the opposite of cat's."""
    rows = [*VECTORS.values(), *[(-2.0, 0.0)] * len(spellings)]
    return np.array(rows, np.float32)[ids]


def test_a_known_word_is_looked_up_and_as_unknown_it_is_spelled() -> None:
    words = tuple(VECTORS)
    model: Any = SimpleNamespace(
        path=Path("exported"),
        inventory=Inventory(words, (1,) * len(words), tuple("acdgost")),
        info=SimpleNamespace(settings={"encoder": {"type": "add"}}),
        spelled_vectors=SimpleNamespace(of=vectors_of),
        encode=lambda forms: vectors_of(np.array([1]), []),
    )
    found = exported_neighbours(model, NeighboursOptions(["dot", "cat", "<unk>:cat"], k=2))
    assert [[(near.word, str(near.similarity)) for near in each.nearest] for each in found] == [
        [("dog", "0.0"), ("cats", "-0.6")],
        [("cats", "0.6"), ("dog", "0.0")],
        [("dog", "0.0"), ("cats", "-0.6")],
    ]
    assert [each.is_known for each in found] == [False, True, False]
    with pytest.raises(ConfigError, match="word 'x': .* does not read its spelling; expected one"):
        exported_neighbours(model, NeighboursOptions("x"))
    model.encode = lambda forms: np.float32([[-4.0, 0.0]])  # `<unk>` goes the way of all spellings
    with pytest.raises(ConfigError, match="word 'dot': .* does not read its spelling"):
        exported_neighbours(model, NeighboursOptions("dot"))
