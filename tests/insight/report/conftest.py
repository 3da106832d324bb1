"""A corpus with words that look like markup, runs trained on it, and their page in a browser."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import charlm

HOSTILE = (
    "</script><img/src=x/onerror=document.title=1>",
    "<!--<script>",
    "&lt;b&gt;",
    '"quoted"',
    "line\N{LINE SEPARATOR}end",
    "\N{RIGHT-TO-LEFT OVERRIDE}turned",
)
QUICK = {"epochs": 2, "batch_size": 4, "threads": 1, "device": "cpu", "precision": "fp32"}


@pytest.fixture(scope="session")
def hostile_dir(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus, with lines of words that a careless page would execute."""
    folder = tmp_path_factory.mktemp("hostile") / "corpus"
    shutil.copytree(corpus_dir, folder)
    for split in ("train", "valid", "test"):
        with open(folder / f"{split}.txt", "a", encoding="utf-8") as file:
            file.write(f"{' '.join(HOSTILE)}\n" * 2)
    return folder


@pytest.fixture(scope="session")
def char_run(
    hostile_dir: Path, tiny_sizes: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    run = tmp_path_factory.mktemp("runs") / "<b>run&amp;"
    charlm.train(arch="char-small", data=hostile_dir, out=run, overrides=tiny_sizes, **QUICK)
    return run


@pytest.fixture(scope="session")
def word_run(hostile_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "words"
    small = ["encoder.dim=4", "context.dim=4"]
    charlm.train(data=hostile_dir, out=run, arch="word-small", overrides=small, **QUICK)
    return run


@pytest.fixture(scope="session")
def gated_run(hostile_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "gated"
    small = ["encoder.word.dim=4", "encoder.char.dim=4", "context.dim=4"]
    small += ["encoder.char.letter_dim=3", "encoder.char.hidden_dim=3"]
    charlm.train(data=hostile_dir, out=run, arch="miyamoto-gate", overrides=small, **QUICK)
    return run


@pytest.fixture
def compared(tmp_path: Path) -> list[Path]:
    """The output of compare-kn for two data sets, the second with Kneser-Ney alone."""
    paths = []
    for name, ppls in (("cs", {"KN-5": 200.0, "<b>char": 150.0}), ("de", {"KN-5": 61.234})):
        signature = f"charlm:0|train:{name.encode().hex()}|vocab:0|data:0|split:test"
        systems = [
            {"name": n, "carried": {"ppl": p, "signature": signature}} for n, p in ppls.items()
        ]
        interval = {"ratio_low": 0.7, "ratio_high": 0.8}
        pairs = [{"first": n, "second": "KN-5", "carried": interval} for n in list(ppls)[1:]]
        group = {"n_words_of_vocabulary": 1000, "n_tokens": 70, "vocabulary_sha256": "0" * 64}
        group |= {"systems": systems, "differences": pairs}
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps({"data": f"sets/{name}", "groups": [group]}))
    return paths


@pytest.fixture(scope="session")
def address(
    char_run: Path, word_run: Path, hostile_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    out = tmp_path_factory.mktemp("page") / "report.html"
    words = ["cat", "catz", HOSTILE[0]]
    options = {"data": hostile_dir, "out": out, "word": words, "device": "cpu", "threads": 1}
    charlm.report([char_run, word_run], **options)
    return out.as_uri()


@pytest.fixture
def watched(watch: Callable[..., Any], address: str) -> Any:
    return watch(address, viewport={"width": 1280, "height": 900})


@pytest.fixture(scope="module")
def looked_at(watch_for_all: Callable[..., Any], address: str) -> Any:
    """The page, for tests that change nothing on it."""
    return watch_for_all(address, viewport={"width": 1280, "height": 900}).page
