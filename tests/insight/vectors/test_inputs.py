"""The vectors for measures over files: one for each form, as the model reads it."""

from collections.abc import Callable

import pytest
import torch

from charlm.insight.vectors.inputs import OpenVectors
from charlm.insight.vectors.taps import Reader, Vectors
from charlm.run.stored_weights import LoadedRun
from charlm.text.vocabulary.vocabulary import Inventory


def test_an_unknown_word_that_is_spelled_as_a_known_one_is_another(
    in_memory: Callable[..., LoadedRun],
) -> None:
    inventory = Inventory(("</s>", "<unk>", "ab", "ba"), (4, 3, 2, 1), ("a", "b"))
    char = {"type": "char-cnn", "dim": 4, "widths": [2], "filters": [16]}
    encoder = {"type": "concat", "word": {"type": "word", "dim": 2}, "char": char}
    run = in_memory(inventory, encoder)
    opened = OpenVectors(Vectors(run), ["concat"], Reader(run))
    (tap,) = opened.vectors.taps()
    readings = [opened.reader.read(word) for word in ("ab", "<unk>:ab", "ab")]
    known_E, unknown_E, again_E = opened.units_of(readings, tap=tap).of(readings)
    alone_E = opened.units_of(readings[1:2], tap=tap).of(readings[1:2])[0]
    assert torch.equal(known_E, again_E)
    assert unknown_E.tolist() == pytest.approx(alone_E.tolist())
    assert not torch.allclose(known_E, unknown_E)
