"""`charlm.export`: the ARPA file of a tiny run, read by charlm and KenLM; what is refused."""

import itertools
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import charlm
from charlm.errors import ConfigError, DataError
from charlm.interface import progress_messages
from charlm.ngram.estimation import estimate
from charlm.ngram.files.arpa_reading import read_arpa
from charlm.ngram.word_ids import START, words_of
from charlm.run.stored_weights import load_run
from charlm.scoring.export.approximation import MOST_READ, PARTS, first_sentences
from charlm.scoring.export.averages_over_text import StreamModel, ngram_ids, sampled_text
from charlm.scoring.export.export import Export, export
from charlm.scoring.likelihood.nll import FormVectors
from charlm.text.corpus.tokens import END

MADE = {"tokens": 600, "order": 3, "followers": 4, "device": "cpu", "threads": 1}
VALID = ["the cat looked at the mat", "a bird sat on the log"]


def exported(run: Path, data: Path, arpa: Path, **options: object) -> Export:
    return export(run, arpa=arpa, data=data, **{**MADE, **options})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def result(tiny_run: Path, corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Export:
    return exported(tiny_run, corpus_dir, tmp_path_factory.mktemp("export") / "tiny.arpa")


def total(model: Any, context: tuple[str, ...], words: list[str]) -> float:
    """Σ_w P(w | context) by KenLM; a context may begin with `<s>`."""
    import kenlm

    state, following = kenlm.State(), kenlm.State()
    if context[:1] == ("<s>",):
        model.BeginSentenceWrite(state)
    else:
        model.NullContextWrite(state)
    for word in context:
        if word != "<s>":
            model.BaseScore(state, word, following)
            state, following = following, state
    return sum(10 ** model.BaseScore(state, word, following) for word in words)


def test_every_context_of_the_file_sums_to_1_in_kenlm(result: Export, kenlm: ModuleType) -> None:
    model = kenlm.Model(str(result.arpa))
    words = [word for word in read_arpa(result.arpa).words if word != "<s>"]
    inner = ["<s>", *(word for word in words if word != "</s>")]
    contexts = [(), *((word,) for word in inner)]
    contexts += itertools.product(inner, inner[1:])
    assert len(contexts) > 200
    totals = [total(model, context, words) for context in contexts]
    assert totals == pytest.approx([1.0] * len(contexts), abs=2e-5)


def test_the_file_has_what_the_result_says(result: Export) -> None:
    model = read_arpa(result.arpa)
    assert model.sizes == result.sizes
    assert sum(result.sizes) == result.n_ngrams
    assert result.arpa.stat().st_size == result.n_bytes
    scores = model.score([sentence.split() for sentence in VALID])
    ppl = 10 ** -scores.log10_probs.mean()
    assert result.valid_ppls["file"] == pytest.approx(ppl, rel=1e-5)


def test_kenlm_finds_the_perplexity_that_the_result_says(result: Export, kenlm: ModuleType) -> None:
    log10 = sum(kenlm.Model(str(result.arpa)).score(sentence) for sentence in VALID)
    n_tokens = sum(len(sentence.split()) + 1 for sentence in VALID)
    assert 10 ** (-log10 / n_tokens) == pytest.approx(result.valid_ppls["file"], rel=1e-4)


def test_the_file_is_no_worse_on_valid_than_any_part(result: Export) -> None:
    assert set(result.weights) == set(PARTS)
    assert sum(result.weights.values()) == pytest.approx(1.0)
    best = min(result.valid_ppls[part] for part in PARTS)
    assert result.valid_ppls["file"] < best * 1.01  # a mixture backs off a little differently


def test_the_parts_are_what_each_would_be_alone(result: Export, corpus_dir: Path) -> None:
    baseline = charlm.ngram_baseline(
        [corpus_dir / "valid.txt"],
        train=corpus_dir / "train.txt",
        vocab=result.model,
        order=3,
        engine="charlm",
    )
    expected = baseline.texts[0].by_state["sentence"].ppl
    assert result.valid_ppls["train"] == pytest.approx(expected, rel=1e-6)


def test_the_sample_is_kneser_ney_of_what_was_drawn_pruned_as_asked(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path
) -> None:
    made = exported(tiny_run, corpus_dir, tmp_path / "a.arpa", followers=0, prune="0,1,1", seed=3)
    run = load_run(tiny_run)
    model = StreamModel(FormVectors(run.model, run.inventory), carries_state=True, source="")
    drawn = ngram_ids(sampled_text(model, 600, seed=3, on_tokens=[].append))
    alone = estimate(drawn, words=words_of(run.inventory), order=3, prune=(0, 1, 1)).model
    ppl = 10 ** -alone.score([sentence.split() for sentence in VALID]).log10_probs.mean()
    assert made.valid_ppls["sample"] == pytest.approx(ppl, rel=1e-6)
    assert made.valid_ppls["average"] != pytest.approx(ppl, rel=1e-2)


def test_a_seed_gives_the_same_file(
    result: Export, tiny_run: Path, corpus_dir: Path, tmp_path: Path
) -> None:
    again = exported(tiny_run, corpus_dir, tmp_path / "again.arpa")
    other = exported(tiny_run, corpus_dir, tmp_path / "other.arpa", seed=2)
    assert again.arpa.read_bytes() == result.arpa.read_bytes()
    assert other.arpa.read_bytes() != result.arpa.read_bytes()


def test_followers_bring_n_grams_in(
    result: Export, tiny_run: Path, corpus_dir: Path, tmp_path: Path
) -> None:
    without = exported(tiny_run, corpus_dir, tmp_path / "a.arpa", followers=0)
    assert without.sizes[2] < result.sizes[2]


def test_entropy_pruning_makes_the_file_smaller_and_little_worse(
    result: Export, tiny_run: Path, corpus_dir: Path, tmp_path: Path
) -> None:
    pruned = exported(tiny_run, corpus_dir, tmp_path / "a.arpa.gz", entropy_prune=1e-4)
    assert pruned.sizes[0] == result.sizes[0]
    assert pruned.n_ngrams < 0.8 * result.n_ngrams
    assert pruned.valid_ppls["file"] < 1.2 * result.valid_ppls["file"]
    assert read_arpa(pruned.arpa).sizes == pruned.sizes


def test_what_is_done_is_told(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    for name in ("FIRST", "NEXT"):
        monkeypatch.setattr(progress_messages, name, -1)
    exported(tiny_run, corpus_dir, tmp_path / "a.arpa", on_stage=told.append)
    stages = [line.partition(":")[0] for line in told if ":" in line]
    assert list(dict.fromkeys(stages)) == [
        "drawn",
        "words drawn along the training text",
        "words drawn along the drawn text",
        "averages over the training text",
        "averages over the drawn text",
    ]
    drawn = [line for line in told if line.startswith("drawn: ")]
    assert re.fullmatch(r"drawn: 600 of 600 tokens, [\d,]+ a second", drawn[-1])
    assert re.fullmatch(r"[\d,]+ n-grams of the training and the drawn text", told[len(drawn)])
    (found,) = [line for line in told if " n-grams more, " in line]
    assert int(found.partition(" ")[0]) > 0


def test_of_a_long_text_whole_sentences_are_read() -> None:
    text = np.ones(MOST_READ + 10, np.int32)
    text[[5, 9, MOST_READ - 1, MOST_READ + 5]] = END
    assert len(first_sentences(text)) == MOST_READ
    text[MOST_READ - 1] = 1
    assert len(first_sentences(text)) == 10
    text[[5, 9]] = 1
    assert len(first_sentences(text)) == MOST_READ + 6
    text[19] = END
    assert len(first_sentences(text[:20])) == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": 0}, "--tokens 0: expected 1 or more"),
        ({"order": 1}, "--order 1: expected 2 to 6"),
        ({"order": 7}, "--order 7: expected 2 to 6"),
        ({"prune": "1,0"}, "--prune 1,0: expected counts that do not fall, as 0,0,1"),
        ({"prune": "1,1"}, "--prune 1,1: would leave out words of the vocabulary; expected 0 for"),
        ({"followers": -1}, "--followers -1: expected 0 or more"),
        ({"entropy_prune": -1.0}, "--entropy-prune -1.0: expected 0 or more"),
        ({"entropy_prune": float("nan")}, "--entropy-prune nan: expected 0 or more"),
        ({"seed": 1 << 32}, "--seed 4294967296: expected 0 to 4294967295"),
        ({"arpa": "-"}, "--arpa -: nothing goes to standard output; expected a file"),
        (
            {"arpa": "a.klm"},
            "--arpa a.klm: names KenLM's binary; expected .arpa or .arpa.gz, of which `charlm "
            "ngram --lm FILE --out a.klm` makes it",
        ),
        ({"model": None}, "no model was given; use --model RUN or set CHARLM_MODEL"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    wanted = {"model": tiny_run, "arpa": tmp_path / "a.arpa", "data": corpus_dir, **options}
    with pytest.raises(ConfigError) as caught:
        export(**wanted)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("reset", "carries"), [(0.4, True), (0.5, False)])
def test_a_run_of_single_sentences_is_read_by_sentence(
    saved_run: Callable[..., Path],
    corpus_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reset: float,
    carries: bool,
) -> None:
    run = saved_run("zeros", batching={"type": "streams", "reset": reset})

    def asked(model: StreamModel, *_: object, **__: object) -> None:
        raise DataError(str(model.carries_state))

    monkeypatch.setattr("charlm.scoring.export.export.Approximator", asked)
    with pytest.raises(DataError, match=str(carries)):
        exported(run, corpus_dir, tmp_path / "a.arpa")


def test_an_empty_text_is_refused(tiny_run: Path, corpus_dir: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(corpus_dir, data)
    (data / "valid.txt").write_text("")
    with pytest.raises(DataError) as caught:
        exported(tiny_run, data, tmp_path / "a.arpa")
    assert str(caught.value) == f"{data}/valid.txt: no sentence; expected one a line"


def test_begin_of_sentence_is_written_as_lmplz_has_it(result: Export) -> None:
    assert read_arpa(result.arpa).orders[0].log10_probs[START] == 0.0
