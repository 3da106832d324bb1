"""`charlm.load`: sentences as text in, log10 probabilities out, and the words that it knows."""

import dataclasses
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import charlm
from charlm.api.loaded_models import SentenceScore
from charlm.api.trained_model import Model
from charlm.errors import ConfigError, DataError
from charlm.insight.vectors import cache
from charlm.model.build import build_model
from charlm.model.forms import FormTable
from charlm.run.folder import MODEL, VOCABULARY, load_info
from charlm.run.stored_weights import load_run, read_tensors, save_best
from charlm.scoring.likelihood.sampling.sample_options import SampleOptions
from charlm.scoring.likelihood.sampling.sample_rows import Drawing, SentenceDrawer
from charlm.scoring.likelihood.walker import Paths
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import load_inventory

SENTENCES = ["the cat sat on the mat", "", "a zebra looked", "the dog", "<unk>:cat looked"]


@pytest.fixture(scope="module")
def model(tiny_run: Path) -> Model:
    return charlm.load(tiny_run, device="cpu")


@pytest.fixture
def saved(tiny_run: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the run, its vocabulary with other text rules."""

    def save(*, lower: bool) -> Path:
        run = tmp_path / "run"
        shutil.copytree(tiny_run, run)
        inventory = dataclasses.replace(
            load_inventory(run / VOCABULARY), normalisation=Normalisation(lower=lower)
        )
        inventory.save(run / VOCABULARY)
        info = load_info(run)
        dataclasses.replace(info, vocabulary_sha256=inventory.sha256).save(run)
        return run

    return save


@pytest.mark.parametrize(
    "mode", [torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)]
)
def test_a_mode_of_the_callers_does_not_outlive_its_block(
    tiny_run: Path, mode: Callable[[], Any]
) -> None:
    plain, model = (charlm.load(tiny_run, device="cpu") for _ in range(2))
    with mode():
        model.step(model.start(), ["the"])
        assert model.score("the cat").log10_prob == plain.score("the cat").log10_prob
    for word in ("the", "dog", "dog"):
        ours, theirs = (each.step(each.start(), [word]).state for each in (model, plain))
        np.testing.assert_array_equal(model.distribution(ours), plain.distribution(theirs))


def test_a_default_device_of_the_callers_is_not_the_models(tiny_run: Path) -> None:
    def found() -> object:
        model = charlm.load(tiny_run, device="cpu")
        return model.neighbours("catz", k=2), model.sample(2, seed=3, max_length=5)

    expected = found()
    with torch.device("meta"):  # as after torch.set_default_device
        assert found() == expected


@torch.no_grad()
def slow_log10_probs(run_path: Path, words: list[str]) -> list[float]:
    """Word by word from the initial state, `</s>` fed in first, over all words at once."""
    run = load_run(run_path)
    table = FormTable(run.inventory, run.inventory.words)
    ids = [run.inventory.word_ids.get(word, 1) for word in words] + [0]
    state = run.model.context.initial_state(1)
    log10_probs = []
    for before, word in zip([0, *ids], ids, strict=False):
        x_1E = run.model.encoder(table.forms(np.array([before])))
        h_11H, state = run.model.context(x_1E[None], state)
        log10_probs.append(float(run.model.output.log_probs(h_11H[0])[0, word]) / math.log(10))
    return log10_probs


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_scored_word_by_word_with_its_end(
    model: Model, tiny_run: Path, sentence: str
) -> None:
    score = model.score(sentence)
    words = sentence.split()
    assert score.words == tuple(words)
    assert score.known == tuple(word in model.words for word in words)
    assert score.log10_probs == pytest.approx(slow_log10_probs(tiny_run, words), abs=1e-5)
    assert score.log10_prob == pytest.approx(sum(score.log10_probs))


def test_what_a_caller_holds_has_public_names(model: Model) -> None:
    assert type(model) is charlm.Model
    assert type(model.score("the cat")) is charlm.SentenceScore


def test_sentences_scored_together_are_scored_as_if_alone(model: Model) -> None:
    together = model.score_many(iter(SENTENCES))
    assert [score.words for score in together] == [tuple(s.split()) for s in SENTENCES]
    for sentence, score in zip(SENTENCES, together, strict=True):
        assert score.log10_probs == pytest.approx(model.score(sentence).log10_probs, abs=1e-5)
    assert model.score_many([]) == []
    assert model.score_many(SENTENCES[0]) == [model.score(SENTENCES[0])]


def test_the_probabilities_of_all_first_words_sum_to_one(model: Model) -> None:
    firsts = model.score_many(model.words[1:])
    end = model.score("").log10_probs[0]
    total = sum(10 ** score.log10_probs[0] for score in firsts) + 10**end
    assert total == pytest.approx(1.0, abs=1e-5)


def test_evaluating_a_file_gives_the_same_total(model: Model, corpus_dir: Path) -> None:
    lines = (corpus_dir / "test.txt").read_text().splitlines()
    (evaluation,) = charlm.evaluate(
        model.path, data=corpus_dir, split="test", state="sentence", device="cpu"
    )
    total = sum(score.log10_prob for score in model.score_many(lines))
    assert total == pytest.approx(evaluation.by_state["sentence"].sums.log10_prob, abs=1e-4)


def _bigrams(corpus_dir: Path, folder: Path) -> Path:
    charlm.ngram_baseline(data=corpus_dir, order=2, out=folder / "kn.arpa")
    return folder / "kn.arpa"


def test_the_lines_of_an_open_file_are_sentences(
    model: Model, corpus_dir: Path, tmp_path: Path
) -> None:
    lines = (corpus_dir / "test.txt").read_text().splitlines()
    with (corpus_dir / "test.txt").open() as file:
        assert model.score_many(file) == model.score_many(lines)
    assert model.tokens("the cat\n") == ["the", "cat"]
    kn = charlm.load(_bigrams(corpus_dir, tmp_path))  # which has no text rules
    assert kn.tokens("the cat\r\n") == kn.tokens("the cat\r") == ["the", "cat"]
    with pytest.raises(DataError, match="found a line end"):
        model.tokens("the cat\n\n")


def test_marks_at_the_ends_and_further_blanks_are_no_words(model: Model) -> None:
    assert model.score("<s>  the\tdog </s>") == model.score("the dog")


def test_the_text_rules_of_the_run_are_applied(saved: Callable[..., Path]) -> None:
    model = charlm.load(saved(lower=True), device="cpu")
    assert model.score("The CAT").words == ("the", "cat")
    assert model.neighbours("CAT").form == "cat"
    assert model.vectors("CAT").tolist() == model.vectors("cat").tolist()


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (
            "a\nb",
            "sentence 'a\\nb': found a line end; expected one sentence without it; several go to "
            "score_many, a string each",
        ),
        (
            "a <s> b",
            "sentence 'a <s> b': found <s> within a line; expected one sentence a line",
        ),
    ],
)
def test_what_is_not_one_sentence_is_refused(model: Model, sentence: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        model.score(sentence)
    assert str(caught.value) == message


def test_a_model_that_gives_no_numbers_is_refused(tiny_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    tensors, meta = read_tensors(run / MODEL)
    (bias,) = [name for name in tensors if name.startswith("output") and name.endswith("bias")]
    tensors[bias][2:4] = torch.tensor([3e38, -3e38])  # their difference overflows
    save_best(run, tensors, meta=meta)
    model = charlm.load(run, device="cpu")
    with pytest.raises(DataError) as caught:
        model.score(model.words[3])
    assert str(caught.value) == (
        f"{run}: the model is broken: log probabilities are NaN or infinite; expected numbers; "
        "train it again"
    )


def test_vectors_are_a_row_a_word_at_any_tap(model: Model) -> None:
    words = ["cat", "caaat", "cat"]
    after = model.vectors(words)
    before = model.vectors(words, at="char-cnn")
    assert after.shape == before.shape == (3, 16)
    assert after.dtype == np.float32
    # A row's last bit depends on its place in the product: MKL sums the last rows in another order.
    np.testing.assert_allclose(after[0], after[2], rtol=1e-6, atol=1e-7)
    assert not np.allclose(after[0], after[1])
    assert after.tolist() == model.vectors(words, at="highway").tolist()
    assert after.tolist() != before.tolist()


def test_morphs_are_those_of_a_known_word_and_those_found_in_another(
    corpus_dir: Path, tmp_path: Path, save_run: Callable[..., Path]
) -> None:
    lines = "looked\tlook ed\ncats\tcat s\ndogs\tdog + s\nat\tto the\n"
    (tmp_path / "morphs.tsv").write_text(lines)
    inventory = charlm.vocab(data=corpus_dir, morphs=str(tmp_path / "morphs.tsv")).inventory
    parts = {"encoder": {"type": "morph", "dim": 4}, "context": {"type": "lstm", "dim": 4}}
    built, settings = build_model({**parts, "output": {"type": "softmax"}}, inventory)
    run = save_run(tmp_path / "run", built, settings=settings, inventory=inventory)
    model = charlm.load(run, device="cpu")
    assert isinstance(model, Model)
    assert [model.morphs(word) for word in ("looked", "cats", "at", "<unk>:at")] == [
        *(("look", "ed"), ("cat", "s"), ("to", "the"), ("to", "the"))
    ]
    assert model.morphs("catslooked") == ("cat", "s", "look", "ed")
    assert model.morphs("dogms") == ("dog", "m", "s")
    with pytest.raises(ConfigError, match="is read as 2 words"):
        model.morphs("a cat")
    x_N, m_N = (built.encoder.get_parameter(f"{name}.weight") for name in ("words", "morphs"))
    assert inventory.morphs is not None
    rows = [3 + inventory.morphs.morphs.index(morph) for morph in model.morphs("catslooked")]
    expected = (x_N[1] + m_N[rows].sum(0)).tolist()
    assert model.vectors("catslooked")[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_a_model_that_reads_no_morphs_says_what_its_encoder_is(model: Model) -> None:
    with pytest.raises(ConfigError) as caught:
        model.morphs("cat")
    assert str(caught.value) == (
        f"{model.path}: its encoder 'highway' has no part that reads morphs; expected one with "
        "morph, such as morph-small's"
    )


def test_neighbours_are_those_of_the_public_function(model: Model, tiny_run: Path) -> None:
    expected = charlm.neighbours("caat", model=tiny_run, k=3, at="char-cnn", device="cpu")
    assert (model.neighbours("caat", k=3, at="char-cnn"),) == expected
    with pytest.raises(
        ConfigError, match="at: found 'top'; expected one of char-cnn, transform, highway"
    ):
        model.neighbours("caat", at="top")
    with pytest.raises(ConfigError, match=r"^-k 0: expected 1 or more$"):
        model.neighbours("caat", k=0)


@pytest.mark.parametrize("at", ["char-cnn,highway", "all"])
def test_a_models_answer_is_about_one_tap(model: Model, at: str) -> None:
    message = r"^at: found char-cnn, .*highway.*; expected one of them$"
    for ask in (model.neighbours, model.vectors):
        with pytest.raises(ConfigError, match=message):
            ask("cat", at=at)


def test_a_model_tells_its_words_path_and_settings(model: Model, tiny_run: Path) -> None:
    assert model.words[:2] == ("</s>", "<unk>")
    assert "looked" in model.words
    assert model.path == tiny_run
    assert model.settings["context"]["dim"] == 8
    assert repr(model) == f"<charlm model '{tiny_run}', 16 words>"


def test_without_a_path_the_newest_run_is_loaded(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no model was given and exp/ holds no finished one"):
        charlm.load()
    shutil.copytree(tiny_run, tmp_path / "exp/tiny")
    assert charlm.load(device="cpu").path == Path("exp/tiny")


def test_a_presets_name_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = "char-small: a preset, .* `charlm train --arch char-small --data DIR --out RUN` wrote"
    with pytest.raises(DataError, match=told):
        charlm.load("char-small")


def test_an_n_gram_model_runs_on_the_cpu(tmp_path: Path, corpus_dir: Path) -> None:
    arpa = tmp_path / "kn.arpa"
    charlm.ngram_baseline(train=corpus_dir / "train.txt", order=2, out=arpa)
    assert charlm.load(arpa, device="cpu").words == charlm.load(arpa).words
    with pytest.raises(ConfigError, match="is an n-gram model, which runs on the CPU; found 'cuda"):
        charlm.load(arpa, device="cuda:0")
    for name in ("neighbours", "neighbors"):
        with pytest.raises(ConfigError, match=r"kn\.arpa: is an n-gram model, which has no v"):
            getattr(charlm.load(arpa), name)("cat")


def test_an_arpa_file_that_is_not_utf_8_is_to_be_converted(tmp_path: Path) -> None:
    arpa = tmp_path / "latin.arpa"
    arpa.write_bytes(b"\\data\\\nngram 1=1\n\n\\1-grams:\n-1\tcaf\xe9\n\n\\end\\\n")
    with pytest.raises(DataError, match="expected UTF-8 text; convert the file$"):
        charlm.load(arpa)  # which has no --encoding


def test_a_second_question_does_not_encode_the_vocabulary_again(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = charlm.load(tiny_run)
    first = model.neighbours("caat")
    monkeypatch.setattr(cache, "_blocks", None)
    assert model.neighbours("caat") == first
    with pytest.raises(TypeError, match="not callable"):
        charlm.load(tiny_run).neighbours("caat")


def test_neighbours_may_be_spelled_as_in_america(model: Model) -> None:
    options = {"k": 2, "at": "char-cnn"}
    assert model.neighbors("cat", **options) == model.neighbours("cat", **options)


def test_a_score_as_json_names_its_parts() -> None:
    score = SentenceScore(("a", "zz"), (True, False), (-1.0, -2.0, -0.5))
    assert score.to_dict() == {
        "words": ["a", "zz"],
        "known": [True, False],
        "log10_probs": [-1.0, -2.0, -0.5],
        "log10_prob": -3.5,
    }


def test_sampling_draws_what_the_command_draws(tiny_run: Path) -> None:
    drawn = charlm.load(tiny_run).sample(3, temperature=0.8, prefix="the", seed=5)
    assert drawn == list(
        charlm.sample(tiny_run, n=3, temperature=0.8, prefix="the", seed=5).sentences
    )


def test_however_many_are_drawn_few_are_drawn_side_by_side(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, sizes = SentenceDrawer._step, list[int]()

    def watched(drawer: SentenceDrawer, rows: list[Drawing], at: Paths) -> Paths:
        sizes.append(len(rows))
        return step(drawer, rows, at)

    monkeypatch.setattr(SentenceDrawer, "_step", watched)
    monkeypatch.setattr(SampleOptions, "batch_size", 2)
    assert len(charlm.load(tiny_run).sample(5)) == 5
    assert max(sizes) == 2


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n": 0}, "-n 0: expected 1 or more"),
        ({"top_k": 0}, "--top-k 0: expected 1 or more"),
        ({"max_length": 0}, "--max-length 0: expected 1 or more"),
        ({"seed": -1}, "--seed -1: expected 0 to 4294967295"),
    ],
)
def test_a_number_out_of_its_range_is_an_error(
    tiny_run: Path, option: dict[str, int], message: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{message}$"):
        charlm.load(tiny_run).sample(**option)
