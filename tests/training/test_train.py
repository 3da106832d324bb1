"""A training as a whole: what it writes, what it leaves alone, and what it refuses."""

import fcntl
import json
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch

from charlm.errors import ConfigError, TrainingError
from charlm.model.build import build_model
from charlm.model.forms import Forms
from charlm.model.language_model import LanguageModel
from charlm.run.folder import LOCK, RESUME, load_info
from charlm.run.stored_weights import load_run, read_tensors, write_tensors
from charlm.text.corpus.sentences import read_sentences
from charlm.text.vocabulary.encoding import FormIds, encode_sentences
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of
from charlm.training import session
from charlm.training.planning.plan import run_folder
from charlm.training.train import train
from charlm.training.train_options import TrainOptions
from charlm.training.watcher import Silence

TrainToy = Callable[..., Any]


def test_two_epochs_give_the_perplexities_that_they_always_gave(
    train_toy: TrainToy, tiny: tuple[str, ...]
) -> None:
    """The golden run: these figures come from charlm itself, and no change may move them silently.

    It has no dropout, whose draws differ from one kind of processor to another.
    """
    history = []

    class Listener(Silence):
        def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
            history.append(record)

    train_toy(overrides=(*tiny, "context.dropout=0"), watcher=Listener())
    assert [record["valid_ppl"] for record in history] == pytest.approx([13.109, 13.079], rel=1e-4)


