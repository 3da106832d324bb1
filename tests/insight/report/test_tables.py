"""The numbers in the page's tables against those of the run, the text and the vocabulary."""

import math
import shutil
from pathlib import Path

import pytest

import charlm
from charlm.errors import DataError
from charlm.insight.pictures.subject import Subject
from charlm.insight.report.maps import words_as_json
from charlm.insight.report.neighbour_table import neighbour_table
from charlm.insight.report.tables import card_rows, sentences_as_json
from charlm.insight.report_options import ReportOptions
from charlm.run.folder import CARD


def subject_of(run: Path, *, data: Path | None = None, word: str = "") -> Subject:
    return Subject(ReportOptions(run, data=data, word=word, device="cpu", threads=1))


def test_the_card_is_its_rows_less_the_heading_as_they_were_before_they_were_escaped(
    tiny_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    (run / CARD).write_text(
        "# a\n\n| what | value |\n|---|---|\n| words | 12 |\n| command | `charlm a\\|b` |\n"
    )
    assert card_rows(subject_of(run)) == [("words", "12"), ("command", "charlm a|b")]


def test_a_sentence_has_the_mean_of_its_tokens_as_evaluate_has_them(
    tiny_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "train.txt").write_text("the cat sat on the mat\n")
    (tmp_path / "test.txt").write_text("the cat sat on the mat\n")
    shown = sentences_as_json(subject_of(tiny_run, data=tmp_path))
    (line,) = shown["hardest"]  # type: ignore[misc]
    (evaluated,) = charlm.evaluate(tiny_run, data=tmp_path, split="test", device="cpu", threads=1)
    expected = -math.log10(evaluated.by_state["carried"].ppl)  # per token
    assert (line["line"], line["words"]) == (1, ["the", "cat", "sat", "on", "the", "mat"])
    assert len(line["log10_probs"]) == 7
    assert line["mean"] == pytest.approx(expected)
    assert sum(line["log10_probs"]) / 7 == pytest.approx(expected, abs=1e-6)
    assert shown["easiest"] == []


def test_similarities_are_those_of_nn_for_the_page_to_round(tiny_run: Path) -> None:
    (*_, tap) = neighbour_table(subject_of(tiny_run, word="cat"))["taps"]  # type: ignore[misc]
    (hood,) = charlm.neighbours("cat", model=tiny_run, at=tap["tap"], k=5, device="cpu")
    assert tap["columns"][0]["nearest"] == [list(near) for near in hood.nearest]


def test_all_words_are_those_that_can_be_on_a_map(tiny_run: Path) -> None:
    found = words_as_json(subject_of(tiny_run))
    assert found["n_all"] == len(found["forms"])  # type: ignore[arg-type]
    assert "<unk>" not in found["forms"]  # type: ignore[operator]


def test_words_that_are_asked_for_are_read_as_the_run_reads_text(
    corpus_dir: Path, tmp_path: Path
) -> None:
    run = tmp_path / "lower"
    data = shutil.copytree(corpus_dir, tmp_path / "data")
    charlm.prep(data / "train.txt", out=tmp_path / "corpus", lower=True, split="80,10,10")
    small = ["encoder.dim=4", "context.dim=4"]
    charlm.train(
        arch="word-small",
        data=tmp_path / "corpus",
        out=run,
        overrides=small,
        epochs=1,
        batch_size=2,
        threads=1,
        device="cpu",
    )
    (*_, tap) = neighbour_table(subject_of(run, word="CAT"))["taps"]  # type: ignore[misc]
    assert [(each["word"], each["known"]) for each in tap["columns"]] == [("cat", True)]


def test_a_text_that_is_not_there_is_told_before_anything_takes_long(
    tiny_run: Path, tmp_path: Path
) -> None:
    stages: list[str] = []
    with pytest.raises(DataError, match=r"test\.txt: no such file; expected one sentence a line"):
        (tmp_path / "train.txt").write_text("the cat\n")
        charlm.report(
            tiny_run,
            data=tmp_path,
            out=tmp_path / "a.html",
            device="cpu",
            threads=1,
            on_stage=stages.append,
        )
    assert stages == []
