"""Loading a run: the model that it holds, or one line for anything else."""

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm.errors import DataError
from charlm.run import stored_weights
from charlm.run.folder import MODEL, RUN, VOCABULARY, RunInfo, load_info
from charlm.run.stored_weights import (
    load_run,
    load_words,
    read_tensors,
    save_best,
    write_tensors,
)
from charlm.text.io.files import sha256_of
from charlm.text.vocabulary.vocabulary import Inventory, load_inventory
from charlm.training.train import train

Damage = Callable[[Path], object]


def save_better(run: Path, *, more: float = 1) -> None:
    """Replaces the weights as a training does after its second epoch."""
    tensors, meta = read_tensors(run / MODEL)
    better = {name: tensor + more for name, tensor in tensors.items()}
    save_best(run, better, meta={**meta, "epoch": 2})


def test_a_run_is_loaded_with_all_that_it_says(tiny_run: Path) -> None:
    run = load_run(tiny_run)
    tensors, meta = read_tensors(tiny_run / MODEL)
    assert run.path == tiny_run
    assert run.epoch == meta["epoch"] == 1
    assert run.inventory == load_inventory(tiny_run / VOCABULARY)
    assert run.weights_sha256 == sha256_of(tiny_run / MODEL)
    assert run.oov_input == "unk"
    assert not run.model.training
    assert all(torch.equal(tensors[n], t) for n, t in run.model.state_dict().items())


