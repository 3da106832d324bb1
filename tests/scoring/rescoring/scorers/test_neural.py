"""Scores through the tree against sentences scored on their own, one after another."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from charlm.model.build import build_model
from charlm.model.language_model import LanguageModel
from charlm.scoring.likelihood import walker
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.nll import FormVectors, continued_nll
from charlm.scoring.likelihood.prefix_tree import PrefixTree
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.scorers import neural
from charlm.scoring.rescoring.scorers.neural import NeuralScorer
from charlm.text.corpus.tokens import END
from charlm.text.vocabulary.encoding import Ids
from charlm.text.vocabulary.vocabulary import Inventory, inventory_of

LETTERS = "abcdefgh"
TRAIN = [list(LETTERS), ["<unk>"]]
OUTPUTS = ["softmax", "hierarchical", "mixture", "composed"]
CONTEXTS = ["lstm", "gru", "ffnn", "log-bilinear", "deep-transition"]


def built(inventory: Inventory, *, output: str = "softmax", context: str = "lstm") -> LanguageModel:
    torch.manual_seed(3)
    settings = {
        "encoder": {"type": "char-cnn", "dim": 4, "widths": [1, 3], "filters": [5, 6]},
        "context": {"type": context, "dim": 9},
        "output": {"type": output},
    }
    if output == "composed":
        settings["context"]["dim"] = 11
    if context == "log-bilinear":
        del settings["context"]["dim"]
    model, _ = build_model(settings, inventory)
    for parameter in model.parameters():
        torch.nn.init.uniform_(parameter, -1.0, 1.0)
    return model.eval()


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return inventory_of(TRAIN, min_char_count=1)


def scorer_of(model: LanguageModel, inventory: Inventory, **options: int) -> NeuralScorer:
    cache = FormCache(model, inventory, oov_input="spelling")
    return NeuralScorer(Walker(cache), **options)


def drawn_sentences(n: int, *, longest: int) -> list[list[str]]:
    """Alike at their beginnings, with words that the vocabulary lacks, and an empty one."""
    draw = np.random.default_rng(1)
    words = [*LETTERS, "ab", "zz"]
    stem = [words[i] for i in draw.integers(0, len(words), longest)]
    sentences: list[list[str]] = [[], stem]
    while len(sentences) < n:
        cut = int(draw.integers(0, longest))
        tail = draw.integers(0, len(words), draw.integers(0, longest - cut + 1))
        sentences.append([*stem[:cut], *(words[i] for i in tail)])
    return sentences


def alone(model: LanguageModel, inventory: Inventory, text: list[list[str]]) -> list[np.ndarray]:
    """Log-probabilities of sentences that follow each other, state carried, of the last alone."""
    vectors = FormVectors(model, inventory, oov_input="spelling")
    cache = FormCache(model, inventory)
    state = model.context.initial_state(1)
    results = []
    for words in text:
        ids = np.append(cache.ids(words), END).astype(np.int32)
        spellings = cache.form_ids.spellings
        nll, state = continued_nll(vectors, ids, spellings=spellings, state=state)
        results.append(-nll.astype(np.float64))
    return results


@pytest.mark.parametrize(
    "parts", [*({"output": name} for name in OUTPUTS), *({"context": name} for name in CONTEXTS)]
)
def test_scores_are_those_of_a_sentence_alone(inventory: Inventory, parts: dict[str, str]) -> None:
    model = built(inventory, **parts)
    sentences = drawn_sentences(30, longest=12)
    for words, score in zip(sentences, scorer_of(model, inventory).score(sentences), strict=True):
        (expected,) = alone(model, inventory, [words])
        np.testing.assert_allclose(score.log_probs, expected, rtol=0, atol=2e-5)


def test_a_score_depends_on_neither_batch_nor_order_nor_list(inventory: Inventory) -> None:
    model = built(inventory)
    sentences = drawn_sentences(30, longest=100)  # lengths 0 to 100
    together = [each.log_prob for each in scorer_of(model, inventory).score(sentences)]
    apart = [each.log_prob for each in scorer_of(model, inventory, at_once=7).score(sentences)]
    backwards = [each.log_prob for each in scorer_of(model, inventory).score(sentences[::-1])]
    single = [scorer_of(model, inventory).score([each])[0].log_prob for each in sentences]
    for other in (apart, backwards[::-1], single):
        np.testing.assert_allclose(other, together, rtol=0, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 5, 60])
def test_a_score_does_not_depend_on_how_many_states_share_a_softmax(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    model = built(inventory)
    sentences = drawn_sentences(40, longest=20)
    together = scorer_of(model, inventory).score(sentences)
    monkeypatch.setattr(neural, "ROWS_AT_ONCE", rows)
    monkeypatch.setitem(walker.SCORES_AT_ONCE, "cpu", 3 * inventory.n_words)
    for one, other in zip(scorer_of(model, inventory).score(sentences), together, strict=True):
        np.testing.assert_allclose(one.log_probs, other.log_probs, rtol=0, atol=1e-5)


def test_one_endless_line_does_not_stretch_thousands_beside_it(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = built(inventory)
    sentences = [["a"]] * 20 + [["b"] * 50] + [["c"]] * 20
    together = scorer_of(model, inventory).score(sentences)
    places: list[int] = []

    class Measured(PrefixTree):
        def __init__(self, sentences: Sequence[Ids]) -> None:
            places.append(len(sentences) * (1 + max(map(len, sentences))))
            super().__init__(sentences)

    monkeypatch.setattr(neural, "PrefixTree", Measured)
    monkeypatch.setattr(neural, "PLACES_AT_ONCE", 100)
    scores = scorer_of(model, inventory).score(sentences)
    assert places == [40, 51, 40]  # one tree for all would have 41 · 51
    for one, other in zip(scores, together, strict=True):
        np.testing.assert_allclose(one.log_probs, other.log_probs, rtol=0, atol=1e-5)


def test_known_words_are_those_of_the_vocabulary(inventory: Inventory) -> None:
    (score,) = scorer_of(built(inventory), inventory).score([["a", "zz", "<unk>", "h"]])
    assert score.known.tolist() == [True, False, False, True]


def test_what_is_remembered_is_the_state_behind_the_sentences_before(inventory: Inventory) -> None:
    model = built(inventory)
    scorer = scorer_of(model, inventory)
    text = [["a", "zz", "c"], [], ["b", "d"]]
    memory = None
    for words in text[:-1]:
        memory = scorer.remember(words, memory=memory)
    (score,) = scorer.score(text[-1:], memory=memory)
    np.testing.assert_allclose(score.log_probs, alone(model, inventory, text)[-1], atol=2e-5)
    (fresh,) = scorer.score(text[-1:])
    assert abs(fresh.log_prob - score.log_prob) > 1e-3


def test_the_softmax_is_computed_once_a_prefix(
    inventory: Inventory, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = built(inventory)
    asked = 0
    log_z = model.output.log_z

    def counted(h_NH: torch.Tensor) -> torch.Tensor:
        nonlocal asked
        asked += len(h_NH)
        return log_z(h_NH)

    monkeypatch.setattr(model.output, "log_z", counted)
    scorer = scorer_of(model, inventory)
    scorer.score([["a", "b"], ["a", "b"], ["a", "c"], ["a"]])
    assert asked == scorer.n_prefixes == 4
    assert scorer.n_tokens == 11


def test_unnormalised_scores_are_the_outputs_own(inventory: Inventory) -> None:
    model = built(inventory)
    cache = FormCache(model, inventory)
    walker = Walker(cache, unnormalised=True)
    (score,) = NeuralScorer(walker).score([["a"]])
    begun = walker.begin()
    word = torch.tensor([inventory.word_ids["a"]])
    with torch.no_grad():
        expected = model.output.word_scores(begun.h_NH, word)
    assert score.log_probs[0] == pytest.approx(expected.item())