def slow_perplexity(model: LanguageModel, inventory: Inventory, path: Path) -> float:
    """Four streams of a text, one token at a time, through `log_probs` alone."""
    form_ids = FormIds(inventory)
    sentences = encode_sentences(read_sentences(path), form_ids)
    tokens = [min(int(i), 1) if i >= inventory.n_words else int(i) for s in sentences for i in s]
    length = -(-len(tokens) // 4)
    total = 0.0
    for stream in range(4):
        state = model.context.initial_state(1)
        for place in range(stream * length, min((stream + 1) * length, len(tokens))):
            word = torch.tensor([tokens[place - 1] if place else 0])
            letters = torch.tensor([inventory.spelling(inventory.words[int(word)])])
            x = model.encoder(Forms(word, letters))
            h, state = model.context(x[None], state)
            total -= float(model.output.log_probs(h[0])[0, tokens[place]])
    return math.exp(total / len(tokens))


def test_the_model_that_is_kept_has_the_validation_perplexity_that_was_told(
    train_toy: TrainToy, toy_corpus: Path, tmp_path: Path
) -> None:
    result = train_toy(epochs=3)
    run = load_run(tmp_path / "run")
    told = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert result.valid_ppl == min(record["valid_ppl"] for record in told)
    assert run.epoch == result.best_epoch
    with torch.no_grad():
        ppl = slow_perplexity(run.model, run.inventory, toy_corpus / "valid.txt")
    assert ppl == pytest.approx(result.valid_ppl, rel=1e-5)


def test_the_result_says_what_was_reached(train_toy: TrainToy, tmp_path: Path) -> None:
    result = train_toy(epochs=3)
    assert result.to_dict() == {
        "run": str(tmp_path / "run"),
        "is_finished": True,
        "epochs": 3,
        "steps": 0,
        "best_epoch": result.best_epoch,
        "valid_ppl": result.valid_ppl,
        "seconds": result.seconds,
        "n_parameters": sum(p.numel() for p in load_run(tmp_path / "run").model.parameters()),
    }


def test_the_time_of_a_training_is_that_of_its_steps_and_its_validations(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy(epochs=3)
    path = tmp_path / "run" / RESUME
    tensors, meta = read_tensors(path)
    for record in meta["position"]["history"]:
        record.update(seconds=100.0, validation_seconds=20.5)
    del meta["position"]["history"][0]["validation_seconds"]  # as in older runs
    meta["position"]["seconds"] = 7.0
    write_tensors(path, tensors, meta=meta)
    assert train_toy(epochs=3, resume=True).seconds == 3 * 100.0 + 2 * 20.5 + 7.0
    assert "| time | 341 s |" in (tmp_path / "run" / "card.md").read_text()


def test_a_run_holds_fixed_names_and_the_corpus_is_left_as_it_was(
    train_toy: TrainToy, toy_corpus: Path, tmp_path: Path
) -> None:
    def state() -> list[tuple[str, int, bytes]]:
        return [(p.name, p.stat().st_mtime_ns, p.read_bytes()) for p in toy_corpus.iterdir()]

    before = state()
    train_toy()
    assert state() == before
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "card.md",
        "curve.png",
        "lock",
        "log.jsonl",
        "model.safetensors",
        "resume.safetensors",
        "run.json",
        "vocab.json",
    ]


def test_a_run_says_all_that_decides_its_numbers(
    train_toy: TrainToy, toy_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/lib/charlm/__main__.py", "train"])
    train_toy(seed=7, max_tokens=100, epochs=1)
    info = load_info(tmp_path / "run")
    inventory = inventory_of(read_sentences(toy_corpus / "train.txt", max_tokens=100))
    assert (info.arch, info.seed, info.threads) == ("char-small", 7, 1)
    assert (info.device, info.precision) == ("cpu", "fp32")
    assert info.command == ["charlm", "train"]  # which can be pasted
    assert info.vocabulary_sha256 == inventory.sha256
    assert info.corpus["name"] == toy_corpus.name
    assert info.corpus["max_tokens"] == 100
    assert 90 < info.corpus["train"]["n_tokens"] <= 100
    assert info.versions["torch"] == torch.__version__
    _, resolved = build_model(info.settings, inventory)
    assert {**resolved, "recipe": info.settings["recipe"]} == info.settings
    chosen = {"type": "lstm", "dim": 5, "layers": 1, "dropout": 0.5}
    assert info.settings["context"].items() >= chosen.items()


def test_a_seed_decides_the_run_and_another_seed_makes_another(
    train_toy: TrainToy, bits: Callable[[Path], object], tmp_path: Path
) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train_toy(name, seed=seed, epochs=1)
    assert bits(tmp_path / "a") == bits(tmp_path / "b") != bits(tmp_path / "c")


@pytest.mark.parametrize("what", ["words", "counts"])
def test_a_vocabulary_that_is_given_is_the_one_of_the_run(
    what: str, train_toy: TrainToy, tmp_path: Path
) -> None:
    given = inventory_of([["dog", "cat", "ran", "emu", "emu", "emu"]], min_count=1)
    given.save(tmp_path / "v.json")
    train_toy(vocab=tmp_path / "v.json", epochs=1)
    assert load_run(tmp_path / "run").inventory == given
    train_toy(vocab=tmp_path / "v.json", epochs=1, resume=True)
    train_toy("next", vocab=tmp_path / "run", epochs=1)  # a run has one
    assert load_run(tmp_path / "next").inventory == given
    other = {"words": [["dog", "emu"]], "counts": [["dog", "cat", "ran", "emu", "emu"]]}
    inventory_of(other[what], min_count=1).save(tmp_path / "w.json")
    with pytest.raises(ConfigError) as caught:
        train_toy(vocab=tmp_path / "w.json", epochs=1, resume=True)
    assert str(caught.value) == (
        f"--vocab {tmp_path / 'w.json'} disagrees with the run, which has another; leave it out"
    )


@pytest.mark.parametrize("oov_input", ["unk", "spelling"])
@pytest.mark.parametrize("output", ["softmax", "hierarchical"])
def test_either_output_trains_with_either_reading_of_unknown_words(
    train_toy: TrainToy, tiny: tuple[str, ...], tmp_path: Path, output: str, oov_input: str
) -> None:
    changes = (*tiny, f"output.type={output}", f"recipe.oov_input={oov_input}")
    result = train_toy(epochs=12, overrides=changes)
    log = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    ppls = [json.loads(line)["train_ppl"] for line in log]
    assert ppls[-1] < 0.9 * ppls[0]
    assert result.best_epoch > 1


def test_a_text_shorter_than_its_streams_trains(tmp_path: Path, train_toy: TrainToy) -> None:
    data = tmp_path / "short"
    data.mkdir()
    for split in ("train", "valid"):
        (data / f"{split}.txt").write_text("a a\n\n")
    result = train_toy(data=data, batch_size=20)
    assert (result.is_finished, result.epochs) == (True, 2)


def test_words_too_long_to_be_read_whole_are_told(train_toy: TrainToy, tmp_path: Path) -> None:
    data = tmp_path / "long"
    data.mkdir()
    for split, n in (("train", 2), ("valid", 1)):
        (data / f"{split}.txt").write_text(" ".join([f"{'x' * 66} {'y' * 65}"] * n) + "\n")
    notes: list[str] = []
    train_toy(data=data, epochs=1, notes=notes)
    assert notes == ["1 word is longer than 65 characters and read by its first 65"]
    notes.clear()
    options = {"arch": "word-small", "overrides": ("encoder.dim=3", "context.dim=5")}
    train_toy("words", data=data, epochs=1, notes=notes, **options)
    assert notes == []  # it reads no spelling


def test_a_run_that_another_training_holds_is_refused(train_toy: TrainToy, tmp_path: Path) -> None:
    train_toy(epochs=1)
    with (tmp_path / "run" / LOCK).open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(TrainingError) as caught:
            train_toy(epochs=1, resume=True)
    assert str(caught.value) == (
        f"{tmp_path / 'run'}: another process trains into this run; wait for it, or choose "
        "another --out"
    )
    train_toy(epochs=1, resume=True)  # the lock ended with its holder


def test_the_run_is_named_after_preset_and_corpus_where_no_name_is_given(
    toy_corpus: Path, tiny: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "save_curve", lambda *_, **__: None)
    result = train(
        arch="char-small",
        data=toy_corpus,
        overrides=tiny,
        epochs=1,
        precision="fp32",
        threads=1,
    )
    assert result.run == f"exp/char-small-{toy_corpus.name}"
    of_default = run_folder(TrainOptions(data=toy_corpus))
    assert of_default == Path("exp", f"word-ngram-modern-{toy_corpus.name}")


def test_a_training_on_the_cpu_leaves_the_gpus_random_numbers_alone(
    train_toy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    state = torch.get_rng_state()
    train_toy(epochs=1)
    assert seeded == []
    assert torch.equal(torch.get_rng_state(), state)


def test_trainings_in_threads_take_turns_and_draw_as_if_alone(
    train_toy: Callable[..., Any],
) -> None:
    alone, begun = train_toy("alone", epochs=2).valid_ppl, Event()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(train_toy, "first", epochs=2, stop=begun.set)
        assert begun.wait(60)  # in its first step
        second = threads.submit(train_toy, "second", epochs=2)
    assert first.result().valid_ppl == second.result().valid_ppl == alone