def test_weights_that_a_training_replaces_meanwhile_are_read_again(
    copied_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashed(path: Path) -> str:
        monkeypatch.setattr(stored_weights, "sha256_of", sha256_of)
        save_better(copied_run)
        return sha256_of(path)

    monkeypatch.setattr(stored_weights, "sha256_of", hashed)
    found = load_run(copied_run)
    assert (found.epoch, found.weights_sha256) == (2, sha256_of(copied_run / MODEL))
    better, _ = read_tensors(copied_run / MODEL)
    assert all(torch.equal(better[n], t) for n, t in found.model.state_dict().items())


def test_weights_that_a_training_replaces_before_they_are_read_are_the_runs(
    copied_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words_then_saved(folder: Path, info: RunInfo) -> Inventory:
        if read_tensors(folder / MODEL)[1]["epoch"] == 1:
            save_better(folder)
        return load_words(folder, info)

    monkeypatch.setattr(stored_weights, "load_words", words_then_saved)
    found = load_run(copied_run)
    assert (found.epoch, found.info) == (2, load_info(copied_run))


def test_crashes_between_a_hash_and_its_weights_leave_the_former_ones(
    copied_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(path: Path, content: bytes) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stored_weights, "write_bytes", crash)
        for more in (1, 1, 2):
            with pytest.raises(KeyboardInterrupt):
                save_better(copied_run, more=more)
    found = load_run(copied_run)
    assert (found.epoch, found.weights_sha256) == (1, sha256_of(copied_run / MODEL))
    save_better(copied_run)
    assert load_run(copied_run).epoch == 2


def test_weights_that_differ_in_one_bit_from_what_training_wrote_are_refused(
    copied_run: Path,
) -> None:
    path = copied_run / MODEL
    before = sha256_of(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    after = sha256_of(path)
    with pytest.raises(DataError) as caught:
        load_run(copied_run)
    assert str(caught.value) == (
        f"{path}: sha256 {after[:12]}; expected {before[:12]}, which run.json records: damaged or "
        "changed after training; put the file back or, if this one is meant, its sha256 into "
        "run.json"
    )
    changed(RUN, lambda value: value.update(weights_sha256=after))(copied_run)
    assert load_run(copied_run).weights_sha256 == after


def test_loading_a_run_draws_nothing_from_the_callers_generator(
    corpus_dir: Path, tmp_path: Path
) -> None:
    overrides = ["encoder.encoder.filters=1,1,1,1,1,1", "context.dim=2", "output.type=hierarchical"]
    train(
        arch="char-small",
        data=corpus_dir,
        out=tmp_path / "run",
        epochs=1,
        overrides=overrides,
        threads=1,
        precision="fp32",
    )
    before = torch.get_rng_state()
    run = load_run(tmp_path / "run")
    assert torch.equal(torch.get_rng_state(), before)
    tensors, _ = read_tensors(tmp_path / "run" / MODEL)
    assert torch.equal(
        run.model.state_dict()["output.levels.cluster_V"], tensors["output.levels.cluster_V"]
    )


def changed(name: str, change: Callable[[Any], object]) -> Damage:
    """Damages a JSON file of the run."""

    def damage(run: Path) -> None:
        value = json.loads((run / name).read_text())
        change(value)
        (run / name).write_text(json.dumps(value))

    return damage


def set_part(path: str, value: object) -> Damage:
    """Sets an option in the settings of run.json."""

    def change(run: Any) -> None:
        *parts, last = path.split(".")
        where = run["settings"]
        for part in parts:
            where = where[part]
        where[last] = value

    return changed(RUN, change)


def nested(value: dict[str, Any]) -> None:
    part = value["settings"]["encoder"]
    for _ in range(40):
        part = {"type": "highway", "encoder": part, "layers": 1}
    value["settings"]["encoder"] = part


def as_folder(name: str) -> Damage:
    def damage(run: Path) -> None:
        (run / name).unlink()
        (run / name).mkdir()

    return damage


def bigger(value: dict[str, Any]) -> None:
    value["words"].append("emu")
    value["counts"].append(1)


def refitted(run: Path) -> None:
    """A vocabulary that run.json names, yet not the one of the weights."""
    changed(VOCABULARY, bigger)(run)
    sha256 = load_inventory(run / VOCABULARY).sha256
    changed(RUN, lambda value: value.update(vocabulary_sha256=sha256, counts_sha256=None))(run)


DAMAGES: dict[str, tuple[Damage, str]] = {
    "a billion units": (
        set_part("context.dim", 10**9),
        "{run}/run.json: option 'dim' of context 'lstm' is 1000000000; expected 1 to 65536",
    ),
    "as many units as may be": (
        set_part("context.dim", 65_536),
        "{run}/model.safetensors: context.layers.0.weight_ih_l0 is 32 by 16; expected 262144 by "
        "16, as run.json and vocab.json describe",
    ),
    "a billion layers": (
        set_part("encoder.layers", 10**9),
        "{run}/run.json: option 'layers' of encoder 'highway' is 1000000000; expected 1 to 64",
    ),
    "parts without end": (
        changed(RUN, nested),
        "{run}/run.json: encoder: parts nested more than 16 deep; expected fewer",
    ),
    "unknown part": (
        set_part("context", {"type": "os.system"}),
        "{run}/run.json: unknown context 'os.system'; expected one of lstm",
    ),
    "unknown option": (
        set_part("context.dmi", 3),
        "{run}/run.json: context 'lstm' has no option 'dmi'; did you mean context.dim? "
        "it takes dim, layers, last_dim",
    ),
    "no recipe": (
        set_part("recipe", 3),
        "{run}/run.json: the recipe says no oov_input; the run is damaged",
    ),
    "no batching": (
        set_part("recipe.batching", "x"),
        "{run}/run.json: the recipe's batching is no part; the run is damaged",
    ),
    "no criterion": (
        set_part("recipe.criterion", "x"),
        "{run}/run.json: the recipe's criterion is no part; the run is damaged",
    ),
    "no number of resets": (
        set_part("recipe.batching.reset", "x"),
        "{run}/run.json: the reset of the recipe's batching is no number; the run is damaged",
    ),
    "no oov_input": (
        set_part("recipe.oov_input", ["unk"]),
        "{run}/run.json: the recipe says no oov_input; the run is damaged",
    ),
    "a folder for a vocabulary": (
        as_folder(VOCABULARY),
        "{run}/vocab.json: no such file; the run is damaged",
    ),
    "a word that is no text": (
        changed(VOCABULARY, lambda value: value["words"].__setitem__(5, "\ud800")),
        "{run}/vocab.json: words: found half a surrogate pair; expected text",
    ),
    "another vocabulary": (
        changed(VOCABULARY, bigger),
        "{run}/vocab.json: not the vocabulary that run.json names; the run is damaged",
    ),
    "other counts": (
        changed(VOCABULARY, lambda value: value["counts"].reverse()),
        "{run}/vocab.json: the words are those that run.json names, their counts are not; the run "
        "is damaged; put back the file that it was begun with",
    ),
    "a vocabulary that does not fit": (
        refitted,
        "{run}/model.safetensors: output.words.weight is 16 by 8; expected 17 by 8, as run.json "
        "and vocab.json describe",
    ),
    "weights that say no epoch": (
        lambda run: write_tensors(run / MODEL, read_tensors(run / MODEL)[0], meta={}),
        "{run}/model.safetensors: says no epoch; expected what `charlm train` writes",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_run_that_is_damaged_or_hostile_is_one_line_at_once(copied_run: Path, kind: str) -> None:
    damage, line = DAMAGES[kind]
    damage(copied_run)
    peak, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    with pytest.raises(DataError) as caught:
        load_run(copied_run)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert str(caught.value).startswith(line.format(run=copied_run))
    assert "\n" not in str(caught.value)
    assert grown < 200_000  # KiB; a matrix of those units alone would take 68 GB
    assert time.perf_counter() - clock < 5
