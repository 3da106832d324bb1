"""Runs of hand-made word vectors, saved as a training saves them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import torch

from charlm.model.build import build_model
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import Inventory

MakeRun = Callable[..., Path]


@pytest.fixture
def run_of_vectors(tmp_path: Path, save_run: MakeRun) -> MakeRun:
    """A word model whose encoder has these vectors; words are known, by the order given."""

    def make(
        vectors: Mapping[str, Sequence[float]],
        *,
        name: str = "run",
        normalisation: Normalisation | None = None,
    ) -> Path:
        dim = len(next(iter(vectors.values())))
        words = ("</s>", "<unk>", *vectors)
        letters = tuple(sorted(set("".join(vectors))))
        counts = tuple(range(len(words), 0, -1))
        inventory = Inventory(
            words, counts, letters, normalisation=normalisation or Normalisation()
        )
        parts = {
            "encoder": {"type": "word", "dim": dim},
            "context": {"type": "lstm", "dim": 2, "layers": 1},
            "output": {"type": "softmax"},
        }
        model, settings = build_model(parts, inventory)
        table = model.get_parameter("encoder.table.weight").data
        table[2:] = torch.tensor(list(vectors.values()))
        return save_run(tmp_path / name, model, settings=settings, inventory=inventory, epochs=1)

    return make
