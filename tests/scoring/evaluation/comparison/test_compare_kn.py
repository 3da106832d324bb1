"""Kneser–Ney alone and against runs: by hand, in which tables, and what is refused."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charlm.errors import ConfigError, DataError
from charlm.ngram import model_sources
from charlm.ngram.baseline import ngram_baseline
from charlm.scoring.evaluation.comparison.compare_kn import compare_kn
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import inventory_of

Compare = Callable[..., Any]

# Of "a a a b b <unk>", the train.txt of `letters`. Counts a 3, b 2, <unk> 1, </s> 1:
# n = (2, 1, 1, 0), so that D = (1/2, 1/2, 3), all of 7 tokens; 4.5/7 is left for the uniform
# distribution over the 4 words. `<s>` is an n-gram, but no word.
P = {"a": 4.5 / 28, "b": 10.5 / 28, "<unk>": 6.5 / 28, "</s>": 6.5 / 28}


def test_kneser_ney_alone_has_the_perplexity_that_can_be_worked_out(
    letters: Path, compared: Compare
) -> None:
    result = compared(letters)
    expected = (P["a"] * P["b"] * P["</s>"] * P["<unk>"] * P["</s>"]) ** (-1 / 5)
    assert result.ppl("KN-1", "carried") == pytest.approx(expected)
    assert result.ppl("KN-1", "sentence") == pytest.approx(expected)
    found = result.system("KN-1")
    assert (found.n_ngrams, found.n_parameters) == (5, None)
    group = result.only_group
    assert (group.n_words, group.counts.n_tokens, group.counts.n_oov) == (4, 5, 1)
    assert group.fallback_orders == ()
    assert [(band.name, band.n_tokens) for band in group.bands] == [
        ("</s>", 2),
        ("<unk>", 1),
        ("1-9", 2),
    ]
    assert group.bands[2].ppls == pytest.approx(((P["a"] * P["b"]) ** -0.5,))
    bits = -math.log2(P["a"] * P["b"] * P["</s>"] * P["<unk>"] * P["</s>"]) / 7
    assert found.by_state["carried"].perplexity.bits_per_character == pytest.approx(bits)


def test_kneser_ney_alone_needs_no_valid_txt(letters: Path, compared: Compare) -> None:
    (letters / "valid.txt").unlink()
    assert compared(letters, order=2).ppl("KN-2") > 1


def test_a_vocabulary_file_decides_what_is_unk(
    letters: Path, tmp_path: Path, compared: Compare
) -> None:
    inventory_of([["a", "a", "<unk>"]]).save(tmp_path / "vocab.json")
    for vocab in (tmp_path / "vocab.json", tmp_path):  # a run has such a file
        group = compared(letters, vocab=vocab).only_group
        assert (group.n_words, group.counts.n_oov) == (3, 2)  # b is not in its vocabulary


def test_runs_that_read_text_otherwise_stand_in_tables_of_their_own(
    letters: Path, saved_run: Callable[..., Path], compared: Compare
) -> None:
    runs = [saved_run("zeros"), saved_run("random", normalisation=Normalisation(lower=True))]
    (letters / "test.txt").write_text("a B\n")
    result = compared(letters, *runs, state="carried")
    assert [[each.name for each in group.systems] for group in result.groups] == [
        ["KN-1", "run-zeros", "run-zeros+KN-1"],
        ["KN-1", "run-random", "run-random+KN-1"],
    ]
    assert [group.counts.n_oov for group in result.groups] == [1, 0]
    assert result.notes == (
        "2 vocabularies: perplexities compare within a table, not between tables",
    )
    assert "normalised: 1 of 2 words (50.00%) stand otherwise in the text" in result.groups[1].notes


def test_the_baseline_signs_as_the_model_of_charlm_ngram_and_has_its_figures(
    letters: Path, uniform: Path, compared: Compare
) -> None:
    result = compared(letters, uniform, order=3, prune="0,0,1", state="sentence")
    (text,) = ngram_baseline(data=letters, vocab=uniform, order=3, prune="0,0,1").texts
    found = result.system("KN-3").by_state["sentence"]
    assert found.signature == text.signatures["sentence"]
    assert "|lm:kn3|prune:0,0,1|train:" in found.signature
    assert found.perplexity == text.by_state["sentence"]


def test_names_of_runs_tell_them_apart_and_from_the_baseline(
    letters: Path, uniform: Path, tmp_path: Path, compared: Compare
) -> None:
    places = [tmp_path / "x" / "run", tmp_path / "y" / "run", tmp_path / "z" / "KN-1"]
    for place in places:
        shutil.copytree(uniform, place)
    group = compared(letters, *places, state="sentence").only_group
    assert [s.name for s in group.systems[1::2]] == ["x/run", "y/run", "z/KN-1"]


def test_one_model_may_be_given_as_text_and_all_of_the_result_goes_into_json(
    letters: Path, uniform: Path
) -> None:
    result = compare_kn(letters, model=str(uniform), order=1, samples=100, device="cpu", block=2)
    value = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (value["order"], value["samples"], value["states"]) == (1, 100, ["carried", "sentence"])
    assert value["block"] == 2
    (group,) = value["groups"]
    assert any(f"blocks of 2 sentences: {n}; " in note for note in group["notes"] for n in range(9))
    assert [s["name"] for s in group["systems"]] == ["KN-1", "run-zeros", "run-zeros+KN-1"]
    assert group["systems"][1]["carried"]["ppl"] == pytest.approx(10, rel=1e-6)
    assert group["systems"][2]["carried"]["signature"] is None
    assert group["bands"][0]["ppl"].keys() == {"KN-1", "run-zeros", "run-zeros+KN-1"}
    assert {"ppl", "low", "high", "first_better"} < group["differences"][0]["carried"].keys()
    with pytest.raises(FrozenInstanceError):
        result.notes = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "--order 0: expected 1 to 9"),
        ({"order": 10}, "--order 10: expected 1 to 9"),
        ({"samples": 99}, "--samples 99: expected 100 or more"),
        ({"block": 0}, "--block 0: expected 1 or more"),
        (
            {"prune": "1"},
            "--prune 1: would leave out words of the vocabulary; expected 0 for unigrams, as 0,0,1",
        ),
    ],
)
def test_an_option_that_makes_no_comparison_is_refused(
    letters: Path, options: dict[str, Any], message: str, compared: Compare
) -> None:
    with pytest.raises(ConfigError) as error:
        compared(letters, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"prune": "0,2,1"}, "--prune 0,2,1: expected counts that do not fall, as 0,0,1"),
        ({"order": 1, "prune": "0,1"}, "--prune 0,1: 2 counts for order 1; expected fewer"),
        ({"device": "cuda:x"}, "--device 'cuda:x': expected auto, cpu, cuda or cuda:N"),
    ],
)
def test_what_makes_no_model_or_is_not_there_is_said_before_kneser_ney_is_estimated(
    letters: Path, uniform: Path, option: dict[str, Any], message: str
) -> None:
    stages: list[str] = []
    with pytest.raises(ConfigError) as error:
        compare_kn(letters, model=uniform, on_stage=stages.append, **option)
    assert (str(error.value), stages) == (message, [])


def test_a_run_that_stands_twice_is_refused(
    letters: Path, uniform: Path, compared: Compare
) -> None:
    same = uniform.parent / "." / "run-zeros" / ".." / "run-zeros"
    with pytest.raises(ConfigError) as error:
        compared(letters, uniform, same)
    assert str(error.value) == f"{same}: stands twice; expected each run once"


def test_a_vocabulary_beside_a_model_is_refused(
    letters: Path, uniform: Path, compared: Compare
) -> None:
    with pytest.raises(ConfigError) as error:
        compared(letters, uniform, vocab="vocab.json")
    message = "--vocab vocab.json: a model brings its own; give it without --model"
    assert str(error.value) == message


def test_what_only_models_use_is_refused_without_one(letters: Path, compared: Compare) -> None:
    with pytest.raises(ConfigError, match="^--precision bf16: found no --model, and only models"):
        compared(letters, precision="bf16")
    with pytest.raises(
        ConfigError, match="^--device cuda: found no --model, and only models use it"
    ):
        compared(letters, device="cuda")


@pytest.mark.parametrize(
    ("split", "text", "message"),
    [
        ("train", "", "no sentence; expected one a line"),
        ("train", "\n \n", "no word; expected one sentence a line, words between blanks"),
        ("valid", "", "no sentence; expected one a line"),
        ("test", "", "no sentence; expected one a line"),
        ("valid", None, "no such file; expected one sentence a line, words between blanks"),
    ],
)
def test_a_missing_or_empty_text_is_refused_before_anything_is_scored(
    letters: Path, uniform: Path, split: str, text: str | None, message: str, compared: Compare
) -> None:
    (letters / f"{split}.txt").unlink()
    if text is not None:
        (letters / f"{split}.txt").write_text(text)
    stages: list[str] = []
    with pytest.raises(DataError) as error:
        compared(letters, uniform, on_stage=stages.append)
    assert str(error.value) == f"{letters}/{split}.txt: {message}"
    assert stages == []


def test_training_text_that_begins_with_a_blank_line_is_text(
    letters: Path, compared: Compare
) -> None:
    (letters / "train.txt").write_text("\na a a b b <unk>\n")
    assert compared(letters).ppl("KN-1") > 1


def test_a_baseline_that_gives_a_token_nothing_is_refused(
    letters: Path, monkeypatch: pytest.MonkeyPatch, compared: Compare
) -> None:
    def estimate_with_a_hole(*arguments: Any, **options: Any) -> Any:
        result = honest(*arguments, **options)
        result.model.orders[0].log10_probs[0] = -np.inf  # of <unk>
        return result

    honest = model_sources.estimate_counted
    monkeypatch.setattr(model_sources, "estimate_counted", estimate_with_a_hole)
    with pytest.raises(DataError) as error:
        compared(letters)
    assert str(error.value) == (
        f"{letters}/test.txt: KN-1 gives 1 of 5 tokens no probability; expected some for each; "
        f"{letters}/train.txt is too small or odd for order 1, try another --order"
    )
