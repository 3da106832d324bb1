"""An exported folder in place of a run, in Python and by commands, and without torch."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError
from charlm.run.onnx_model import OnnxModel, State, Vectors

SENTENCES = ["the cat sat on the mat", "", "a zebra looked", "the cat", "<unk>:cat looked"]
TEXT = "\n".join(SENTENCES) + "\n"


@pytest.fixture(scope="module")
def models(tiny_run: Path, tiny_onnx: Path) -> tuple[charlm.Model, charlm.ExportedModel]:
    return charlm.load(tiny_run, device="cpu"), charlm.load(tiny_onnx)  # type: ignore[return-value]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """Lists of two recordings, a word of one of them unknown."""
    path = tmp_path / "lists.tsv"
    rows = ["a-1\tthe cat sat", "a-1\tthe cats at", "a-2\ta zebra", "b-1\tthe dog sat on the log"]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_loaded_exported_model_scores_as_its_run(
    models: tuple[charlm.Model, charlm.ExportedModel],
) -> None:
    run, exported = models
    assert exported.words == run.words
    for ours, theirs in zip(exported.score_many(SENTENCES), run.score_many(SENTENCES), strict=True):
        assert (ours.words, ours.known) == (theirs.words, theirs.known)
        assert ours.log10_probs == pytest.approx(theirs.log10_probs, abs=1e-5)


def test_an_exported_model_in_a_folder_whose_name_is_not_utf_8_scores_too(
    models: tuple[charlm.Model, charlm.ExportedModel], tiny_onnx: Path, tmp_path: Path
) -> None:
    moved = shutil.copytree(tiny_onnx, tmp_path / os.fsdecode(b"caf\xe9"))
    assert charlm.load(moved).score("the cat sat") == models[1].score("the cat sat")


def test_states_of_an_exported_model_step_as_its_runs(
    models: tuple[charlm.Model, charlm.ExportedModel],
) -> None:
    found = []
    for model in models:
        first = model.step(model.start(2), ["the", "zebra"])
        second = model.step(first.state.select([1, 0, 0]), ["cat", "cat", "dog"])
        found.append(
            [
                *first.log_probs,
                *second.log_probs,
                *model.finish(second.state),
                *model.prefix_log_prob(second.state, "l"),
            ]
        )
    assert found[1] == pytest.approx(found[0], abs=1e-5)


def test_lists_get_the_scores_of_the_run(tiny_run: Path, tiny_onnx: Path, lists: Path) -> None:
    for context in ("none", "previous"):
        found = []
        for model in (tiny_onnx, tiny_run):
            lines: list[str] = []
            options = {"context": context, "threads": 1, "device": "cpu"}
            charlm.score(lists, model=model, out=lines.append, **options)
            rows = [line.split("\t") for line in "".join(lines).splitlines()]
            found.append([number(cell) for row in rows for cell in row])
        assert found[0] == pytest.approx(found[1], abs=1e-4)


def test_surprisals_and_entropies_are_those_of_the_run(
    tiny_run: Path, tiny_onnx: Path, text: Path
) -> None:
    for context, entropy in (("none", True), ("none", False), ("document", True)):
        tables = [
            charlm.surprisal(text, model=model, context=context, entropy=entropy, threads=1)
            for model in (tiny_onnx, tiny_run)
        ]
        ours, theirs = ([list(map(str, row)) for row in table.rows()] for table in tables)
        assert len(ours) == len(theirs) > 10
        for a, b in zip(ours, theirs, strict=True):
            assert [number(x) for x in a] == pytest.approx([number(x) for x in b], abs=1e-3)


def test_sentences_that_stand_alone_are_read_side_by_side(
    tiny_onnx: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, sizes = OnnxModel.step, list[int]()

    def counted(self: OnnxModel, x_BE: Vectors, state: State) -> tuple[Vectors, State]:
        sizes.append(len(x_BE))
        return step(self, x_BE, state)

    monkeypatch.setattr(OnnxModel, "step", counted)
    charlm.surprisal(text, model=tiny_onnx, threads=1)
    assert max(sizes) == 3  # "the", "a" and "<unk>:cat": the first words of all of them


def number(cell: str) -> float:
    """A cell's number, or one that tells texts apart."""
    try:
        return float(cell)
    except ValueError:
        return float(sum(cell.encode()))


