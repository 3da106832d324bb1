"""The calls that ESPnet's beam searches make, by a small search, and by ESPnet's if installed."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from charlm.decoders import EspnetScorer, StatefulModel
from charlm.errors import ConfigError

Load = Callable[[str], StatefulModel]
LogProb = Callable[[StatefulModel, list[str]], float]

KINDS = ("run", "spelling run", "n-gram model", "spelling n-gram model", "mixture")
TOKENS = ["<blank>", "<unk>", "b", "ab", "zz", "a", "<sos/eos>"]
EOS = len(TOKENS) - 1
X = torch.zeros(4, 3)  # frames


def all_sentences(scorer: EspnetScorer, *, longest: int) -> dict[tuple[int, ...], float]:
    """What a search with no limit adds up for every hypothesis, token by token."""
    ended: dict[tuple[int, ...], float] = {}
    hypotheses, totals = [[EOS]], [0.0]
    states: list[Any] = [scorer.batch_init_state(X)]
    for _ in range(longest + 1):
        xs = X.expand(len(hypotheses), *X.shape)
        scores, states = scorer.batch_score(torch.tensor(hypotheses), states, xs)
        table = (torch.tensor(totals)[:, None] + scores).tolist()
        ended |= {tuple(ids[1:]): table[k][EOS] for k, ids in enumerate(hypotheses)}
        longer = list(product(range(len(hypotheses)), range(2, EOS)))
        totals = [table[k][token] for k, token in longer]
        states = [scorer.select_state(states, k) for k, _ in longer]
        hypotheses = [[*hypotheses[k], token] for k, token in longer]
    return ended


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_search_adds_up_is_the_score_of_the_sentence(
    load: Load, kind: str, log_prob: LogProb
) -> None:
    model = load(kind)
    found = all_sentences(EspnetScorer(model, tokens=TOKENS), longest=3)
    assert len(found) == 1 + 4 + 4**2 + 4**3
    for ids, total in found.items():
        assert total == pytest.approx(log_prob(model, [TOKENS[k] for k in ids]), abs=1e-4)


def test_one_hypothesis_alone_is_scored_as_in_a_batch(load: Load) -> None:
    scorer = EspnetScorer(load("run"), tokens=TOKENS)
    scores, states = scorer.batch_score(torch.tensor([[EOS]]), [None], X[None])
    alone, state = scorer.score(torch.tensor([EOS]), scorer.init_state(X), X)
    assert alone.tolist() == scores[0].tolist()
    ys = torch.tensor([[EOS, 5], [EOS, 2]])
    scores, _ = scorer.batch_score(ys, [states[0]] * 2, X.expand(2, *X.shape))
    for row, y in zip(scores, ys, strict=True):
        assert scorer.score(y, state, X)[0].tolist() == pytest.approx(row.tolist(), abs=1e-6)
    assert scorer.final_score(state) == 0.0


def test_the_model_is_called_once_for_a_batch(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    model, sizes = load("run"), list[int]()
    scorer = EspnetScorer(model, tokens=TOKENS)
    _, states = scorer.batch_score(torch.tensor([[EOS]]), [None], X[None])
    step = model.step
    monkeypatch.setattr(model, "step", lambda *given: sizes.append(len(given[1])) or step(*given))
    scorer.batch_score(torch.tensor([[EOS, k] for k in (2, 3, 5)]), states * 3, X)
    assert sizes == [3]


def test_hypotheses_of_several_lengths_go_together(load: Load) -> None:
    scorer = EspnetScorer(load("run"), tokens=TOKENS)
    one, start = scorer.score(torch.tensor([EOS]), None, X)
    two, after_a = scorer.score(torch.tensor([EOS, 5]), start, X)
    three, _ = scorer.score(torch.tensor([EOS, 5, 2]), after_a, X)
    padded = torch.tensor([[EOS, EOS, 2], [EOS, EOS, EOS], [EOS, EOS, 5]])  # the last tokens count
    scores, _ = scorer.batch_score(padded, [after_a, None, start], X)
    for row, alone in zip(scores, (three, one, two), strict=True):
        assert row.tolist() == pytest.approx(alone.tolist(), abs=1e-6)


def test_frames_without_a_token_and_the_marks_of_sentences_have_no_probability(load: Load) -> None:
    tokens = ["<blank>", "<s>", "<unk>", "a", "b", "</s>"]
    scorer = EspnetScorer(load("run"), tokens=tokens, eos="</s>")
    scores, state = scorer.score(torch.tensor([1]), None, X)
    assert [math.isfinite(score) for score in scores.tolist()] == [False, False, True] + [True] * 3
    later, _ = scorer.score(torch.tensor([1, 0]), state, X)  # fills a beam that is too wide
    assert math.isfinite(later[3])


def test_tokens_that_are_not_the_models_are_refused(load: Load) -> None:
    pieces = ["<blank>", "<unk>", "▁a", "▁b", "a", "▁c", "▁h", "@", "<sos/eos>"]
    with pytest.raises(
        ConfigError,
        match="^tokens: the model does not know 5 of 9, '▁a' among them; expected a model that is "
        "trained on text cut into these tokens$",
    ):
        EspnetScorer(load("run"), tokens=pieces)
    with pytest.raises(ConfigError, match="^eos: found '<sos/eos>', which is not among the tokens"):
        EspnetScorer(load("run"), tokens=["<blank>", "<unk>", "a", "<eos>"])


class Decoder:
    """A recogniser's decoder, to which each position's tokens are given."""

    def __init__(self, log_probs_TL: Tensor) -> None:
        self.log_probs_TL = log_probs_TL

    def score(self, y: Tensor, state: None, x: Tensor) -> tuple[Tensor, None]:
        return self.log_probs_TL[len(y) - 1], None

    def batch_score(self, ys: Tensor, states: list[None], xs: Tensor) -> tuple[Tensor, list[None]]:
        return self.log_probs_TL[ys.shape[1] - 1].expand(len(ys), -1), states


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("search", ["BatchBeamSearch", "BeamSearch"])
def test_espnets_totals_are_the_decoders_scores_and_the_models(
    load: Load, kind: str, search: str, log_prob: LogProb
) -> None:
    interface: Any = pytest.importorskip("espnet.nets.scorer_interface")
    beam: Any = pytest.importorskip("espnet.nets.batch_beam_search")
    generator = torch.Generator().manual_seed(1)
    log_probs = torch.randn(9, len(TOKENS), generator=generator).log_softmax(-1)
    model = load(kind)
    decoder = type("Decoder", (Decoder, interface.BatchScorerInterface), {})(log_probs)
    scorers = {"decoder": decoder, "lm": EspnetScorer(model, tokens=TOKENS)}
    found = getattr(beam, search)(
        scorers, {"decoder": 1.0, "lm": 0.7}, 7, len(TOKENS), EOS, EOS, token_list=TOKENS
    )(torch.zeros(8, 3), maxlenratio=1.0)
    whole = [each for each in found if len(each.yseq) < 10]  # else the end is forced, unscored
    assert len(whole) > 5
    for each in whole:
        ids = each.yseq.tolist()[1:]
        expected = log_prob(model, [TOKENS[k] for k in ids[:-1]])
        assert float(each.scores["lm"]) == pytest.approx(expected, abs=1e-4)
        total = sum(float(log_probs[place, k]) for place, k in enumerate(ids)) + 0.7 * expected
        assert float(each.score) == pytest.approx(total, abs=1e-4)
