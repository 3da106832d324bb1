"""Perplexities of files under a run: uniform models, slow scores, and what is refused."""

import gzip
import hashlib
import json
import math
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import charlm
from charlm import ConfigError, DataError, evaluate
from charlm.run.folder import MODEL, VOCABULARY
from charlm.run.stored_weights import load_run
from charlm.scoring.evaluation import evaluated_text
from charlm.scoring.likelihood import nll
from charlm.scoring.likelihood.nll import FormVectors, sentence_nlls
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.perplexity.perplexity import Evaluation, ScoredSentence
from charlm.text.vocabulary.encoding import FormIds, encode_sentences
from charlm.text.vocabulary.vocabulary import load_inventory

N_WORDS = 10  # of the runs in conftest.py
TEXT = "a b zz\n\nc d e f <unk> a a\nzz\n"


def evaluated(run: Path, path: Path, **options: Any) -> Evaluation:
    (result,) = evaluate(run, files=[path], device="cpu", **options)
    return result


@pytest.mark.parametrize("state", ["carried", "sentence"])
def test_perplexity_of_a_uniform_model_is_the_number_of_words(
    uniform: Path, text: Path, state: str
) -> None:
    perplexity = evaluated(uniform, text).by_state[state]
    assert perplexity.ppl == pytest.approx(N_WORDS, rel=1e-6)
    assert perplexity.ppl_known == pytest.approx(N_WORDS, rel=1e-6)
    assert perplexity.ppl1 == pytest.approx(N_WORDS ** (15 / 11), rel=1e-6)
    assert perplexity.bits_per_byte == pytest.approx(15 * math.log2(N_WORDS) / 29, rel=1e-6)


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.removesuffix("\n").encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        gzip.compress(TEXT.encode()),
    ],
    ids=["plain", "CRLF", "no last LF", "BOM", "gz"],
)
def test_a_blank_line_is_a_sentence_and_no_line_end_changes_the_result(
    run: Path, text: Path, content: bytes
) -> None:
    expected = evaluated(run, text)
    text.write_bytes(content)
    result = evaluated(run, text)
    assert result == expected
    counts = result.counts
    # One token per word and one per line; test_kenlm.py asks KenLM.
    assert (counts.n_sentences, counts.n_words, counts.n_tokens) == (4, 11, 15)
    assert (counts.n_oov, counts.n_known_tokens) == (3, 12)
    assert (counts.n_characters, counts.n_bytes) == (7 + 1 + 18 + 3,) * 2


def slow_log10_probs(run: Path, sentences: list[list[str]]) -> list[float]:
    """log10 probabilities of one stream over all sentences, each predicted alone."""
    loaded = load_run(run)
    inventory, model = loaded.inventory, loaded.model
    ids = [inventory.word_ids.get(w, 1) for words in sentences for w in (*words, "</s>")]
    vectors = FormVectors(model, inventory).vocabulary_VE
    state = model.context.initial_state(1)
    found = []
    with torch.no_grad():
        for fed, predicted in zip([0, *ids[:-1]], ids, strict=True):
            h_TBH, state = model.context(vectors[fed][None, None], state)
            found.append(float(model.output.log_probs(h_TBH[0])[0, predicted]) / math.log(10))
    return found


@pytest.mark.parametrize(("chunk", "block"), [(1024, 1 << 16), (2, 1), (3, 5)])
def test_a_carried_state_goes_on_across_chunks_blocks_and_sentences(
    run: Path, text: Path, chunk: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nll, "CHUNK_POSITIONS", chunk)
    monkeypatch.setattr(evaluated_text, "BLOCK", block)
    expected = slow_log10_probs(run, [line.split() for line in TEXT.splitlines()])
    heard: list[ScoredSentence] = []
    result = evaluated(run, text, state="carried", on_sentence=heard.append)
    assert [p for s in heard for p in s.log10_probs] == pytest.approx(expected, abs=1e-5)
    assert result.by_state["carried"].sums.log10_prob == pytest.approx(sum(expected), abs=1e-5)


@pytest.mark.parametrize("block", [1 << 16, 1, 5])
def test_by_sentence_is_each_sentence_scored_alone(
    run: Path, text: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluated_text, "BLOCK", block)
    heard: list[ScoredSentence] = []
    result = evaluated(run, text, state="sentence", on_sentence=heard.append)
    alone = [slow_log10_probs(run, [line.split()]) for line in TEXT.splitlines()]
    for sentence, expected in zip(heard, alone, strict=True):
        assert sentence.log10_probs == pytest.approx(expected, abs=1e-5)
    assert result.by_state["sentence"].sums.log10_prob == pytest.approx(
        sum(map(sum, alone)), abs=1e-5
    )


