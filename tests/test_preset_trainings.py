"""Every preset, scaled down, from training to neighbours: none exists only in a table.

Each must beat the perplexity of the words' frequencies, which needs no context at all. And if a
crash ends its training in the middle of an epoch, the resumed training ends with the same bits.
"""

import json
import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import charlm
from charlm.presets import PRESETS
from charlm.run.folder import MODEL, RESUME
from charlm.run.stored_weights import read_tensors
from charlm.settings import Settings, merged, overridden
from charlm.text.io.files import write_bytes
from charlm.training import session
from charlm.training.loop.trainer import Trainer
from charlm.training.watcher import Silence

# Subject, verb and object belong together; the ends of words show their class.
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
    "value": 0.25,  # of a fixed gate
    # Dropping half of 16 numbers would leave too little to learn from.
    **dict.fromkeys(("dropout", "input_dropout", "output_dropout"), 0.1),
}
CNN = {"widths": [1, 2, 3], "filters": [6, 6, 6]}
# Six streams, seven epochs; large initial weights and rates for so few steps.
RECIPE: Settings = {"epochs": 7, "batch_size": 6, "bptt": 8, "clip": 1.0, "patience": 0}


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
    if "modern" in name:  # made for tens of thousands of steps
        recipe |= {"optimiser": {"lr": 0.02}, "averaging": {"decay": 0.9}}
        recipe["activation_penalty"] = recipe["temporal_penalty"] = 0.0
    if preset["recipe"].get("criterion", {}).get("type") == "nce":
        recipe["criterion"] = {"noise": 40}
    return [
        f"{part}={json.dumps(value)}" for part, value in ({**changes, "recipe": recipe}).items()
    ]


def distinct() -> list[str]:
    """Presets that scaling leaves different: one that differs in sizes alone is trained once."""
    names: dict[str, str] = {}
    for name, preset in PRESETS.items():
        small = merged(preset, overridden({}, overrides(name)))
        names.setdefault(json.dumps(small, sort_keys=True), name)
    return list(names.values())


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
    charlm.vocab(data=corpus, out=path, morphs="sentencepiece:40")
    return path


def unigram_perplexity() -> float:
    tokens = [word for sentence in SENTENCES for word in (*sentence.split(), "</s>")]
    counts = Counter(tokens)
    nll = -sum(n * math.log(n / len(tokens)) for n in counts.values())
    return math.exp(nll / len(tokens))


class Crash(Silence):
    """Copies the run as it stands behind the second step of the last epoch but one."""

    def __init__(self, run: Path, copy: Path, patch: pytest.MonkeyPatch) -> None:
        self.run, self.copy, self.patch = run, copy, patch

    def stepped(self, trainer: Trainer) -> None:
        position = trainer.position
        if position.epoch == RECIPE["epochs"] - 2 and position.step in (2, 3):
            is_due = position.step == 2
            self.patch.setattr(session, "CHECKPOINT_SECONDS", -1.0 if is_due else math.inf)
            if not is_due:
                shutil.copytree(self.run, self.copy)


def kept(run: Path) -> tuple[bytes, dict[str, bytes]]:
    """The best weights as they lie there, and all that a next step would depend on."""
    tensors, _ = read_tensors(run / RESUME)
    return (run / MODEL).read_bytes(), {k: t.numpy().tobytes() for k, t in tensors.items()}


@pytest.mark.parametrize("name", distinct())
def test_a_preset_trains_resumes_evaluates_and_answers(
    name: str, corpus: Path, vocabulary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "save_curve", lambda h, p, *, title: write_bytes(p, b""))
    run, crashed = tmp_path / "run", tmp_path / "crashed"
    asked: dict[str, Any] = {"threads": 1, "device": "cpu", "precision": "fp32"}
    charlm.train(
        data=corpus,
        arch=name,
        out=run,
        vocab=vocabulary,
        overrides=overrides(name),
        watcher=Crash(run, crashed, monkeypatch),
        **asked,
    )
    assert kept(crashed) != kept(run)
    assert charlm.train(data=corpus, out=crashed, resume=True, **asked).is_finished
    assert kept(crashed) == kept(run)
    (result,) = charlm.evaluate(run, data=corpus, device="cpu", state="sentence")
    ppl = result.by_state["sentence"].ppl
    assert ppl is not None
    assert ppl < 0.9 * unigram_perplexity()
    (found,) = charlm.neighbours("cats", model=run, k=3)
    assert len(found.nearest) == 3
