"""Notes of a training on what its user would not expect."""

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.run.folder import LOG
from charlm.run.history import WARNING, history_of
from charlm.run.verification import verified
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.preparation.prepare import prep
from charlm.text.vocabulary.vocabulary import inventory_of, load_inventory
from charlm.training.planning import training_notes
from charlm.training.planning.training_notes import idle_settings
from charlm.training.watcher import Silence

SAME = (
    "the rate is the same in all 3 epochs: recipe.schedule.first_epoch={}, after which it may "
    "change"
)


def test_marks_that_stand_at_words_are_told_once(
    train_toy: Callable[..., Any], toy_corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "glued").mkdir()
    for split in ("train", "valid"):
        text = (toy_corpus / f"{split}.txt").read_text()
        (tmp_path / "glued" / f"{split}.txt").write_text(text.replace(" ", ", "))
    notes: list[str] = []
    for resume in (False, True):
        train_toy(data=tmp_path / "glued", notes=notes, resume=resume)
    (note,) = notes
    assert re.match(r"\d+% of the words end in a mark \(\w+, \w+, \w+,\) and are others ", note)


def test_a_text_of_which_no_word_is_kept_is_told(
    train_toy: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "once").mkdir()
    for split in ("train", "valid"):
        (tmp_path / "once" / f"{split}.txt").write_text("each word stands here once\n")
    notes: list[str] = []
    train_toy(data=tmp_path / "once", notes=notes, batch_size=1)
    assert notes[0].startswith("no word but <unk>: none occurs twice in train.txt; ")


def test_a_vocabulary_of_another_language_is_told(
    train_toy: Callable[..., Any], toy_corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "capitals").mkdir()
    for split in ("train", "valid"):
        text = (toy_corpus / f"{split}.txt").read_text()
        (tmp_path / "capitals" / f"{split}.txt").write_text(text.upper())
    inventory_of([["the", "cat"]] * 2).save(tmp_path / "vocab.json")
    notes: list[str] = []
    train_toy(data=tmp_path / "capitals", vocab=tmp_path / "vocab.json", notes=notes)
    assert re.fullmatch(
        r"\d+% of train.txt is <unk> in this vocabulary: another case or language\?", notes[-1]
    )


def test_a_validation_on_the_training_text_is_told_once(
    train_toy: Callable[..., Any], toy_corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "same").mkdir()
    for split in ("train", "valid"):
        (tmp_path / "same" / f"{split}.txt").write_bytes((toy_corpus / "train.txt").read_bytes())
    notes: list[str] = []
    for resume in (False, True):
        train_toy(data=tmp_path / "same", notes=notes, resume=resume)
    (note,) = notes
    assert note.startswith("valid.txt is the same text as train.txt, ")


@pytest.mark.parametrize(
    ("overrides", "is_told"),
    [
        ((), True),
        (("recipe.criterion.type=sampled-softmax",), False),
        (("output.type=hierarchical",), False),
    ],
)
def test_sums_over_a_large_vocabulary_are_told_with_what_is_faster(
    train_toy: Callable[..., Any],
    tiny: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    overrides: tuple[str, ...],
    is_told: bool,
) -> None:
    notes: list[str] = []
    train_toy("few", overrides=(*tiny, *overrides), notes=notes)
    assert notes == []
    n_words = load_inventory(tmp_path / "few" / "vocab.json").n_words
    monkeypatch.setattr(training_notes, "MANY_WORDS", n_words)
    for resume in (False, True):
        train_toy("many", overrides=(*tiny, *overrides), notes=notes, resume=resume)
    assert notes == is_told * [
        f"each step sums over all {n_words} words; over a sample of them it is "
        "several times as fast: --set recipe.criterion.type=sampled-softmax"
    ]


def test_streams_and_noise_that_are_left_to_a_short_text_are_told_and_kept(
    train_toy: Callable[..., Any], tmp_path: Path
) -> None:
    notes: list[str] = []
    for resume, size, noise in ((False, 0, -1), (True, 0, -1), (True, None, 0.2), (True, 8, 0.2)):
        changes = (f"recipe.input_noise={noise}",)
        train_toy(notes=notes, resume=resume, batch_size=size, overrides=changes)
    train_toy("said", batch_size=8, overrides=changes)
    assert notes == [
        "8 streams side by side, of a longer text up to 64 (--batch-size): many small steps learn "
        "more of little text than few large ones",
        "recipe.input_noise=0.2 (0: none): other words replace some input, as the text is short",
    ]
    left, said = (json.loads((tmp_path / n / "run.json").read_bytes()) for n in ("run", "said"))
    assert left["settings"] == said["settings"]


