"""Bands by position, extreme sentences, and a small text under runs and Kneser–Ney."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charlm.errors import ConfigError, DataError
from charlm.insight.perplexity_bands import (
    by_frequency,
    by_position,
    position_bands,
    position_systems,
)
from charlm.insight.pictures import draw
from charlm.insight.pictures.subject import Subject
from charlm.insight.report.tables import results_as_json, sentences_as_json
from charlm.insight.report_options import ReportOptions
from charlm.insight.text_reading import TextReading, extreme_sentences
from charlm.ngram.word_ids import END, UNK
from charlm.run.folder import LOG
from charlm.scoring.evaluation.comparison.compare_kn import compare_kn
from charlm.scoring.evaluation.comparison.scores import Scores
from charlm.scoring.evaluation.evaluate_options import State
from charlm.text.perplexity.perplexity import Counts, Log10Sums, Perplexity
from charlm.training.train import train


def subject_of(*runs: Path, data: Path | None = None) -> Subject:
    return Subject(ReportOptions(runs, data=data, device="cpu", threads=1))


@pytest.fixture(scope="module")
def other_run(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another word more than the tiny run has."""
    folder = tmp_path_factory.mktemp("other")
    for split in ("train", "valid", "test"):
        shutil.copy(corpus_dir / f"{split}.txt", folder)
    with open(folder / "train.txt", "a") as file:
        file.write("birds birds birds\n")
    small = ["encoder.dim=4", "context.dim=4"]
    options = {"epochs": 1, "batch_size": 4, "threads": 1, "device": "cpu", "precision": "fp32"}
    train(data=folder, out=folder / "run", arch="word-small", overrides=small, **options)
    return folder / "run"


