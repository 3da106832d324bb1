"""What may be asked of a training, and what must agree with the run that is resumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from charlm import runtime
from charlm.errors import CharlmError, ConfigError, TrainingError
from charlm.presets import preset
from charlm.settings import merged
from charlm.training.planning.plan import (
    first_difference,
    make_plan,
    parse_time,
    requested_changes,
)
from charlm.training.train import train
from charlm.training.train_options import TrainOptions

TrainToy = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (90, 90.0),
        (0.5, 0.5),
        ("90", 90.0),
        ("90s", 90.0),
        ("30m", 1800.0),
        ("2h", 7200.0),
        ("1.5m", 90.0),
        ("1e2s", 100.0),
    ],
)
def test_a_time_is_a_number_and_its_unit(text: str | float, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    "text", ["soon", "", "s", "1_0s", "-5s", "0", "1d", "nan", "inf", "nanh", "1e9"]
)
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_time(text)
    assert str(caught.value) == f"--max-time {text!r}: expected a time as 90s, 30m or 2h"


def test_short_options_are_settings_of_the_recipe_and_a_later_word_wins() -> None:
    sets = ["recipe.clip=1", "recipe.epochs=9", "encoder.encoder.widths=1,2"]
    options = TrainOptions(data="d", overrides=sets, epochs=3, batch_size=4, lr=0.5)
    changes = requested_changes(options, preset("char-small"))
    recipe = {"epochs": 9, "batch_size": 4, "optimiser": {"lr": 0.5}, "clip": 1}
    assert changes == {"recipe": recipe, "encoder": {"encoder": {"widths": [1, 2]}}}


def test_a_model_for_sentences_begins_anew_at_half_of_their_ends() -> None:
    kim = preset("char-small")
    changes = requested_changes(TrainOptions(data="d", purpose="sentences", epochs=2), kim)
    batching = {"type": "streams", "reset": 0.5}
    assert changes == {"recipe": {"epochs": 2, "batching": batching}}
    assert merged(kim, changes)["recipe"]["batching"] == batching
    options = TrainOptions(data="d", purpose="sentences", overrides=["recipe.batching.reset=.9"])
    assert requested_changes(options, kim)["recipe"]["batching"]["reset"] == 0.9
    options = TrainOptions(data="d", purpose="sentences", overrides=["recipe.batching.reset=.1"])
    with pytest.raises(ConfigError, match=r"reset=0.1 is too rare for them; expected 0.5 or more"):
        requested_changes(options, kim)


def test_a_model_for_sentences_is_so_when_streams_take_the_place_of_sentences() -> None:
    streams = ["recipe.batching.type=streams"]
    options = TrainOptions(data="d", purpose="sentences", overrides=streams)
    settings = preset("miyamoto-gate")  # reads single sentences
    changes = requested_changes(options, settings)
    assert changes == {"recipe": {"batching": {"type": "streams", "reset": 0.5}}}
    resumed = requested_changes(options, merged(settings, changes))
    assert first_difference(merged(settings, changes), resumed) is None


@pytest.mark.parametrize("batching", [{"type": "sentences"}, {"type": "streams", "reset": 0.7}])
def test_a_model_that_reads_single_sentences_is_for_them_as_it_is(
    batching: dict[str, object],
) -> None:
    options = TrainOptions(data="d", purpose="sentences")
    assert requested_changes(options, {"recipe": {"batching": batching}}) == {}


@pytest.mark.parametrize(
    "overrides",
    [
        ["recipe.optimiser.type=adam", "encoder.type=word", "encoder.dim=50"],
        ["encoder.dim=50", "encoder.type=word", 'recipe.optimiser={"type": "adam"}'],
    ],
    ids=["type first", "type last"],
)
def test_options_hold_for_a_part_whichever_is_said_first(overrides: list[str]) -> None:
    changes = requested_changes(
        TrainOptions(data="d", overrides=overrides, lr=0.003), preset("char-small")
    )
    assert changes == {
        "recipe": {"optimiser": {"type": "adam", "lr": 0.003}},
        "encoder": {"type": "word", "dim": 50},
    }
    kept = merged(preset("char-small"), changes)
    assert kept["encoder"] == {"type": "word", "dim": 50}
    assert kept["recipe"]["optimiser"] == {"type": "adam", "lr": 0.003}


def test_no_option_is_no_change() -> None:
    assert requested_changes(TrainOptions(data="d"), preset("char-small")) == {}


def test_the_first_difference_is_found_at_any_depth() -> None:
    settings = {"a": {"b": {"c": 1, "d": [1, 2]}}, "e": 5.0}
    assert first_difference(settings, {"a": {"b": {"c": 1}}, "e": 5}) is None
    assert first_difference(settings, {"a": {"b": {"d": [1]}}}) == ("a.b.d", [1], [1, 2])
    assert first_difference(settings, {"a": {"x": 1}}) == ("a.x", 1, None)
    assert first_difference(settings, {"e": {"type": "x"}}) == ("e", {"type": "x"}, 5.0)


def test_a_run_of_a_machine_with_bf16_is_one_line_where_there_is_none(
    train_toy: TrainToy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_toy(epochs=1)
    path = tmp_path / "run" / "run.json"
    path.write_text(path.read_text().replace('"fp32"', '"bf16"'))
    monkeypatch.setattr(runtime, "has_bf16_on_cpu", lambda: False)
    with pytest.raises(ConfigError) as caught:
        train_toy(epochs=1, precision="auto", resume=True)
    assert str(caught.value) == (
        f"{path.parent}: was begun in bf16, which this cpu has not; go on with it on a machine "
        f"that has, or begin another run with its weights, --init {path.parent} --out OTHER"
    )


def test_another_default_number_format_is_told_as_for_a_new_run(train_toy: TrainToy) -> None:
    train_toy(epochs=1)
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(ConfigError, match="^torch's default dtype is torch.float64"):
            train_toy(epochs=1, resume=True)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("options", "torchrun", "n_threads"),
    [
        ({}, {}, 4),
        ({"processes": 3}, {}, 2),
        ({"processes": 3, "threads": 5}, {}, 5),
        ({}, {"RANK": "0", "WORLD_SIZE": "3", "LOCAL_RANK": "0"}, 2),
    ],
)
def test_a_run_that_goes_on_in_several_processes_has_their_share_of_the_cores(
    train_toy: TrainToy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    torchrun: dict[str, str],
    n_threads: int,
) -> None:
    train_toy(epochs=1)
    for name, value in torchrun.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "run" / "run.json"
    path.write_text(path.read_text().replace('"threads": 1', '"threads": 4'))
    before = torch.get_num_threads()
    torch.set_num_threads(2)  # as for each of three on six cores
    try:
        asked = TrainOptions(data="d", out=path.parent, resume=True, device="cpu", **options)
        assert make_plan(asked).threads == torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["model.safetensors", "resume.safetensors", "log.jsonl"])
def test_what_was_learnt_is_not_written_over_where_no_run_is_described(
    train_toy: TrainToy, tmp_path: Path, name: str, resume: bool
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).write_text("of hours")
    with pytest.raises(TrainingError) as caught:
        train_toy(epochs=1, resume=resume)
    assert str(caught.value) == (
        f"{folder}: holds {name} but no run.json; expected a run or a new folder, since a training "
        "would write over it; put run.json back, or choose another --out"
    )
    assert [each.name for each in folder.iterdir()] == [name]
    assert (folder / name).read_text() == "of hours"


def test_an_exported_models_vocabulary_is_not_written_over(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "export.json").write_text("{}")
    (folder / "vocab.json").write_text("exported")
    with pytest.raises(TrainingError, match=r"holds an exported model; .* choose another --out$"):
        train_toy(epochs=1)
    assert (folder / "vocab.json").read_text() == "exported"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"arch": "word-small"}, "--arch word-small disagrees with the run, which has char-small"),
        ({"seed": 5}, "--seed 5 disagrees with the run, which has 3435"),
        ({"max_tokens": 90}, "--max-tokens 90 disagrees with the run, which has 150"),
        ({"precision": "bf16"}, "--precision bf16 disagrees with the run, which has fp32"),
        ({"batch_size": 5}, "recipe.batch_size=5 disagrees with the run, which has 4"),
        ({"bptt": 5}, "recipe.bptt=5 disagrees with the run, which has 15"),
        ({"overrides": ["context.dimm=9"]}, "context.dimm=9: the run has no such setting"),
        ({"lr": 0.5}, "recipe.optimiser.lr=0.5 disagrees with the run, which has 1.0"),
        (
            {"overrides": ["context.dim=6"]},
            "context.dim=6 disagrees with the run, which has 5",
        ),
        (
            {"overrides": ["encoder.encoder.widths=1,3"]},
            "encoder.encoder.widths=[1, 3] disagrees with the run, which has [1, 2]",
        ),
        (
            {"overrides": ["encoder.type=word"]},
            "encoder.type=word disagrees with the run, which has highway",
        ),
    ],
)
def test_an_option_that_disagrees_with_the_run_is_an_error(
    train_toy: TrainToy, tmp_path: Path, options: dict[str, Any], line: str
) -> None:
    train_toy(epochs=1, max_tokens=150)
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(ConfigError) as caught:
        train_toy(resume=True, **{"epochs": 1, "max_tokens": 150, **options})
    assert str(caught.value).startswith(f"{line}; leave it out")
    # With another recipe only its weights can be used.
    assert ("--init RUN" in str(caught.value)) == line.startswith("recipe.")
    assert before == {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}


@pytest.mark.parametrize(("schedule", "epochs"), [("halving", 1), ("cosine", 3), ("linear", 3)])
def test_epochs_that_would_change_those_that_are_trained_are_refused(
    train_toy: TrainToy, schedule: str, epochs: int
) -> None:
    train_toy(overrides=[f"recipe.schedule.type={schedule}"])
    with pytest.raises(ConfigError) as caught:
        train_toy(overrides=[], epochs=epochs, resume=True)
    assert str(caught.value) == (
        f"recipe.epochs={epochs} disagrees with the run, which has 2; leave it out, or begin "
        "another run with the weights of this one, --init RUN --out OTHER"
    )


def test_options_that_agree_with_the_run_may_be_said_again_or_left_out(train_toy: TrainToy) -> None:
    said = {"arch": "char-small", "seed": 3435, "precision": "fp32", "lr": 1, "max_tokens": 150}
    first = train_toy(epochs=1, **said)
    again = train_toy(epochs=1, **said, resume=True)
    silent = {"overrides": (), "epochs": None, "batch_size": None, "bptt": None}
    left_out = train_toy(**silent, precision="auto", resume=True)
    assert first == again == left_out


def test_a_run_that_exists_is_not_trained_into_without_resume(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy(epochs=1)
    with pytest.raises(TrainingError) as caught:
        train_toy(epochs=1)
    assert str(caught.value) == (
        f"{tmp_path / 'run'}: holds a run already; add --resume to go on, or choose another --out"
    )


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"seed": -1}, "--seed -1: expected 0 to 4294967295"),
        ({"seed": 2**32}, "--seed 4294967296: expected 0 to 4294967295"),
        ({"threads": -1}, "--threads -1: expected 1 to 4096"),
        ({"threads": 0}, "--threads 0: expected 1 to 4096"),
        ({"threads": 4097}, "--threads 4097: expected 1 to 4096"),
        ({"lr": -1.0}, "--lr -1.0: expected 0 or more"),
        ({"max_tokens": -1}, "--max-tokens -1: expected 0 or more"),
        (
            {"overrides": ("recipe.schedule.type=pretraining",)},
            "schedule 'pretraining': the encoder has no word side of its own; expected a mixture "
            "of a word and a char encoder; begin with --arch miyamoto-gate-pretrained",
        ),
    ],
)
def test_what_cannot_be_trained_is_one_line_and_leaves_no_run(
    train_toy: TrainToy, tmp_path: Path, options: dict[str, Any], line: str
) -> None:
    with pytest.raises(CharlmError) as caught:
        train_toy(**options)
    assert str(caught.value).startswith(line)
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.parametrize("resume", [False, True])
def test_the_corpus_directory_is_no_place_for_the_run(
    toy_corpus: Path, tmp_path: Path, resume: bool
) -> None:
    before = sorted(toy_corpus.iterdir())
    same = tmp_path / "same"
    same.symlink_to(toy_corpus)
    with pytest.raises(ConfigError) as caught:
        train(data=toy_corpus, out=same, resume=resume)
    assert str(caught.value) == (
        f"--out {same}: is the corpus directory, which is not written to; choose another"
    )
    assert sorted(toy_corpus.iterdir()) == before


def test_a_pre_training_that_never_reads_both_sides_is_refused(
    train_toy: Callable[..., object], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        train_toy(arch="miyamoto-gate-pretrained", epochs=4, overrides=())
    assert str(caught.value) == (
        "option 'epochs' of recipe is 4, all of them pre-training on one side; expected some with "
        "both; raise --epochs, or lower recipe.schedule.epochs"
    )
    assert not (tmp_path / "run").exists()


def test_a_word_model_cannot_be_told_to_read_spellings(train_toy: TrainToy, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        train_toy(arch="word-small", overrides=["recipe.oov_input=spelling"])
    assert str(caught.value) == (
        "option 'oov_input' of recipe is 'spelling'; expected 'unk', since encoder 'word' reads "
        "no spelling; use --set recipe.oov_input=unk"
    )
    assert not (tmp_path / "run").exists()


def test_a_file_that_the_run_has_read_is_not_said_to_disagree(
    train_toy: TrainToy, toy_corpus: Path, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "classes.txt"
    words = sorted({*(toy_corpus / "train.txt").read_text().split()})
    file.write_text("".join(f"{word}\t{len(word) % 2}\n" for word in words))
    asked = {"overrides": (*tiny, "output.type=class", f"output.file={file}"), "epochs": 1}
    train_toy(**asked)
    with pytest.raises(ConfigError) as caught:
        train_toy(**asked, resume=True)
    assert str(caught.value) == (
        f"output.file={file}: the run keeps what it has read of a file; leave it out"
    )


def test_a_recipe_that_is_none_is_a_disagreement_with_the_run(train_toy: TrainToy) -> None:
    train_toy(epochs=1)
    asked = {"overrides": ["recipe=3"], "epochs": None, "batch_size": None, "bptt": None}
    with pytest.raises(ConfigError, match="^recipe=3 disagrees with the run, which has {"):
        train_toy(resume=True, **asked)


def test_options_may_change_where_nothing_is_learnt_yet(
    train_toy: TrainToy, tmp_path: Path
) -> None:
    train_toy()
    for name in ("model.safetensors", "resume.safetensors", "log.jsonl"):
        (tmp_path / "run" / name).unlink()
    with pytest.raises(ConfigError) as caught:
        train_toy(resume=True, lr=0.5)
    assert str(caught.value) == (
        "recipe.optimiser.lr=0.5 disagrees with the run, which has 1.0; leave it out, or leave out "
        "--resume to begin again with it, since nothing is learnt yet"
    )
    assert train_toy(lr=0.5).is_finished