@pytest.mark.parametrize(
    ("schedule", "n_epochs", "told"),
    [
        (("type=halving",), 3, [SAME.format(3)]),
        (("type=halving", "first_epoch=2"), 3, []),
        (("type=divide",), 3, [SAME.format(4)]),
        (("type=halving",), 2, []),
        (
            ("type=cosine", "warm_up=6"),
            2,
            [
                "the rate rises up to the last step: recipe.schedule.warm_up=6, and there are 6 "
                "steps"
            ],
        ),
        (("type=linear", "warm_up=5"), 2, []),
        (
            ("type=halving", "factor=0.001", "least_gain=1000", "first_epoch=1"),
            4,
            [
                "the rate is 0.001 now, since epochs gained less than recipe.schedule.least_gain="
                "1000; at less than 1% of the first rate there is little to gain (recipe.patience "
                "ends what gains nothing)"
            ],
        ),
    ],
)
def test_a_schedule_that_does_nothing_is_told_with_its_setting(
    schedule: tuple[str, ...],
    n_epochs: int,
    told: list[str],
    train_toy: Callable[..., Any],
    tiny: tuple[str, ...],
) -> None:
    notes: list[str] = []
    overrides = (*tiny, *(f"recipe.schedule.{each}" for each in schedule))
    train_toy(overrides=overrides, epochs=n_epochs, notes=notes)
    assert notes == told
    train_toy(overrides=overrides, epochs=n_epochs, notes=notes, resume=True)
    assert notes == told


def test_averaging_that_cannot_begin_is_told(
    train_toy: Callable[..., Any], tiny: tuple[str, ...]
) -> None:
    notes: list[str] = []
    train_toy(overrides=(*tiny, "recipe.averaging.type=nt-asgd"), epochs=1, notes=notes)
    assert notes == [
        "no weights are averaged: with recipe.averaging.window=5 epoch 8 is the first that can be, "
        "and --epochs is 1"
    ]


def test_the_epoch_from_which_weights_are_averaged_is_told_once(
    train_toy: Callable[..., Any], tiny: tuple[str, ...], tmp_path: Path
) -> None:
    overrides = (*tiny, "recipe.averaging.type=nt-asgd", "recipe.averaging.window=1")
    notes: list[str] = []
    train_toy(overrides=overrides, epochs=12, lr=20.0, notes=notes)
    records = [json.loads(line) for line in (tmp_path / "run" / LOG).read_text().splitlines()]
    ppls = [record["valid_ppl"] for record in records]
    first = next(t for t in range(3, 12) if ppls[t - 1] > min(ppls[: t - 2])) + 1
    assert notes == [f"weights are averaged from epoch {first} on"]


GATE = (
    "encoder.type=gate",
    "encoder.word.type=word",
    "encoder.word.dim=4",
    "encoder.char.type=char-lstm",
    "encoder.char.dim=4",
    "context.dim=5",
)
BIGRAM = ("encoder.type=word", "encoder.dim=4", "context.type=ffnn", "context.order=2")


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (
            ("context.output_dropout=0.2", "context.dropout=0.3"),
            [
                "context.dropout=0.3 does nothing: behind the only layer "
                "context.output_dropout=0.2 stands"
            ],
        ),
        (
            ("context.dim=6", "context.last_dim=9"),
            [
                "context.dim=6 does nothing: the only layer is the last, whose width is "
                "context.last_dim=9"
            ],
        ),
        (("context.dim=6", "context.last_dim=9", "context.layers=2"), []),
        (("context.dropout=0.3",), []),
        (("context.output_dropout=0.2", "context.dropout=0.3", "context.layers=2"), []),
        (
            ("recipe.batching.type=sentences",),
            [
                "recipe.bptt=15 does nothing: sentences are read whole, and "
                "recipe.batching.type is sentences"
            ],
        ),
        (
            ("recipe.bptt=1", "recipe.temporal_penalty=0.5"),
            [
                "recipe.temporal_penalty=0.5 does nothing: a step reads one word of each stream, "
                "so that nothing changes within it: recipe.bptt=1"
            ],
        ),
        (("recipe.bptt=2", "recipe.temporal_penalty=0.5"), []),
        (
            (*GATE, "encoder.value=0.25"),
            [
                "encoder.value=0.25 does nothing: the gate is learned; encoder.kind=fixed has this "
                "one"
            ],
        ),
        ((*GATE, "encoder.value=0.25", "encoder.kind=fixed"), []),
        (
            ("context.dropout=0", "context.variational=true"),
            ["context.variational=True does nothing: no context.dropout falls, whose mask it is"],
        ),
        (("context.dropout=0", "context.variational=true", "context.input_dropout=0.2"), []),
        (
            (*BIGRAM, "context.layers=1", "context.dropout=0", "context.initial_state=learned"),
            [
                "context.initial_state=learned does nothing: nothing comes before the one word "
                "that is read, context.order=2"
            ],
        ),
    ],
    ids=[
        "one layer",
        "last width",
        "last width of two layers",
        "dropout alone",
        "two layers",
        "sentences",
        "steps of one word",
        "steps of two",
        "learned gate",
        "fixed gate",
        "mask of no dropout",
        "mask of a dropout",
        "one word",
    ],
)
def test_a_setting_that_does_nothing_beside_another_is_told_once(
    overrides: tuple[str, ...],
    told: list[str],
    train_toy: Callable[..., Any],
    tiny: tuple[str, ...],
) -> None:
    notes: list[str] = []
    own = () if overrides[0].startswith("encoder.type") else tiny
    for resume in (False, True):
        train_toy(overrides=(*own, *overrides), epochs=1, notes=notes, resume=resume)
    assert notes == told