def test_neighbours_are_those_of_the_run(models: tuple[charlm.Model, charlm.ExportedModel]) -> None:
    run, exported = models
    for word in ("cat", "catz", "<unk>:cat"):
        ours, theirs = exported.neighbours(word, k=5), run.neighbours(word, k=5)
        assert (ours.form, ours.is_known) == (theirs.form, theirs.is_known)
        assert [near.word for near in ours.nearest] == [near.word for near in theirs.nearest]
        similarities = [near.similarity for near in theirs.nearest]
        assert [near.similarity for near in ours.nearest] == pytest.approx(similarities, abs=1e-5)


@pytest.mark.parametrize(
    ("module", "ask"),
    [
        (
            "insight.vectors.neighbours",
            lambda folder, _: charlm.neighbours("cat", model=folder, threads=1),
        ),
        (
            "scoring.evaluation.evaluate_exported",
            lambda folder, text: charlm.evaluate(folder, files=text, threads=1),
        ),
    ],
)
def test_an_exported_model_takes_the_threads_asked_for(
    module: str,
    ask: Callable[[Path, Path], object],
    tiny_onnx: Path,
    text: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int | None] = []

    def opened(path: Path, *, threads: int | None = None) -> OnnxModel:
        asked.append(threads)
        return OnnxModel(path, threads=threads)

    monkeypatch.setattr(f"charlm.{module}.OnnxModel", opened)
    ask(tiny_onnx, text)
    assert asked == [1]


def test_a_word_without_a_character_of_the_model_has_no_neighbours(
    models: tuple[charlm.Model, charlm.ExportedModel],
) -> None:
    for model in models:
        with pytest.raises(ConfigError, match="word 'ЖЖ'"):
            model.neighbours("ЖЖ")


def test_no_command_that_takes_an_exported_model_imports_torch(
    tiny_onnx: Path, text: Path, tmp_path: Path
) -> None:
    program = f"""
import sys
sys.modules["torch"] = None  # importing it fails
import charlm
from charlm.cli import app
folder, text = {str(tiny_onnx)!r}, {str(text)!r}
print(charlm.load(folder).score("the cat").log10_prob)
for command in (["eval", text], ["score", text], ["nn", "cat"], ["surprisal", text]):
    app([*command, "--model", folder], standalone_mode=False)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "zebra" in done.stdout
    assert "precision:fp32-onnx" in done.stdout


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda folder, text: charlm.score(text, model=folder, processes=2), "--processes"),
        (lambda folder, text: charlm.score(text, model=folder, open_vocabulary=True), "--open-voc"),
        (lambda folder, text: charlm.score(text, model=folder, adapt_rates="rate=1"), "--adapt-ra"),
        (
            lambda folder, text: charlm.score(text, model=folder, unnormalised=True),
            "--unnormalised, nor weights tuned with it; leave it out",
        ),
        (lambda folder, text: charlm.surprisal(text, model=folder, device="cuda"), "--device cuda"),
        (
            lambda folder, text: charlm.neighbours("cat", model=folder, at=["char-cnn", "all"]),
            "--at char-cnn,all; leave",
        ),
        (lambda folder, text: charlm.load(folder).neighbours("cat", at="char-cnn"), "--at"),
        (lambda folder, text: charlm.neighbours("cat", model=folder, at=""), "--at; leave"),
    ],
)
def test_what_only_a_run_can_do_is_refused(
    ask: Callable[[Path, Path], object], named: str, tiny_onnx: Path, text: Path
) -> None:
    with pytest.raises(ConfigError, match=f"is an exported model, which knows no {named}"):
        ask(tiny_onnx, text)


def test_a_speller_is_another_runs(tiny_onnx: Path) -> None:
    with pytest.raises(ConfigError, match="has no speller of its own; expected the run"):
        charlm.load(tiny_onnx, open_vocabulary=True)
