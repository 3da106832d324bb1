"""Untrained runs: with given word vectors on disk, or with any encoder in memory."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import torch

from charlm.model.build import build_model
from charlm.run.folder import RunInfo
from charlm.run.stored_weights import LoadedRun
from charlm.settings import Settings
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import Inventory

MakeRun = Callable[..., Path]
SMALL = {"context": {"type": "lstm", "dim": 4, "layers": 1}, "output": {"type": "softmax"}}


@pytest.fixture
def run_of_vectors(tmp_path: Path, save_run: MakeRun) -> MakeRun:
    """A word model whose encoder has these vectors; counts fall in the order given."""

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
        model, settings = build_model({"encoder": {"type": "word", "dim": dim}, **SMALL}, inventory)
        table = model.get_parameter("encoder.table.weight").data
        table[2:] = torch.tensor(list(vectors.values()))
        return save_run(tmp_path / name, model, settings=settings, inventory=inventory, epochs=1)

    return make


@pytest.fixture(scope="session")
def in_memory(run_info: Callable[..., RunInfo]) -> Callable[..., LoadedRun]:
    """A run called toy that is not on disk: an encoder, a small LSTM, a softmax, drawn at random.

    `context` and `output` replace the LSTM and the softmax.
    """

    def make(inventory: Inventory, encoder: Settings, **parts: Settings) -> LoadedRun:
        torch.manual_seed(1)
        model, settings = build_model({"encoder": encoder, **SMALL, **parts}, inventory)
        info = run_info(settings=settings, vocabulary_sha256=inventory.sha256)
        return LoadedRun(Path("toy"), info, inventory, model.eval(), epoch=1, weights_sha256="")

    return make