@pytest.mark.parametrize(
    ("hold", "warm_up", "is_idle"), [(0.2, 0.5, True), (0.5, 0.5, True), (0.5, 0.2, False)]
)
def test_a_hold_within_the_warm_up_does_nothing(hold: float, warm_up: float, is_idle: bool) -> None:
    changes = {"schedule": {"hold": hold}}
    settings = {"schedule": {"type": "linear", "hold": hold, "warm_up": warm_up}}
    told = (
        f"recipe.schedule.hold={hold} does nothing: the full rate is reached no sooner, "
        "recipe.schedule.warm_up=0.5"
    )
    assert [*idle_settings(changes, settings, path="recipe.")] == [told] * is_idle


def test_the_only_layers_dropout_does_nothing_beside_an_output_dropout_of_0() -> None:
    settings = {"layers": 1, "dropout": 0.3, "output_dropout": 0.0}
    assert [*idle_settings({"dropout": 0.3}, settings, path="context.")] == [
        "context.dropout=0.3 does nothing: behind the only layer context.output_dropout=0.0 stands"
    ]


def test_classes_of_a_file_leave_no_assignment(
    train_toy: Callable[..., Any], toy_corpus: Path, tiny: tuple[str, ...], tmp_path: Path
) -> None:
    words = sorted({*(toy_corpus / "train.txt").read_text().split(), "</s>", "<unk>"})
    file = tmp_path / "classes.txt"
    file.write_text("".join(f"{word}\t{len(word) % 2}\n" for word in words))
    notes: list[str] = []
    classes = ("output.type=class", f"output.file={file}", "output.assignment=mass")
    train_toy(overrides=(*tiny, *classes), epochs=1, notes=notes)
    assert notes == ["output.assignment=mass does nothing: a file says the words' classes"]


def test_a_training_that_patience_ends_says_so(
    train_toy: Callable[..., Any], tiny: tuple[str, ...]
) -> None:
    notes: list[str] = []
    overrides = (*tiny, "recipe.patience=2", "recipe.schedule.type=constant")
    result = train_toy(overrides=overrides, epochs=50, lr=5.0, bptt=5, notes=notes)
    assert result.epochs == result.best_epoch + 2 < 50
    said = f"no gain since epoch {result.best_epoch}, recipe.patience=2"
    assert notes == [f"ended after epoch {result.epochs} of 50: {said}"]
    notes.clear()
    again = train_toy(overrides=(), epochs=60, batch_size=None, bptt=None, resume=True, notes=notes)
    assert again == result
    assert notes == [f"ended after epoch {result.epochs} of 60: {said}"]