@pytest.fixture(scope="module")
def twin(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(tiny_run, tmp_path_factory.mktemp("twin") / "twin")


@pytest.fixture(scope="module")
def single(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the tiny run's words, trained on single sentences."""
    run = tmp_path_factory.mktemp("single") / "single"
    small = ["encoder.dim=4", "context.dim=4"]
    options = {"epochs": 1, "batch_size": 4, "threads": 1, "device": "cpu", "precision": "fp32"}
    train(
        data=corpus_dir,
        out=run,
        arch="word-small",
        overrides=small,
        purpose="sentences",
        **options,
    )
    return run


@pytest.fixture(scope="module")
def reading(tiny_run: Path, twin: Path, corpus_dir: Path) -> TextReading:
    return subject_of(tiny_run, twin, data=corpus_dir).reading


def test_positions_count_from_each_sentence_start_and_its_end_is_apart() -> None:
    lengths = (1, 12, 33)
    ids = np.concatenate([[7] * n + [END] for n in lengths]).astype(np.int32)
    log10s = np.full((2, len(ids)), -1.0)
    log10s[1, ids == END] = -2
    log10s[1, [2, 15]] = [-3, -1]  # the first words of the second and the third sentence
    found = {band.name: band for band in position_bands(ids, log10_probs_KN=log10s)}
    sizes = {str(n): 2 for n in range(2, 11)}
    sizes |= {"1": 3, "11-15": 7, "16-20": 5, "21-30": 10, "31+": 3, "</s>": 3}
    assert {name: band.n_tokens for name, band in found.items()} == sizes
    assert found["1"].ppls == pytest.approx((10, 10 ** (5 / 3)))  # -1, -3, -1
    assert found["</s>"].ppls == pytest.approx((10, 100))
    assert sum(band.share for band in found.values()) == pytest.approx(1)


def test_a_perplexity_beyond_numbers_is_undefined() -> None:
    ids = np.array([7, END], np.int32)
    (first, _) = position_bands(ids, log10_probs_KN=np.array([[-400.0, -1.0]]))
    assert first.ppls == (None,)


def scores_of(sentences: list[list[float]]) -> Scores:
    """Log10 probabilities of tokens, each sentence's end the last."""
    targets = [t for values in sentences for t in (*[9] * (len(values) - 1), END)]
    nothing = Perplexity(Counts(), Log10Sums())
    log10s = np.array([value for values in sentences for value in values])
    return Scores(np.array(targets, np.int32), log10s, nothing, "", 0.0)


def test_sentences_are_ranked_by_log10_probability_a_token() -> None:
    texts = ["a b c d e", "f g h i j", "k l m n o", "too short", "p q r s t u", "a b c d e"]
    means = [-2.0, -5.0, -1.0, -9.0, -3.0, -0.1]
    values = [[mean] * (len(t.split()) + 1) for t, mean in zip(texts, means, strict=True)]
    split = [text.split() for text in texts]
    hardest, easiest = extreme_sentences(split, scores_of(values), n=2)
    assert [(s.line, s.mean) for s in hardest] == [(2, -5.0), (5, pytest.approx(-3.0))]
    assert [(s.line, s.mean) for s in easiest] == [(3, -1.0), (1, -2.0)]  # line 6 repeats line 1
    assert hardest[1].words == ("p", "q", "r", "s", "t", "u")
    assert len(hardest[1].log10_probs) == 7


@pytest.mark.parametrize(("n_words", "n_shown"), [(4, 0), (5, 1), (40, 1), (41, 0)])
def test_sentences_of_5_to_40_words_are_shown(n_words: int, n_shown: int) -> None:
    words, values = ["a"] * n_words, [-1.0] * (n_words + 1)
    hardest, _ = extreme_sentences([words], scores_of([values]), n=2)
    assert len(hardest) == n_shown


def test_shorter_sentences_are_shown_where_all_are_short(tiny_run: Path, tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"{split}.txt").write_text("a b a\na\nb a\n")
    hardest, easiest = subject_of(tiny_run, data=tmp_path).reading.extremes(2)
    assert sorted(len(each.words) for each in hardest + easiest) == [2, 3]


def test_words_outside_the_vocabulary_are_marked_for_the_number_is_that_of_unk() -> None:
    words = ["a", "zebra", "<unk>", "<unk>:gnu", "b"]
    scores = scores_of([[-1.0] * 6])
    scores.targets[1:4] = UNK
    ((sentence,), _) = extreme_sentences([words], scores, n=2)
    assert sentence.words == ("a", "<unk>:zebra", "<unk>", "<unk>:gnu", "b")


def test_a_sentence_is_never_among_both_the_hardest_and_the_easiest() -> None:
    split = [list("abcde"), list("fghij")]
    hardest, easiest = extreme_sentences(split, scores_of([[-1.0] * 6, [-2.0] * 6]), n=2)
    assert [s.line for s in hardest] == [2, 1]
    assert easiest == ()


def test_bands_by_frequency_are_those_of_compare_kn(
    reading: TextReading, tiny_run: Path, corpus_dir: Path
) -> None:
    (group,) = compare_kn(corpus_dir, model=tiny_run, state="carried", threads=1).groups
    names = [system.name for system in group.systems]
    for own, other in zip(by_frequency(reading), group.bands, strict=True):
        assert (own.name, own.n_tokens) == (other.name, other.n_tokens)
        expected = (other.ppls[names.index("tiny")], other.ppls[names.index("KN-5")])
        assert (own.ppls[0], own.ppls[2]) == pytest.approx(expected)
    assert reading.systems == ("tiny", "twin", "KN-5")


def assert_positions_sum_up(reading: TextReading, states: dict[int, State]) -> None:
    """In these columns the positions' means are the first run's perplexities in these states."""
    bands = by_position(reading)
    for column, state in states.items():
        total = sum(b.n_tokens * math.log10(b.ppls[column] or math.nan) for b in bands)
        mean = total / sum(b.n_tokens for b in bands)
        assert 10**mean == pytest.approx(reading.scores(0, state).perplexity.ppl)


def test_positions_show_the_first_run_also_by_sentence(reading: TextReading) -> None:
    assert position_systems(reading) == ("tiny", "twin", "tiny, by sentence", "KN-5")
    assert_positions_sum_up(reading, {0: "carried", 2: "sentence"})


def test_a_model_of_single_sentences_is_shown_as_it_was_trained(
    single: Path, tiny_run: Path, corpus_dir: Path
) -> None:
    subject = subject_of(single, tiny_run, data=corpus_dir)
    reading = subject.reading
    assert position_systems(reading) == ("single", "tiny", "single, state carried", "KN-5")
    assert_positions_sum_up(reading, {0: "sentence", 2: "carried"})
    title = draw("bands", subject).figure.axes[0].get_title()
    assert title.endswith("\ntest text, 14 tokens, by sentence")
    assert "tiny was trained otherwise than single, and is read as single was: by sentence" in (
        reading.notes
    )
    results: Any = results_as_json(subject)
    assert results["state"] == "sentence"
    row = results["rows"][0]
    assert row["ppl"] == pytest.approx(reading.scores(0, "sentence").perplexity.ppl)
    assert row["ppl_other"] == pytest.approx(reading.scores(0, "carried").perplexity.ppl)
    shown: Any = sentences_as_json(subject)
    hardest, _ = extreme_sentences(reading.sentences, reading.scores(0, "sentence"), n=1)
    assert shown["hardest"][0]["mean"] == hardest[0].mean


def test_the_table_across_data_sets_is_in_the_state_of_the_training(
    single: Path, tiny_run: Path, corpus_dir: Path, tmp_path: Path
) -> None:
    path = tmp_path / "compared.json"
    path.write_text(json.dumps(compare_kn(corpus_dir, order=2, threads=1).to_dict()))
    for run, state in ((single, "sentence"), (tiny_run, "carried")):
        found = Subject(ReportOptions(run, table=path, device="cpu")).across
        assert found is not None
        assert found.state == state


def test_only_what_a_picture_shows_is_scored(
    tiny_run: Path, other_run: Path, corpus_dir: Path
) -> None:
    told: list[str] = []
    options = ReportOptions(
        (tiny_run, other_run), data=corpus_dir, device="cpu", threads=1, on_stage=told.append
    )
    for name in ("sentences", "bands"):
        draw(name, Subject(options))
    text = corpus_dir / "test.txt"
    scored = [each for each in told if "scoring" in each]
    assert scored == [f"tiny: scoring {text}, state carried"] * 2


def test_only_the_first_run_is_read_by_sentence(
    tiny_run: Path, twin: Path, corpus_dir: Path
) -> None:
    told: list[str] = []
    options = ReportOptions(
        (tiny_run, twin), data=corpus_dir, device="cpu", threads=1, on_stage=told.append
    )
    by_position(Subject(options).reading)
    by_sentence = [each for each in told if each.endswith("state sentence")]
    assert by_sentence == [f"tiny: scoring {corpus_dir / 'test.txt'}, state sentence"]


def test_a_run_of_other_words_is_left_out_and_named(
    tiny_run: Path, other_run: Path, corpus_dir: Path
) -> None:
    reading = subject_of(tiny_run, other_run, data=corpus_dir).reading
    assert reading.systems == ("tiny", "KN-5")
    assert reading.comparable == [0]
    notes = "\n".join(reading.notes)
    assert (
        "run has other words than tiny: its perplexities do not compare, and it is left out by "
        "frequency and by position"
    ) in notes
    assert "run was trained on another text than KN-5" in notes


def test_a_run_whose_training_was_stopped_is_named_even_without_a_text(
    tiny_run: Path, tmp_path: Path
) -> None:
    stopped = tmp_path / "stopped"
    shutil.copytree(tiny_run, stopped)
    (stopped / "encoded").mkdir()
    assert subject_of(tiny_run, stopped).notes == (
        "stopped is unfinished: what is shown are the best weights so far",
    )


def test_one_run_twice_is_refused(tiny_run: Path) -> None:
    with pytest.raises(ConfigError, match=r"stands twice; expected each run once"):
        subject_of(tiny_run, tiny_run)


def log_of(key: str, value: object) -> str:
    """The log of one epoch, with another value."""
    ppls = {"train_ppl": 2.0, "valid_ppl": 2.0}
    return json.dumps({"epoch": 1, **ppls, "n_tokens": 9, "seconds": 1.0, key: value}) + "\n"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (None, "no epoch; expected one or more; train the run further"),
        ("", "no epoch; expected one or more; train the run further"),
        ('{"epoch": 1}\n', "1: no record of an epoch; expected epoch, train_ppl, valid_ppl"),
        ("[1]\n", "1: no record of an epoch; expected epoch, train_ppl, valid_ppl"),
        ("{\n", "1: not valid JSON"),
        (log_of("valid_ppl", 0), "1: no record of an epoch; expected epoch, train_ppl, valid_ppl"),
        (log_of("train_ppl", -3.0), "1: no record of an epoch"),
        (log_of("seconds", 10**400), "1: no record of an epoch"),
        (log_of("seconds", 1e308), "1: no record of an epoch"),  # the sum of two is infinite
        (log_of("n_tokens", 10**308), "1: no record of an epoch"),
        (log_of("validation_seconds", "1"), "1: no record of an epoch"),
        (log_of("pretraining", "1"), "1: no record of an epoch"),
    ],
)
def test_a_damaged_log_is_told_by_its_line(
    tiny_run: Path, tmp_path: Path, log: str | None, message: str
) -> None:
    run = shutil.copytree(tiny_run, tmp_path / "run")
    (run / LOG).unlink()
    if log is not None:
        (run / LOG).write_text(log)
    with pytest.raises(DataError) as caught:
        _ = subject_of(run).histories
    assert str(caught.value).startswith(f"{run / LOG}:")
    assert message in str(caught.value)