def test_a_sentence_is_heard_with_its_words_ids_and_flags_in_the_first_state(
    run: Path, text: Path
) -> None:
    heard: list[ScoredSentence] = []
    result = evaluated(run, text, on_sentence=heard.append)
    assert list(result.by_state) == ["carried", "sentence"]
    assert [sentence.words for sentence in heard] == [
        ("a", "b", "zz"),
        (),
        ("c", "d", "e", "f", "<unk>", "a", "a"),
        ("zz",),
    ]
    assert heard[0].mapped == ("a", "b", "<unk>")
    assert heard[2].known == (True, True, True, True, False, True, True)
    assert heard[0].word_ids == (2, 3, 1)
    log10_prob = sum(sum(sentence.log10_probs) for sentence in heard)
    assert log10_prob == pytest.approx(result.by_state["carried"].sums.log10_prob)
    oov = heard[0].log10_probs[2] + heard[2].log10_probs[4] + heard[3].log10_probs[0]
    assert result.by_state["carried"].sums.log10_prob_oov == pytest.approx(oov)


def test_only_the_state_asked_for_is_evaluated_and_alone_it_is_the_same(
    run: Path, text: Path
) -> None:
    both = evaluated(run, text)
    for state in ("carried", "sentence"):
        alone = evaluated(run, text, state=state)
        assert dict(alone.by_state) == {state: both.by_state[state]}
        assert dict(alone.signatures) == {state: both.signatures[state]}


def test_a_signature_names_model_vocabulary_data_and_settings(run: Path, text: Path) -> None:
    inventory = load_inventory(run / VOCABULARY)
    weights = hashlib.sha256((run / MODEL).read_bytes()).hexdigest()
    begin = (
        f"charlm:{charlm.__version__}|model:{weights[:12]}|vocab:{inventory.sha256[:12]}|"
        f"data:{hashlib.sha256(TEXT.encode()).hexdigest()[:12]}"
    )
    end = "start:</s>|oov_input:unk|norm:NFC|precision:fp32"
    assert evaluated(run, text).signatures == {
        "carried": f"{begin}|streams:1|state:carried|{end}",
        "sentence": f"{begin}|state:sentence|{end}",
    }


@pytest.mark.parametrize(
    ("raw", "changed", "oovs", "norm"), [(False, 2, 1, "NFC+lower"), (True, 0, 3, "raw")]
)
def test_the_runs_normalisation_is_applied_and_its_share_told_unless_raw(
    raw: bool, changed: int, oovs: int, norm: str, saved_run: Callable[..., Path], text: Path
) -> None:
    run = saved_run("random", normalisation=Normalisation(lower=True))
    text.write_text("A b zz C\n")
    result = evaluated(run, text, raw=raw)
    assert (result.counts.n_changed, result.counts.n_oov) == (changed, oovs)
    assert result.to_dict()["changed_share"] == changed / 4
    assert f"|norm:{norm}|" in result.signatures["carried"]


def test_raw_text_read_by_options_has_the_figures_of_text_prepared_by_hand(
    saved_run: Callable[..., Path], text: Path
) -> None:
    run = saved_run("random")
    text.write_text("A, b-C?\n(D) it's E! zz\n")
    raw = evaluated(run, text)
    assert raw.advice == raw.to_dict()["advice"]
    assert raw.advice.endswith("known by --lower --punctuation drop: A, > a, (D) > d, E! > e")
    read = evaluated(
        run, text, lower=True, punctuation="drop", split_hyphens=True, map={"it's": "e 's"}
    )
    text.write_text("a b c\nd e 's e zz\n")
    by_hand = evaluated(run, text)
    assert {state: each.sums for state, each in read.by_state.items()} == {
        state: each.sums for state, each in by_hand.by_state.items()
    }
    assert (read.counts.n_changed, by_hand.counts.n_changed) == (7, 0)
    assert replace(read.counts, n_changed=0) == by_hand.counts
    assert "|norm:NFC+lower+hyphens+punctuation+map-" in read.signatures["carried"]
    assert (read.advice, "advice" in read.to_dict()) == ("", False)


