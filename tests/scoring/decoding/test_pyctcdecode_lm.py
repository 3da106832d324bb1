"""The calls that pyctcdecode would make, made by hand: it need not be installed."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from charlm.decoders import PyctcdecodeLM, StatefulModel
from charlm.scoring.decoding import prefixes

Load = Callable[[str], StatefulModel]


def test_a_word_is_worth_alpha_times_its_log_probability_and_beta(load: Load) -> None:
    model = load("run")
    lm = PyctcdecodeLM(model, alpha=0.7, beta=0.3)
    start = lm.get_start_state()
    step = model.step(model.start(), ["a"])
    score, state = lm.score(start, "a")
    assert score == pytest.approx(0.7 * step.log_probs[0] + 0.3)
    score, _ = lm.score(state, "b", is_last_word=True)
    last = model.step(step.state, ["b"])
    assert score == pytest.approx(0.7 * (last.log_probs[0] + model.finish(last.state)[0]) + 0.3)


def test_after_a_blank_at_the_end_the_last_word_is_none(load: Load) -> None:
    model = load("run")
    lm = PyctcdecodeLM(model, alpha=0.7, beta=0.3)
    end = 0.7 * model.finish(model.start())[0]
    assert lm.score(lm.get_start_state(), "", is_last_word=True)[0] == pytest.approx(end)
    lm.reset_params(score_boundary=False)
    assert lm.score(lm.get_start_state(), "", is_last_word=True)[0] == 0.0


def test_unknown_words_cost_an_offset_or_their_spelling(load: Load) -> None:
    for kind in ("run", "spelling run"):
        model = load(kind)
        lm = PyctcdecodeLM(model, alpha=1.0, beta=0.0, unk_score_offset=-2.0)
        expected = model.step(model.start(), ["zz"]).log_probs[0]
        expected += -2.0 * math.log(10) if kind == "run" else 0.0
        assert lm.score(lm.get_start_state(), "zz")[0] == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_an_offset_of_minus_infinity_forbids_unknown_words(load: Load, alpha: float) -> None:
    lm = PyctcdecodeLM(load("run"), alpha=alpha, unk_score_offset=-math.inf)
    assert lm.score(lm.get_start_state(), "zz")[0] == -math.inf
    assert math.isfinite(lm.score(lm.get_start_state(), "a")[0])


def test_letters_that_words_begin_with_cost_nothing(load: Load) -> None:
    lm = PyctcdecodeLM(load("run"), unk_score_offset=-2.0)
    assert [lm.score_partial_token(each) for each in ("a", "zz", "z" * 12)] == [0.0, -2.0, -4.0]
    spelling = PyctcdecodeLM(load("spelling run"), alpha=0.5)
    assert spelling.score_partial_token("a") == 0.0
    model = spelling.model
    assert model.speller is not None
    whole = model.speller.log_probs(["zz"])[0]
    assert 0.5 * whole < spelling.score_partial_token("zz") < 0.0


@pytest.mark.parametrize("kind", ["run", "spelling run"])
def test_of_endlessly_many_letters_not_all_are_remembered(
    load: Load, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefixes, "MOST_REMEMBERED", 3)
    found = PyctcdecodeLM(load(kind))
    expected = found.score_partial_token("q")
    for number in range(20):
        found.score_partial_token(f"q{number}")
        sums = found._prefixes
        assert max(len(sums._ranges), len(sums._shares)) <= 4
    assert found.score_partial_token("q") == expected


def test_no_history_may_be_cut_but_an_n_gram_models(load: Load) -> None:
    assert PyctcdecodeLM(load("n-gram model")).order == 3
    assert PyctcdecodeLM(load("run")).order > 10**5


def test_settings_change_as_the_decoder_changes_them(load: Load) -> None:
    lm = PyctcdecodeLM(load("run"))
    lm.reset_params(alpha=0.1, beta=2, unk_score_offset=None)
    assert (lm.alpha, lm.beta, lm.unk_score_offset) == (0.1, 2.0, -10.0)
    lm.reset_params(alpha=np.float32(0.5), beta=np.int64(3))  # from a grid of NumPy's
    assert (lm.alpha, lm.beta) == (0.5, 3.0)


def test_a_model_without_states_is_refused() -> None:
    with pytest.raises(Exception, match="model: found 'exp/a'; expected"):
        PyctcdecodeLM("exp/a")  # type: ignore[arg-type]