def test_a_training_that_patience_ends_does_not_tell_of_averages_to_come(
    train_toy: Callable[..., Any], tiny: tuple[str, ...]
) -> None:
    notes: list[str] = []
    averaged = ("recipe.averaging.type=nt-asgd", "recipe.averaging.window=1")
    overrides = (*tiny, *averaged, "recipe.patience=2", "recipe.schedule.type=constant")
    result = train_toy(overrides=overrides, epochs=50, lr=30.0, bptt=5, notes=notes)
    assert notes[-1].startswith(f"ended after epoch {result.epochs} of 50: ")
    assert f"weights are averaged from epoch {result.epochs + 1} on" not in notes


class FullDisk(Silence):
    """Cannot be told anything from a certain epoch on."""

    def __init__(self, first_epoch: int) -> None:
        self.first_epoch = first_epoch
        self.n_told = 0
        self.n_refused = 0

    def tell(self, epoch: int) -> None:
        if epoch >= self.first_epoch:
            self.n_refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "standard error")
        self.n_told += 1

    def started(self, *_: object, **__: object) -> None:
        self.tell(0)

    def epoch_done(self, record: dict[str, Any], *, is_best: bool) -> None:
        self.tell(record["epoch"])


@pytest.mark.parametrize(("first_epoch", "warned"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, None)])
def test_a_training_outlives_a_log_that_cannot_be_written_and_warns_once(
    train_toy: Callable[..., Any], tmp_path: Path, first_epoch: int, warned: int | None
) -> None:
    watcher = FullDisk(first_epoch)
    result = train_toy(epochs=3, watcher=watcher)
    assert (result.is_finished, watcher.n_told, watcher.n_refused) == (
        (True, first_epoch, int(warned is not None))
    )
    records = [json.loads(line) for line in (tmp_path / "run" / LOG).read_text().splitlines()]
    assert [record["epoch"] for record in records] == [1, 2, 3]
    assert {record["epoch"]: record[WARNING] for record in records if WARNING in record} == (
        {warned: "standard error: no space left on device; what was to be said after is lost"}
        if warned
        else {}
    )
    assert history_of(tmp_path / "run") == records


def test_a_run_with_a_warning_can_be_gone_on_with_and_keeps_it(
    train_toy: Callable[..., Any], tmp_path: Path
) -> None:
    train_toy(epochs=2, watcher=FullDisk(1))
    before = (tmp_path / "run" / LOG).read_text()
    assert train_toy(epochs=2, resume=True).is_finished
    assert (tmp_path / "run" / LOG).read_text() == before
    assert f'"{WARNING}"' in before


@pytest.mark.parametrize("first_epoch", [1, 2])  # with the last epoch no checkpoint comes after it
def test_a_warning_in_the_log_is_no_misfit(
    train_toy: Callable[..., Any], tmp_path: Path, first_epoch: int
) -> None:
    train_toy(epochs=2, watcher=FullDisk(first_epoch))
    assert f'"{WARNING}"' in (tmp_path / "run" / LOG).read_text()
    assert verified(tmp_path / "run").misfits == ()


def test_what_else_a_watcher_raises_ends_the_training(train_toy: Callable[..., Any]) -> None:
    class Stop(Silence):
        def stepped(self, trainer: object) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train_toy(watcher=Stop())


def test_a_vocabulary_of_other_text_rules_than_the_corpus_is_said(
    train_toy: Callable[..., Any], toy_corpus: Path, tmp_path: Path
) -> None:
    raw = tmp_path / "raw.txt"
    raw.write_text((toy_corpus / "train.txt").read_text().upper())
    prep(raw, out=tmp_path / "lowered", lower=True)
    words = (tmp_path / "lowered" / "train.txt").read_text().split()
    inventory_of([words], min_count=1).save(tmp_path / "v.json")
    notes: list[str] = []
    train_toy(data=tmp_path / "lowered", vocab=tmp_path / "v.json", epochs=1, notes=notes)
    assert notes == [
        "the vocabulary's text rules (NFC) are not those that the corpus was prepared with "
        "(NFC+lower); the vocabulary's are applied"
    ]


def test_a_vocabulary_of_the_corpus_own_rules_says_nothing(
    train_toy: Callable[..., Any], toy_corpus: Path, tmp_path: Path
) -> None:
    prep(toy_corpus / "train.txt", out=tmp_path / "lowered", lower=True)
    rules = Normalisation(lower=True)
    words = (tmp_path / "lowered" / "train.txt").read_text().split()
    inventory_of([words], min_count=1, normalisation=rules).save(tmp_path / "v.json")
    notes: list[str] = []
    train_toy(data=tmp_path / "lowered", vocab=tmp_path / "v.json", epochs=1, notes=notes)
    assert notes == []
