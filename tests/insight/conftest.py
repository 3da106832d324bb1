"""Runs of hand-made word vectors, saved as a training saves them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import torch

from charlm.model.build import build_model
from charlm.run.folder import MODEL, VOCABULARY, RunInfo
from charlm.run.stored_weights import write_tensors
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import Inventory

MakeRun = Callable[..., Path]


@pytest.fixture
def run_of_vectors(tmp_path: Path) -> MakeRun:
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
        weights = model.state_dict()
        weights["encoder.table.weight"][2:] = torch.tensor(list(vectors.values()))
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        inventory.save(folder / VOCABULARY)
        settings = {**settings, "recipe": {"oov_input": "unk", "epochs": 1}}
        info = RunInfo("toy", settings, {}, inventory.sha256, 1, 1, "cpu", "fp32", {}, [], "0")
        info.save(folder)
        write_tensors(folder / MODEL, weights, meta={"epoch": 1})
        return folder

    return make
