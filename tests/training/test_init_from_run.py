"""Training that starts from another run's model: what both have is taken over, by name."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from charlm.cli import app
from charlm.errors import ConfigError, DataError, TrainingError
from charlm.model.build import build_model
from charlm.model.forms import FormTable
from charlm.presets import PRESETS, preset
from charlm.run.folder import CARD, MODEL, RESUME, RUN, load_info
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.scoring.evaluation.evaluate import evaluate
from charlm.settings import merged
from charlm.text.vocabulary.build_vocabulary import vocab
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of, load_inventory
from charlm.training import session
from charlm.training.init_from_run import CHARACTERS, WORDS, begin_from, row_kinds

TrainToy = Callable[..., Any]
Bits = Callable[[Path], dict[str, object]]
NEW_TEXT = "the örk barks . the örk ran . dogs sat .\n" * 12


@pytest.fixture
def first(train_toy: TrainToy, tmp_path: Path) -> LoadedRun:
    """A run on the toy corpus."""
    train_toy("first")
    return load_run(tmp_path / "first")


@pytest.fixture
def other_text(tmp_path: Path) -> Path:
    """A corpus with new words and a new character."""
    folder = tmp_path / "other"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_text(NEW_TEXT)
    return folder


def begun(train_toy: TrainToy, run: LoadedRun, **options: Any) -> list[str]:
    """What is said of a training that begins with a run; by default with parts as small as its."""
    notes: list[str] = []
    train_toy("second", **{"init": run.path, "overrides": (), "notes": notes, **options})
    return notes


def vectors(model: LoadedRun, words: list[str]) -> Tensor:
    table = FormTable(model.inventory, words)
    found: Tensor = model.model.encoder(table.forms(np.arange(len(words)))).detach()
    return found


def test_on_the_same_text_it_goes_on_where_the_run_ended(
    train_toy: TrainToy, first: LoadedRun, toy_corpus: Path, tmp_path: Path
) -> None:
    begun(train_toy, first, lr=0.0, epochs=1)
    before, after = (
        evaluate(tmp_path / name, data=toy_corpus, split="test")[0].by_state["carried"].ppl
        for name in ("first", "second")
    )
    assert after == pytest.approx(before, rel=1e-6)


def test_words_and_characters_are_matched_by_name_and_new_ones_drawn_as_in_a_new_model(
    train_toy: TrainToy, first: LoadedRun, other_text: Path, tmp_path: Path
) -> None:
    notes = begun(train_toy, first, data=other_text, lr=0.0, epochs=1)
    second = load_run(tmp_path / "second")
    both = [word for word in second.inventory.words if word in first.inventory.word_ids]
    new = [word for word in second.inventory.words if word not in first.inventory.word_ids]
    assert set(new) == {"örk", "barks", "."}
    assert set(both) == set(first.inventory.words)
    assert "ö" in second.inventory.characters
    torch.testing.assert_close(vectors(second, both), vectors(first, both), rtol=0, atol=0)
    here, there = (
        run.model.state_dict()["output.words.weight"][[run.inventory.word_ids[w] for w in both]]
        for run in (second, first)
    )
    torch.testing.assert_close(here, there, rtol=0, atol=0)
    drawn = second.model.state_dict()["output.words.weight"][
        [second.inventory.word_ids[word] for word in ("örk", "barks")]
    ]
    assert 0 < float(drawn.abs().max()) <= 0.05  # Kim et al.'s range
    assert len(drawn.unique()) == drawn.numel()
    n_words = second.inventory.n_words
    assert notes[0] == (
        f"begun from {first.path}: {len(both)} of {n_words} words have the weights that they had "
        "there"
    )


def test_it_learns_from_there(train_toy: TrainToy, other_text: Path, tmp_path: Path) -> None:
    train_toy("first", data=other_text, epochs=4, lr=0.3)
    begun(train_toy, load_run(tmp_path / "first"), data=other_text, epochs=4, lr=0.3)
    fresh, later = (
        [json.loads(line)["train_ppl"] for line in (tmp_path / name).read_text().splitlines()]
        for name in ("first/log.jsonl", "second/log.jsonl")
    )
    assert later[0] < fresh[0] and later[-1] < fresh[-1]


def test_parts_and_recipe_are_the_runs_and_the_card_says_whose(
    train_toy: TrainToy, first: LoadedRun, tmp_path: Path
) -> None:
    train_toy("second", init=first.path, overrides=(), lr=0.5)
    info = load_info(tmp_path / "second")
    assert info.arch == first.info.arch
    assert info.settings["encoder"] == first.settings["encoder"]
    assert info.settings["recipe"] == merged(first.settings["recipe"], {"optimiser": {"lr": 0.5}})
    assert info.init == {"run": str(first.path), "sha256": first.weights_sha256}
    row = f"| begun from | {first.path}, its model {first.weights_sha256[:12]} |"
    assert row in (tmp_path / "second" / CARD).read_text().splitlines()


def test_info_tells_what_a_run_was_begun_with(
    train_toy: TrainToy, first: LoadedRun, tmp_path: Path
) -> None:
    begun(train_toy, first, epochs=1)
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["info", str(tmp_path / "second")])
    assert f"run {first.path}, sha256 {first.weights_sha256}" in result.stdout


def test_a_vocabulary_that_is_given_is_taken(
    train_toy: TrainToy, first: LoadedRun, other_text: Path, tmp_path: Path
) -> None:
    begun(train_toy, first, data=other_text, vocab=first.path / "vocab.json", epochs=1)
    assert load_inventory(tmp_path / "second/vocab.json").words == first.inventory.words


def test_streams_that_were_left_to_another_text_are_told(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    small = ("encoder.word.encoder.dim=3", "encoder.char.dim=3", "context.dim=5")
    asked: dict[str, Any] = {"epochs": 1, "overrides": small, "batch_size": 16}
    train_toy("first", arch="word-ngram-modern", **asked)  # as if its text were longer
    train_toy("kim", batch_size=16, epochs=1)
    runs = (("first", None), ("first", 16), ("kim", None))
    told = []
    for number, (name, size) in enumerate(runs):
        notes: list[str] = []
        again = {"overrides": (), "batch_size": size, "epochs": 1, "notes": notes}
        for resume in (False, True):
            train_toy(str(number), init=tmp_path / name, resume=resume, **again)
        told.append([note for note in notes if "--batch-size" in note])
    assert told == [
        [
            f"16 streams side by side, as in {tmp_path / 'first'}; --batch-size 0 takes 8 for this "
            "text: many small steps learn more of little text than few large ones"
        ],
        [],
        [],
    ]


@pytest.mark.parametrize("kind", ["hierarchical", "class", "adaptive"])
def test_clusters_of_other_words_are_drawn_anew(
    train_toy: TrainToy, tiny: tuple[str, ...], other_text: Path, tmp_path: Path, kind: str
) -> None:
    more = ("output.cutoffs=4,8", "output.div_value=2") if kind == "adaptive" else ()
    train_toy("first", overrides=(*tiny, f"output.type={kind}", *more), epochs=1)
    first = load_run(tmp_path / "first")
    notes = begun(train_toy, first, data=other_text, lr=0.0, epochs=1)
    assert notes[0].endswith("; the output is drawn anew: its clusters are of the other vocabulary")
    second = load_run(tmp_path / "second").model.state_dict()
    for name, tensor in first.model.state_dict().items():
        if name.startswith("context."):
            torch.testing.assert_close(second[name], tensor, rtol=0, atol=0)
    # With the same words the whole output is taken over.
    shutil.rmtree(tmp_path / "second")
    begun(train_toy, first, lr=0.0, epochs=1)
    again = load_run(tmp_path / "second").model.state_dict()
    for name, tensor in first.model.state_dict().items():
        torch.testing.assert_close(again[name], tensor, rtol=0, atol=0)


def test_another_kind_of_output_is_refused_though_the_words_are_others(
    train_toy: TrainToy, tiny: tuple[str, ...], other_text: Path, tmp_path: Path
) -> None:
    train_toy("first", overrides=tiny, epochs=1)
    first, hierarchical = load_run(tmp_path / "first"), ("output.type=hierarchical",)
    with pytest.raises(ConfigError, match="expected a model of the same parts"):
        begun(train_toy, first, data=other_text, overrides=hierarchical, epochs=1)
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize(("said", "cutoffs"), [((), (3,)), (("output.cutoffs=[2]",), (2,))])
def test_cutoffs_are_chosen_anew_for_other_words_unless_they_were_said(
    train_toy: TrainToy,
    tiny: tuple[str, ...],
    tmp_path: Path,
    said: tuple[str, ...],
    cutoffs: tuple[int, ...],
) -> None:
    train_toy("first", overrides=(*tiny, "output.type=adaptive", *said), epochs=1)
    inventory_of([["dog"] * 9 + ["emu"]], min_count=1).save(tmp_path / "v.json")
    begun(train_toy, load_run(tmp_path / "first"), vocab=tmp_path / "v.json", epochs=1)
    # </s> once, <unk> never, dog nine times: three of four words are more than 80 % of the text
    assert load_run(tmp_path / "second").model.output.cutoffs == cutoffs


def test_cutoffs_that_other_counts_of_the_same_words_choose_are_taken(
    train_toy: TrainToy, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    train_toy("first", overrides=(*tiny, "output.type=adaptive"), epochs=1)
    run = load_run(tmp_path / "first")
    counts = (1000, *[1] * (run.inventory.n_words - 1))  # </s> alone is more than 95 % of the text
    replace(run.inventory, counts=counts).save(tmp_path / "v.json")
    notes = begun(train_toy, run, vocab=tmp_path / "v.json", epochs=1)
    chosen = load_run(tmp_path / "second").model.output.chosen_cutoffs
    assert chosen == (1,) != run.model.output.chosen_cutoffs
    assert any("the output is drawn anew: its clusters are" in note for note in notes)


def test_it_is_resumed_to_the_same_bits_also_before_its_first_checkpoint(
    train_toy: TrainToy,
    first: LoadedRun,
    other_text: Path,
    tmp_path: Path,
    bits: Bits,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def kill(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    asked: dict[str, Any] = {"init": first.path, "overrides": (), "data": other_text}
    train_toy("whole", **asked)
    with monkeypatch.context() as patch:
        patch.setattr(session, "train_on", kill)
        with pytest.raises(KeyboardInterrupt):
            train_toy("second", **asked)
    assert (tmp_path / "second" / RUN).is_file()
    assert not (tmp_path / "second" / RESUME).exists()
    train_toy("second", data=other_text, overrides=(), resume=True)
    assert bits(tmp_path / "second") == bits(tmp_path / "whole")


def test_before_its_first_checkpoint_it_needs_the_very_model(
    train_toy: TrainToy, first: LoadedRun, tmp_path: Path
) -> None:
    begun(train_toy, first)
    for name in (MODEL, RESUME):
        os.remove(tmp_path / "second" / name)
    train_toy("third", seed=7)
    for name in (MODEL, RUN):
        shutil.copy(tmp_path / "third" / name, first.path / name)
    with pytest.raises(DataError) as caught:
        train_toy("second", overrides=(), resume=True)
    assert str(caught.value) == (
        f"{first.path}: its model has changed since {tmp_path / 'second'} was begun with it; give "
        "the one that it was with --init, or begin again with another --out"
    )


def test_its_run_may_be_gone_once_there_is_a_checkpoint_and_moved_before(
    train_toy: TrainToy, first: LoadedRun, tmp_path: Path
) -> None:
    begun(train_toy, first)
    moved = shutil.move(first.path, tmp_path / "moved")
    train_toy("second", overrides=(), resume=True)
    for name in (MODEL, RESUME):
        os.remove(tmp_path / "second" / name)
    train_toy("second", init=moved, overrides=(), resume=True)
    assert (tmp_path / "second" / RESUME).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"arch": "char-small"},
            "--arch char-small: with --init the model is that of {first}; leave one out",
        ),
        ({"arch": ""}, "--arch : with --init the model is that of {first}; leave one out"),
        (
            {"overrides": ("context.dim=6",)},
            "--init {first}: context.layers.0.weight_ih_l0 has 20 by 7 numbers there and 24 by 7 "
            "here; expected the same; leave out --set of encoder, context and output",
        ),
        (
            {"overrides": ("context.layers=2",)},
            "--init {first}: context.layers.1.bias_hh_l0 is not in it; expected a model of the "
            "same parts; leave out --set of encoder, context and output",
        ),
    ],
    ids=["a preset beside it", "an empty one", "another width", "another layer"],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    train_toy: TrainToy, first: LoadedRun, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        begun(train_toy, first, **options)
    assert str(caught.value) == message.format(first=first.path)
    assert not (tmp_path / "second").exists()


def test_a_vocabulary_with_other_morphs_is_refused(
    train_toy: TrainToy, first: LoadedRun, other_text: Path, tmp_path: Path
) -> None:
    (tmp_path / "morphs").write_text("barks\tbark s\n")
    vocab(data=other_text, morphs=str(tmp_path / "morphs"), out=tmp_path / "v.json")
    with pytest.raises(ConfigError) as caught:
        begun(train_toy, first, vocab=tmp_path / "v.json")
    assert str(caught.value) == (
        f"--vocab: has other morphs than --init {first.path}; expected the same, whose vectors are "
        "to be taken over; leave --vocab out"
    )


def test_going_on_with_another_beginning_is_refused(
    train_toy: TrainToy, first: LoadedRun, tmp_path: Path
) -> None:
    begun(train_toy, first)
    with pytest.raises(TrainingError):
        begun(train_toy, first)
    begun(train_toy, first, resume=True)
    train_toy("third", seed=7)
    with pytest.raises(ConfigError) as caught:
        train_toy("second", init=tmp_path / "third", overrides=(), resume=True)
    assert str(caught.value) == (
        f"--init {tmp_path / 'third'} disagrees with the run, which was begun with {first.path} "
        f"as it was then; leave it out, with --out {tmp_path / 'second'}"
    )
    with pytest.raises(ConfigError, match="which was begun without; leave it out"):
        train_toy("third", init=first.path, seed=7, overrides=(), resume=True)


@pytest.mark.parametrize("name", [n for n in PRESETS if not n.startswith(("morph", "mlbl"))])
def test_of_every_preset_it_is_known_what_has_a_row_a_word(name: str) -> None:
    words: Inventory = inventory_of([[f"w{number}" for number in range(97)] * 2])
    settings = preset(name)
    with torch.device("meta"):
        model, _ = build_model(settings, words)
    kinds = row_kinds(settings, words)
    assert set(kinds.values()) <= {WORDS, CHARACTERS}
    sizes = {WORDS: words.n_words, CHARACTERS: words.n_characters}
    found = {name: tensor.shape[0] for name, tensor in model.state_dict().items() if name in kinds}
    assert found == {name: sizes[kinds[name]] for name in found}
    assert any(kind == WORDS for kind in kinds.values())


def test_nothing_is_set_on_the_meta_device(first: LoadedRun) -> None:
    with torch.device("meta"):
        model, _ = build_model(first.settings, first.inventory)
    n_words = first.inventory.n_words
    said = begin_from(model, first.inventory, run=first)
    assert said == f"{n_words} of {n_words} words have the weights that they had there"
    assert all(tensor.is_meta for tensor in model.state_dict().values())
