"""Runs on disk as a training leaves them, of models that were filled instead of trained."""

import pickle
import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.model.build import build_model
from charlm.ngram.estimation import estimate
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.word_ids import WordIds, encode, words_of
from charlm.processes.group import Group
from charlm.processes.worker_pool import WorkerPool
from charlm.scoring.likelihood import nll
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import inventory_of, load_inventory

SaveRun = Callable[..., Path]

TRAIN = [["a", "b", "c", "d", "e", "f", "g", "h"], ["<unk>"]]  # with </s> and <unk>: V = 10
TEXT = "a b c a b d\na b c\nh g f e d c b a\nb b <unk> a\na\n"  # for n-gram models
SETTINGS = {
    "encoder": {"type": "char-cnn", "dim": 4, "widths": [1, 2], "filters": [5, 6]},
    "context": {"type": "lstm", "dim": 7, "layers": 1},
    "output": {"type": "softmax"},
}


def fill_with_zeros(model: torch.nn.Module) -> None:
    """Every word gets the same probability."""
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)


def fill_at_random(model: torch.nn.Module) -> None:
    torch.manual_seed(5)
    for parameter in model.parameters():
        torch.nn.init.uniform_(parameter, -1.0, 1.0)


def fill_beyond_numbers(model: torch.nn.Module) -> None:
    """Finite weights that give the word b the probability exp(-6e38), which underflows."""
    fill_with_zeros(model)
    model.output.words.bias.data[2:4] = torch.tensor([3e38, -3e38])


FILLS = {"zeros": fill_with_zeros, "random": fill_at_random, "beyond": fill_beyond_numbers}


class Beside(WorkerPool[Any, Any]):
    """Simulated processes, each with a worker of its own, called one after another by pickles."""

    def __init__(self, workers: Sequence[Callable[[Any], Any]]) -> None:
        super().__init__(Group(0, len(workers)), workers[0])
        self.workers = workers
        self.rounds: list[Sequence[Any]] = []

    def do(self, tasks: Sequence[Any]) -> list[Any]:
        self.rounds.append(tasks)
        return [
            pickle.loads(pickle.dumps(worker(pickle.loads(pickle.dumps(task)))))
            for worker, task in zip(self.workers, tasks, strict=True)
        ]


@pytest.fixture(scope="session")
def beside() -> type[Beside]:
    return Beside


@pytest.fixture(scope="session")
def made_run(save_run: SaveRun, tmp_path_factory: pytest.TempPathFactory) -> SaveRun:
    """A run that no test writes into: of its kind there is one."""
    made: dict[str, Path] = {}

    def make(fill: str, *, normalisation: Normalisation | None, **recipe: object) -> Path:
        kind = repr((fill, normalisation, recipe))
        if kind not in made:
            inventory = inventory_of(TRAIN, min_char_count=1, normalisation=normalisation)
            model, settings = build_model(SETTINGS, inventory)
            FILLS[fill](model)
            folder = tmp_path_factory.mktemp("made")
            made[kind] = save_run(folder, model, settings=settings, inventory=inventory, **recipe)
        return made[kind]

    return make


@pytest.fixture
def saved_run(tmp_path: Path, made_run: SaveRun) -> SaveRun:
    """Writes a run of ten words, filled with zeros, at random or beyond numbers, of a recipe."""

    def save(fill: str, *, normalisation: Normalisation | None = None, **recipe: object) -> Path:
        made = made_run(fill, normalisation=normalisation, **recipe)
        return Path(shutil.copytree(made, tmp_path / f"run-{fill}", dirs_exist_ok=True))

    return save


@pytest.fixture
def lower_run(saved_run: SaveRun) -> Path:
    """A run that reads lower case, and words outside its vocabulary by their spelling."""
    return saved_run("random", normalisation=Normalisation(lower=True), oov_input="spelling")


@pytest.fixture(scope="session")
def made_spelled_run(
    made_run: SaveRun, add_speller: SaveRun, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run that no test writes into."""
    lower = made_run("random", normalisation=Normalisation(lower=True), oov_input="spelling")
    run = Path(shutil.copytree(lower, tmp_path_factory.mktemp("made") / "spelled"))
    return add_speller(run, fill=partial(torch.nn.init.uniform_, a=-1, b=1))


@pytest.fixture
def spelled_run(lower_run: Path, made_spelled_run: Path) -> Path:
    """The same run with a speller that distinguishes letters."""
    return Path(shutil.copytree(made_spelled_run, lower_run, dirs_exist_ok=True))


@pytest.fixture
def uniform(saved_run: SaveRun) -> Path:
    """A run whose model gives each of ten words 1/10."""
    return saved_run("zeros")


@pytest.fixture
def run(saved_run: SaveRun) -> Path:
    """A run whose model distinguishes words and contexts."""
    return saved_run("random")


@pytest.fixture
def text(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The text `TEXT` of the test's module."""
    path = tmp_path / "a.txt"
    path.write_text(request.module.TEXT)
    return path


@pytest.fixture(scope="session")
def fields() -> Callable[[str], list[Any]]:
    """Gives the fields of a text and its line ends; numbers are compared as numbers."""

    def found(text: str) -> list[Any]:
        results: list[Any] = []
        for field in re.findall(r"\n|[^\s,]+", text):
            try:
                results.append(pytest.approx(float(field), abs=1e-4))
            except ValueError:
                results.append(field)
        return results

    return found


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The shapes of all chunks that are scored."""
    seen: list[tuple[int, int]] = []
    original = nll.chunk_nll

    def watched(vectors, chunk, **options):
        seen.append(chunk[0].shape)
        return original(vectors, chunk, **options)

    monkeypatch.setattr(nll, "chunk_nll", watched)
    return seen


@pytest.fixture
def arpa_of(tmp_path: Path) -> Callable[[Path], Path]:
    """A trigram model over the words of a run."""

    def made(run: Path) -> Path:
        words = words_of(load_inventory(run / "vocab.json"))
        ids = encode([line.split() for line in TEXT.splitlines()], WordIds(words, closed=True))
        path = tmp_path / "kn.arpa"
        write_arpa(estimate(ids, words=words, order=3).model, path)
        return path

    return made
