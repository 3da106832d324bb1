"""A corpus with words that would like to be markup, and runs trained on it."""

import shutil
from pathlib import Path

import pytest

HOSTILE = (
    "</script><img/src=x/onerror=document.title=1>",
    "<!--<script>",
    "&lt;b&gt;",
    '"quoted"',
    "line\N{LINE SEPARATOR}end",
    "\N{RIGHT-TO-LEFT OVERRIDE}turned",
)
TINY = [
    "encoder.encoder.dim=4",
    "encoder.encoder.widths=1,2,3",
    "encoder.encoder.filters=4,4,8",
    "context.dim=8",
]
QUICK = {"epochs": 2, "batch_size": 4, "threads": 1, "device": "cpu", "precision": "fp32"}


@pytest.fixture(scope="session")
def hostile_dir(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus, with lines of words that a careless page would run."""
    folder = tmp_path_factory.mktemp("hostile") / "corpus"
    shutil.copytree(corpus_dir, folder)
    for split in ("train", "valid", "test"):
        with open(folder / f"{split}.txt", "a", encoding="utf-8") as file:
            file.write(f"{' '.join(HOSTILE)}\n" * 2)
    return folder


@pytest.fixture(scope="session")
def char_run(hostile_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from charlm.training.train import train

    run = tmp_path_factory.mktemp("runs") / "<b>run&amp;"
    train(data=hostile_dir, out=run, overrides=TINY, **QUICK)
    return run


@pytest.fixture(scope="session")
def word_run(hostile_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from charlm.training.train import train

    run = tmp_path_factory.mktemp("runs") / "words"
    small = ["encoder.dim=4", "context.dim=4"]
    train(data=hostile_dir, out=run, arch="word-small", overrides=small, **QUICK)
    return run


@pytest.fixture(scope="session")
def gated_run(hostile_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from charlm.training.train import train

    run = tmp_path_factory.mktemp("runs") / "gated"
    small = ["encoder.word.dim=4", "encoder.char.dim=4", "context.dim=4"]
    small += ["encoder.char.letter_dim=3", "encoder.char.hidden_dim=3"]
    train(data=hostile_dir, out=run, arch="miyamoto-gate", overrides=small, **QUICK)
    return run
