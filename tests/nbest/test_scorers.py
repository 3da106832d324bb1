"""N-gram models, mixtures and a user's own function as scorers."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from charlm.errors import DataError
from charlm.nbest.scorer import Words
from charlm.nbest.scorers import FunctionScorer, MixedScorer, NgramScorer, SameWords
from charlm.ngram.estimation import estimate
from charlm.ngram.word_ids import WordIds, encode

TEXT = [["a", "b", "a"], ["b", "a"], ["a"], ["b", "b", "a", "a"]]


def uniform(sentences: Sequence[Words]) -> list[list[float]]:
    return [[math.log(0.25)] * (len(words) + 1) for words in sentences]


def kneser_ney() -> NgramScorer:
    word_ids = WordIds()
    ids = encode(TEXT, word_ids)
    return NgramScorer(estimate(ids, words=word_ids.words, order=2).model)


def test_an_ngram_scorers_numbers_are_the_models_in_nats() -> None:
    scorer = kneser_ney()
    first, second = scorer.score([["a", "new"], []])
    expected = scorer.model.score([["a", "new"], []]).log10_probs * math.log(10)
    np.testing.assert_allclose([*first.log_probs, *second.log_probs], expected)
    assert first.known.tolist() == [True, False]
    assert len(second.known) == 0


def test_a_token_without_probability_gets_that_of_a_back_off_file() -> None:
    class Nothing:
        def score(self, sentences: list[list[str]]) -> object:
            scores = kneser_ney().model.score(sentences)
            scores.log10_probs[0] = -np.inf
            return scores

    scorer = NgramScorer(Nothing())  # type: ignore[arg-type]
    (score,) = scorer.score([["a"]])
    assert score.log_probs[0] == pytest.approx(-99 * math.log(10))


def test_a_mixture_is_the_weighted_mean_of_probabilities() -> None:
    kn = kneser_ney()
    mixture = MixedScorer([FunctionScorer(uniform), kn], [0.3, 0.7], name="nn")
    sentence = ["a", "b"]
    (mixed,) = mixture.score([sentence])
    own = np.exp(kn.score([sentence])[0].log_probs)
    np.testing.assert_allclose(np.exp(mixed.log_probs), 0.3 * 0.25 + 0.7 * own)


def test_a_weight_of_nothing_leaves_its_scorer_unasked() -> None:
    def failing(sentences: Sequence[Words]) -> list[list[float]]:
        raise AssertionError

    mixture = MixedScorer([FunctionScorer(failing), kneser_ney()], [0.0, 1.0], name="nn")
    (mixed,) = mixture.score([["a"]])
    np.testing.assert_allclose(mixed.log_probs, kneser_ney().score([["a"]])[0].log_probs)


def test_a_mixture_remembers_what_each_of_its_scorers_does() -> None:
    class Counting(FunctionScorer):
        def remember(self, sentence: Words, *, memory: object = None) -> object:
            return (memory if isinstance(memory, int) else 0) + len(sentence)

    guarded = SameWords(Counting(uniform), {"a", "b"}.__contains__, other="nn")
    scorers = [Counting(uniform), kneser_ney(), guarded]
    mixture = MixedScorer(scorers, [0.5, 0.25, 0.25], name="nn")
    memory = mixture.remember(["a", "b"])
    assert mixture.remember(["a"], memory=memory) == (3, None, 3)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([], "scorer 'own': 0 answers to 1 sentences; expected one each"),
        ([[1.0]], "expected 2 numbers, the last of its end"),
        ([[math.nan, -1.0]], "expected 2 numbers, the last of its end, and none NaN or above 0"),
        ([[2.0, 3.0]], "none NaN or above 0; ln P is the negated loss"),
    ],
)
def test_a_function_must_answer_with_a_number_a_word(
    answer: list[list[float]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        FunctionScorer(lambda _: answer).score([["a"]])


@pytest.mark.parametrize("answer", [None, "ab", {"a": 1.0}, [None], [["x", "y"]], [[0.0, [1.0]]]])
def test_a_function_that_gives_no_numbers_is_one_line(answer: object) -> None:
    scorer = FunctionScorer(lambda sentences: answer)  # type: ignore[arg-type,return-value]
    with pytest.raises(DataError, match="scorer 'own': .*expected"):
        scorer.score([["a"]])


def test_a_function_of_torch_is_called_without_gradients() -> None:
    weights = torch.zeros(2, requires_grad=True)

    def answer(sentences: object) -> list[Tensor]:
        return [weights - 1]

    (found,) = FunctionScorer(answer).score([["a"]])
    assert found.log_probs.tolist() == [-1, -1]


@pytest.mark.parametrize("kind", [torch.clone, list])
def test_a_tensor_with_a_gradient_is_one_line(kind: Callable[[Tensor], Any]) -> None:
    answer = kind(torch.zeros(2, requires_grad=True))
    with pytest.raises(DataError, match="for a sentence of 1 words; expected 2 numbers"):
        FunctionScorer(lambda _: [answer]).score([["a"]])