def test_a_run_decides_whether_unknown_words_go_in_by_their_spelling(
    saved_run: Callable[..., Path], text: Path
) -> None:
    run = saved_run("random", oov_input="spelling")
    text.write_text("abc a\n")
    loaded = load_run(run)
    form_ids = FormIds(loaded.inventory)
    ids = encode_sentences([["abc", "a"]], form_ids)
    vectors = FormVectors(loaded.model, loaded.inventory, oov_input="spelling")
    (losses,) = sentence_nlls(vectors, ids, spellings=form_ids.spellings)
    result = evaluated(run, text, state="sentence")
    log10_prob = -float(losses.sum()) / math.log(10)
    assert result.by_state["sentence"].sums.log10_prob == pytest.approx(log10_prob, rel=1e-6)
    assert "|oov_input:spelling|" in result.signatures["sentence"]


def test_a_split_of_a_corpus_directory_stands_in_the_signature(
    run: Path, text: Path, tmp_path: Path
) -> None:
    (tmp_path / "valid.txt").write_text(TEXT)
    (result,) = evaluate(run, data=tmp_path, split="valid", device="cpu")
    assert result.name == str(tmp_path / "valid.txt")
    assert "|split:valid|" in result.signatures["carried"]
    assert result.by_state == evaluated(run, text).by_state


def test_each_file_is_a_text_of_its_own_heard_when_it_is_finished(
    run: Path, text: Path, tmp_path: Path
) -> None:
    other = tmp_path / "b.txt"
    other.write_text("a\n")
    events: list[str] = []
    results = evaluate(
        run,
        files=[text, other, text],
        device="cpu",
        on_sentence=lambda sentence: events.append(" ".join(sentence.words)),
        on_text=lambda result: events.append(result.name),
    )
    assert [result.name for result in results] == [str(text), str(other), str(text)]
    assert results[0] == results[2]
    lines = TEXT.splitlines()
    assert events == [*lines, str(text), "a", str(other), *lines, str(text)]


def test_standard_input_gives_what_a_file_with_its_content_gives(
    run: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = evaluated(run, text)
    with open(text) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        result = evaluated(run, Path("-"))
    assert result.name == "-"
    assert (result.by_state, result.signatures) == (expected.by_state, expected.signatures)


def test_a_result_is_frozen_and_its_dictionary_is_json(uniform: Path, text: Path) -> None:
    result = evaluated(uniform, text)
    with pytest.raises(FrozenInstanceError):
        result.name = "b"
    value = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert value["carried"]["ppl"] == pytest.approx(N_WORDS)


def test_a_model_that_gives_no_numbers_is_said_to_be_broken(
    saved_run: Callable[..., Path], text: Path
) -> None:
    run = saved_run("beyond")
    with pytest.raises(DataError) as raised:
        evaluated(run, text)
    assert str(raised.value) == (
        f"{run}: the model is broken: 1 of 15 log probabilities in {text} are NaN or infinite; "
        "expected numbers; train it again"
    )


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_an_empty_text_is_an_error(run: Path, text: Path, content: bytes) -> None:
    text.write_bytes(content)
    with pytest.raises(DataError) as raised:
        evaluated(run, text)
    assert str(raised.value) == f"{text}: no sentence; expected one a line"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "found neither files nor --data; expected one of them; give either"),
        (
            {"files": ["a.txt"], "data": "ptb"},
            "found both files and --data; expected one of them; give either",
        ),
        (
            {"files": ["-", "-"]},
            "standard input: named twice; expected it once, since it is read once",
        ),
        (
            {"files": ["a.txt"], "state": "cold"},
            "state: found 'cold'; expected one of 'both', 'carried', 'sentence'",
        ),
    ],
)
def test_texts_and_states_that_make_no_sense_are_refused(
    run: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        evaluate(run, **options)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [("none.txt", "none.txt: no such file; expected a text"), (".", ": is a folder; expected a f")],
)
def test_a_file_that_cannot_be_read_is_found_before_the_others_are_evaluated(
    run: Path, text: Path, tmp_path: Path, name: str, message: str
) -> None:
    events: list[ScoredSentence] = []
    with pytest.raises(DataError, match=message):
        evaluate(run, files=[text, tmp_path / name], on_sentence=events.append)
    assert events == []


def test_a_lone_path_is_one_text(run: Path, text: Path) -> None:
    assert evaluate(run, files=str(text)) == evaluate(run, files=[text])
