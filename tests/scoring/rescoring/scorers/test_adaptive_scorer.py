"""A scorer that adapts to the chosen texts: against a copy moved by hand, by recordings."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import charlm
from charlm import ConfigError
from charlm.model.contract import detached
from charlm.run.stored_weights import load_run
from charlm.scoring.adaptation.adapt_options import Rates
from charlm.scoring.adaptation.adaptive_reader import Adaptation
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.nll import FormVectors, continued_nll
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.scorers.adaptive_scorer import AdaptiveScorer
from charlm.scoring.rescoring.scorers.neural import NeuralScorer
from charlm.text.corpus.tokens import END

CHOSEN = [["a", "b", "a"], ["c", "a"]]
HYPOTHESES = [["b", "a"], ["b", "zz", "c"], []]
LISTS = "x-1\t-1\ta b a\nx-1\t-2\th\nx-2\t-1\ta b\nx-2\t-2\tg\ny-1\t-1\ta b\ny-1\t-2\tg\n"


def adaptive(run: Path, *, mode: Any, is_carried: bool = False, **rates: Any) -> AdaptiveScorer:
    loaded = load_run(run)
    adaptation = Adaptation(mode, Rates(**rates))
    forms = FormCache(loaded.model, loaded.inventory, keeps_products=False)
    return AdaptiveScorer(Walker(forms), adaptation=adaptation, is_carried=is_carried)


def remembered(scorer: AdaptiveScorer) -> object:
    memory: object = None
    for sentence in CHOSEN:
        memory = scorer.remember(sentence, memory=memory)
    return memory


@pytest.mark.parametrize("is_carried", [False, True])
def test_context_and_output_move_after_each_chosen_sentence(run: Path, is_carried: bool) -> None:
    rates: dict[str, Any] = {"rate": 0.5, "decay": 0.25}
    scorer = adaptive(run, mode="dynamic", is_carried=is_carried, **rates)
    scores = scorer.score(HYPOTHESES, memory=remembered(scorer))

    loaded, model = load_run(run), copy.deepcopy(load_run(run).model)
    words = {word: number for number, word in enumerate(loaded.inventory.words)}
    vectors = FormVectors(model, loaded.inventory)
    trained = {name: p.detach().clone() for name, p in model.named_parameters()}
    state = begun = model.context.initial_state(1)
    for sentence in CHOSEN:
        ids = torch.tensor([words[word] for word in sentence])
        x_TBE = vectors.vocabulary_VE[torch.cat([torch.tensor([END]), ids])][:, None]
        targets = torch.cat([ids, torch.tensor([END])])[:, None]
        nll_TB, after = model.continue_from(x_TBE, words_TB=targets, state=state)
        model.zero_grad()
        nll_TB.mean().backward()
        for name, parameter in model.named_parameters():
            if not name.startswith("encoder."):
                assert parameter.grad is not None
                back = rates["decay"] * (trained[name] - parameter.data)
                parameter.data += back - rates["rate"] * parameter.grad
        state = detached(after) if is_carried else begun
    for words_read, score in zip(HYPOTHESES, scores, strict=True):
        ids = np.array([*(words.get(word, 1) for word in words_read), END], np.int32)
        nll, _ = continued_nll(vectors, ids, spellings=[], state=state)
        assert score.log_probs == pytest.approx(-nll, rel=1e-5)
    plain = NeuralScorer(Walker(FormCache(loaded.model, loaded.inventory)))
    alone = zip(scorer.score(HYPOTHESES), plain.score(HYPOTHESES), strict=True)
    assert all(a.log_prob == pytest.approx(b.log_prob, rel=1e-5) for a, b in alone)


def test_a_sentence_that_cannot_be_remembered_leaves_no_trace(run: Path) -> None:
    scorer = adaptive(run, mode="dynamic", rate=1e38, segment=1)
    (before,) = scorer.score(CHOSEN[:1])
    with pytest.raises(ConfigError, match="leave no numbers"):
        scorer.remember(CHOSEN[0])
    (after,) = scorer.score(CHOSEN[:1])
    assert after.log_probs.tolist() == before.log_probs.tolist()


def test_a_unigram_cache_gives_words_their_share_among_those_chosen(run: Path) -> None:
    scorer = adaptive(run, mode="cache", theta=0.0, share=0.25, size=5)
    scores = scorer.score(HYPOTHESES, memory=remembered(scorer))
    alone = scorer.score(HYPOTHESES)
    shares = {"a": 2 / 5, "c": 1 / 5, "</s>": 2 / 5}  # of the last five tokens: a </s> c a </s>
    for words, score, plain in zip(HYPOTHESES, scores, alone, strict=True):
        cached = np.array([shares.get(word, 0.0) for word in (*words, "</s>")])
        expected = np.log(0.75 * np.exp(plain.log_probs) + 0.25 * cached)
        assert score.log_probs == pytest.approx(expected, rel=1e-6)


def scored(run: Path, path: Path, text: str, **options: Any) -> dict[str, float]:
    """The model's score of the first hypothesis of each list."""
    path.write_text(text)
    found = {}

    def hear(piece: str) -> None:
        for line in piece.splitlines():
            id, _, score, *_ = line.split("\t")
            found.setdefault(id, float(score))

    said = {"format": "tsv", "columns": "id,am,text", "weight": ["am=9"], "device": "cpu"}
    charlm.score(path, model=run, out=hear, **said, **options)
    return found


@pytest.mark.parametrize(
    ("mode", "rates", "zeros"),
    [
        ("dynamic", "rate=1", "rate=0"),
        ("cache", "lambda=0.5", "lambda=0"),
        ("both", "rate=1,lambda=0.5", "rate=0,lambda=0"),
    ],
)
def test_a_recording_begins_with_the_trained_model(
    run: Path, tmp_path: Path, mode: str, rates: str, zeros: str
) -> None:
    options = {"adapt": mode, "adapt_rates": rates}
    plain = scored(run, tmp_path / "lists", LISTS)
    found = scored(run, tmp_path / "lists", LISTS, **options)
    assert found["x-1"] == pytest.approx(plain["x-1"], rel=1e-5)
    assert found["y-1"] == pytest.approx(plain["y-1"], rel=1e-5)
    assert abs(found["x-2"] - plain["x-2"]) > 0.01
    nothing = {"adapt": mode, "adapt_rates": zeros}
    assert scored(run, tmp_path / "lists", LISTS, **nothing) == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unnormalised": True}, "--adapt: found --unnormalised, or weights tuned with it; expect"),
        ({"processes": 2}, "--adapt: a list waits for what was chosen .*; expected one process"),
        ({"format": "slf"}, "--adapt: lattices are searched by models that stay as they are"),
    ],
)
def test_what_does_not_go_with_adaptation_is_refused(
    run: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    (tmp_path / "lists").write_text("VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a a=-1\n")
    with pytest.raises(ConfigError, match=message):
        charlm.score(tmp_path / "lists", model=run, adapt="cache", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"adapt_rates": "rate=1"},
            "--adapt-rates: found no --model; expected a run's probabilities",
        ),
        ({"recordings": "^(.*)-"}, "--recordings .*: each list is on its own; expected --context"),
    ],
)
def test_options_of_what_is_remembered_are_refused_where_nothing_is(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    (tmp_path / "lists").write_text("u-1\t-1\ta\nu-1\t-2\tb\n")
    said = {"format": "tsv", "columns": "id,am,text", "weight": ["am=1"]}
    with pytest.raises(ConfigError, match=message):
        charlm.score(tmp_path / "lists", **said, **options)
