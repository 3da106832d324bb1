"""The remarks beside a comparison, and when they appear."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.run.folder import RUN

Compare = Callable[..., Any]


def test_text_that_the_vocabulary_does_not_know_is_measured_and_remarked_on(
    letters: Path, uniform: Path, compared: Compare
) -> None:
    (letters / "test.txt").write_text("Ж Ш\n")
    result = compared(letters, uniform)
    assert result.only_group.notes == (
        "<unk> as target: 2 of 2 words (100.00%); the bits leave their spelling out",
        "most words are <unk>, so the perplexities say little: another case or language?",
        "sentences: 1; intervals from fewer than 10 say nothing",
    )


def test_marks_of_pieces_are_remarked_on_since_the_bits_count_them(
    letters: Path, uniform: Path, compared: Compare
) -> None:
    (letters / "test.txt").write_text("a@@ b \u2581a\n" * 10)
    _, _, on_pieces, *_ = compared(letters, uniform).only_group.notes
    assert on_pieces.startswith(
        "marked as pieces of words (@@, \uffed, \u2581): 20 of 30; bits/char"
    )


@pytest.mark.parametrize(("n_sentences", "is_few"), [(9, True), (10, False)])
def test_intervals_of_few_sentences_are_remarked_on(
    letters: Path, uniform: Path, n_sentences: int, is_few: bool, compared: Compare
) -> None:
    (letters / "test.txt").write_text("a b\n" * n_sentences)
    result = compared(letters, uniform, state="sentence")
    expected = ["sentences: 9; intervals from fewer than 10 say nothing"]
    notes = result.only_group.notes
    assert [note for note in notes if "intervals" in note] == (expected if is_few else [])


def test_kneser_ney_alone_has_no_intervals_to_remark_on(letters: Path, compared: Compare) -> None:
    assert not any("intervals" in note for note in compared(letters).only_group.notes)


def test_weights_that_were_fitted_on_the_text_measured_are_remarked_on(
    letters: Path, uniform: Path, compared: Compare
) -> None:
    result = compared(letters, uniform, split="valid")
    assert result.notes == (
        "weights were fitted on valid.txt, the text measured: "
        "the mixtures look better than they are",
    )
    assert compared(letters, split="valid").notes == ()


def test_a_run_that_learnt_from_other_text_is_remarked_on(
    corpus_dir: Path, tiny_run: Path, tmp_path: Path, compared: Compare
) -> None:
    def trainings(data: Path, run: Path) -> list[str]:
        notes = compared(data, run, state="sentence").only_group.notes
        return [note for note in notes if "trained" in note]

    assert trainings(corpus_dir, tiny_run) == []
    other = shutil.copytree(corpus_dir, tmp_path / "other")
    (other / "train.txt").write_text("the cat sat\nthe cat\n")
    assert trainings(other, tiny_run) == [
        f"tiny was trained on another text than KN-1, {other}/train.txt"
    ]
    run = shutil.copytree(tiny_run, tmp_path / "part")
    info = json.loads((run / RUN).read_text())
    info["corpus"]["max_tokens"] = 68  # cuts nothing from a text of 67
    (run / RUN).write_text(json.dumps(info))
    assert trainings(corpus_dir, run) == []
    info["corpus"]["train"]["n_tokens"] = 66
    (run / RUN).write_text(json.dumps(info))
    assert trainings(corpus_dir, run) == [
        f"part was trained on 66 of 67 tokens of {corpus_dir}/train.txt, KN-1 on all"
    ]
