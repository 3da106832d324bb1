"""Every preset, scaled down, from training to neighbours: nothing of it exists in a table alone.

What it must beat is the perplexity of the words' frequencies, which needs no context at all.
"""

import json
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import charlm
from charlm.presets import PRESETS
from charlm.settings import Settings
from charlm.text.files import write_bytes
from charlm.training import session

# Who runs is told by what he eats; the ends of words tell their kind.
SENTENCES = [
    f"the {colour} {animal}s {verb} {food} {place}"
    for animal, food, verb in (
        ("cat", "fish", "eat"),
        ("dog", "meat", "like"),
        ("cow", "hay", "chew"),
    )
    for colour in ("black", "white", "brown", "grey")
    for place in ("here", "there", "outside")
]
SIZES = {
    **dict.fromkeys(("dim", "last_dim", "rank"), 16),
    **dict.fromkeys(("letter_dim", "hidden_dim"), 12),
    "buckets": 50,
    # Half of 16 numbers is too little for anything.
    **dict.fromkeys(("dropout", "input_dropout", "output_dropout"), 0.1),
}
CNN = {"widths": [1, 2, 3], "filters": [6, 6, 6]}
# Three sentences wide, twelve epochs; large draws and rates, since there are few steps.
RECIPE: Settings = {"epochs": 12, "batch_size": 3, "bptt": 12, "clip": 1.0, "patience": 0}


def scaled(settings: Settings) -> Settings:
    """The sizes of a preset that are larger than ours, made ours."""
    changes: Settings = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            changes[key] = scaled(value)
        elif key in SIZES and value:
            changes[key] = SIZES[key]
    if settings.get("type") == "char-cnn":
        changes.update(CNN, dim=6)
    return changes


def overrides(name: str) -> list[str]:
    """What `--set` takes, to make a preset small and quick."""
    preset = PRESETS[name]
    changes = scaled({part: preset[part] for part in ("encoder", "context", "output")})
    recipe: Settings = dict(RECIPE)
    if preset["recipe"]["initialisation"]["type"] == "uniform":
        recipe["initialisation"] = {"range": 0.5}
    if "modern" in name:  # made for steps by the ten thousand
        recipe |= {"optimiser": {"lr": 0.02}, "averaging": {"decay": 0.9}}
        recipe["activation_penalty"] = recipe["temporal_penalty"] = 0.0
    if preset["recipe"].get("criterion", {}).get("type") == "nce":
        recipe["criterion"] = {"noise": 40}
    return [
        f"{part}={json.dumps(value)}" for part, value in ({**changes, "recipe": recipe}).items()
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("presets") / "corpus"
    folder.mkdir()
    (folder / "train.txt").write_text("\n".join(SENTENCES * 2) + "\n")
    for split in ("valid", "test"):
        (folder / f"{split}.txt").write_text("\n".join(SENTENCES[::2]) + "\n")
    return folder


@pytest.fixture(scope="module")
def vocabulary(corpus: Path) -> Path:
    path = corpus.parent / "vocab.json"
    charlm.build_vocabulary(data=corpus, out=path, morphs="sentencepiece:40")
    return path


def unigram_perplexity() -> float:
    tokens = [word for sentence in SENTENCES for word in (*sentence.split(), "</s>")]
    counts = Counter(tokens)
    nll = -sum(n * math.log(n / len(tokens)) for n in counts.values())
    return math.exp(nll / len(tokens))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_trains_resumes_evaluates_and_answers(
    name: str, corpus: Path, vocabulary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "save_curve", lambda h, p, *, title: write_bytes(p, b""))
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    asked: dict[str, Any] = {
        "data": corpus,
        "arch": name,
        "out": tmp_path / "run",
        "vocab": vocabulary,
        "overrides": overrides(name),
        "threads": 1,
        "device": "cpu",
        "precision": "fp32",
    }
    begun = charlm.train(**asked, max_time="0.000001s")
    assert not begun.is_finished
    charlm.train(**asked, resume=True)
    (result,) = charlm.evaluate(tmp_path / "run", data=corpus, device="cpu", state="sentence")
    ppl = result.by_state["sentence"].ppl
    assert ppl is not None
    assert ppl < 0.9 * unigram_perplexity()
    (found,) = charlm.neighbours("cats", model=tmp_path / "run", k=3)
    assert len(found.nearest) == 3
