"""Unknown words with probabilities of their own, for all scorers, in lists and in lattices."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.speller import Speller
from charlm.nbest.lattices.histories import History, Request
from charlm.nbest.scorer import WordLogProbs, Words
from charlm.nbest.scorers import LogProbs
from charlm.run.stored_speller import RunSpeller
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.scoring.rescoring.lattices import SpelledHistories
from charlm.scoring.rescoring.scorers.open_scorer import OpenScorer
from charlm.text.corpus.tokens import END_WORD
from charlm.text.vocabulary.vocabulary import Inventory

INVENTORY = Inventory(("</s>", "<unk>", "a", "bb"), (1,) * 4, ("a", "b"))


class Halves:
    """Every word and end has probability 1/2; it knows some words."""

    name = "kn"

    def __init__(self, *known: str) -> None:
        self.known = known

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        return [
            WordLogProbs(
                np.full(len(words) + 1, np.log(0.5)),
                np.array([w in self.known for w in words], np.bool_),
            )
            for words in sentences
        ]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return ("remembered", memory)

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        return np.full(len(requests), np.log(0.5))

    def keep(self, histories: Iterable[History]) -> None:
        pass


@pytest.fixture
def vocabulary() -> OpenVocabulary:
    torch.manual_seed(4)
    speller = Speller(INVENTORY, dim=3, hidden_dim=4)
    return OpenVocabulary(RunSpeller(speller, 0.25, "x"), INVENTORY)


def test_unknown_words_get_their_spelling_and_others_nothing(vocabulary: OpenVocabulary) -> None:
    scorer = OpenScorer(Halves("a", "bb"), vocabulary)
    text = ["a", "ab", "<unk>", "<unk>:b", "<unk>:<unk>"]
    ((log_probs, known), empty) = scorer.score([text, []])
    ab, b = vocabulary.log_probs(["ab", "b"])
    expected = np.log(0.5) + np.array([0.0, ab, 0.0, b, 0.0, 0.0])
    assert log_probs == pytest.approx(expected)
    assert known.tolist() == [True, False, False, False, False]
    assert empty.log_prob == pytest.approx(np.log(0.5))


def test_what_a_scorer_keeps_stays_its_own(vocabulary: OpenVocabulary) -> None:
    kept = Halves("a", "bb").score([["ab"]])[0]

    class Keeping(Halves):
        def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
            return [kept] * len(sentences)

    first, second = OpenScorer(Keeping(), vocabulary).score([["ab"], ["ab"]])
    (ab,) = vocabulary.log_probs(["ab"])
    expected = np.log(0.5) + np.array([ab, 0.0])
    assert first.log_probs == pytest.approx(expected)
    assert second.log_probs == pytest.approx(expected)
    assert kept.log_probs == pytest.approx(np.log(0.5))


def test_probabilities_of_spellings_within_unk_sum_to_at_most_one(
    vocabulary: OpenVocabulary,
) -> None:
    speller_mass = np.exp(vocabulary.speller.log_probs(["a", "bb"]).double().numpy()).sum()
    true = OpenVocabulary(RunSpeller(vocabulary.speller, float(speller_mass), "x"), INVENTORY)
    scorer = OpenScorer(Halves("a", "bb"), true)
    words = [w for n in range(1, 9) for w in strings(n) if w not in ("a", "bb")]
    total = sum(
        np.exp(score.log_probs[0] - np.log(0.5)) for score in scorer.score([[w] for w in words])
    )
    assert 0.2 < total < 1  # the rest belongs to longer words and unknown characters


def strings(n: int) -> list[str]:
    return [""] if n == 0 else [letter + rest for letter in "ab" for rest in strings(n - 1)]


def test_a_scorer_of_other_words_is_refused(vocabulary: OpenVocabulary) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenScorer(Halves("a"), vocabulary).score([["a", "bb"]])
    assert str(caught.value) == (
        "kn: does not know 'bb', a word of the run's vocabulary; --open-vocabulary expects the "
        "same words of all models; estimate it with --vocab RUN"
    )


def test_it_goes_by_the_scorers_name_and_memory(vocabulary: OpenVocabulary) -> None:
    scorer = OpenScorer(Halves("a"), vocabulary)
    assert scorer.name == "kn"
    assert scorer.remember(["a"], memory=1) == ("remembered", 1)


def test_a_known_word_that_is_spelled_as_unk_is_called_so(vocabulary: OpenVocabulary) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenScorer(Halves("a", "bb"), vocabulary).score([["<unk>:bb"]])
    assert str(caught.value) == (
        "kn: found '<unk>:bb', and the run's vocabulary has 'bb'; expected "
        "<unk>:form of words outside it; write the word alone"
    )


def of_lattice(model: Halves, vocabulary: OpenVocabulary, words: Sequence[str]) -> LogProbs:
    histories = SpelledHistories(
        model, vocabulary, is_known=model.known.__contains__, name=model.name
    )
    return histories.log_probs([(History(), word) for word in words])


def test_a_word_of_a_lattice_has_the_probability_that_it_has_in_a_list(
    vocabulary: OpenVocabulary,
) -> None:
    text = ["a", "ab", "<unk>", "<unk>:b", "<unk>:<unk>", "bb", "own"]
    model = Halves("a", "bb", "own")
    (expected,) = OpenScorer(model, vocabulary).score([text])
    assert of_lattice(model, vocabulary, [*text, END_WORD]) == pytest.approx(expected.log_probs)
    # A word that the model knows and the run does not is predicted, and not spelled as well.
    assert of_lattice(model, vocabulary, ["own"]) == pytest.approx(np.log(0.5))


@pytest.mark.parametrize("word", ["bb", "<unk>:bb"])
def test_what_a_list_is_refused_for_a_lattice_is_refused_for(
    vocabulary: OpenVocabulary, word: str
) -> None:
    model = Halves("a")
    with pytest.raises(ConfigError) as of_list:
        OpenScorer(model, vocabulary).score([[word]])
    with pytest.raises(ConfigError) as caught:
        of_lattice(model, vocabulary, [word])
    assert str(caught.value) == str(of_list.value)
