"""Unknown words in lattices have the probability that they have in lists, whatever the model."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError
from charlm.model.speller import Speller
from charlm.nbest.lattices.histories import END_WORD, History, LogProbs, Request
from charlm.nbest.scorer import SentenceScore, Words
from charlm.run.speller import RunSpeller
from charlm.scoring.lattice_lists import SpelledHistories
from charlm.scoring.open_scorer import OpenScorer
from charlm.scoring.open_vocabulary import OpenVocabulary
from charlm.text.inventory import Inventory

INVENTORY = Inventory(("</s>", "<unk>", "a", "bb"), (1,) * 4, ("a", "b"))
TEXT = ["a", "ab", "<unk>", "<unk>:b", "<unk>:<unk>", "bb", "own"]


class Halves:
    """Every word and end has probability 1/2; it knows `own`, too, and may lack `bb`."""

    name = "kn"

    def __init__(self, *known: str) -> None:
        self.known = known

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[SentenceScore]:
        return [
            SentenceScore(
                np.full(len(words) + 1, np.log(0.5)),
                np.array([word in self.known for word in words], np.bool_),
            )
            for words in sentences
        ]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return None

    def log_probs(self, requests: Sequence[Request]) -> LogProbs:
        return np.full(len(requests), np.log(0.5))

    def keep(self, histories: Iterable[History]) -> None:
        pass


@pytest.fixture
def vocabulary() -> OpenVocabulary:
    torch.manual_seed(4)
    speller = Speller(INVENTORY, dim=3, hidden_dim=4)
    return OpenVocabulary(RunSpeller(speller, 0.25, 1.0, "x"), INVENTORY)


def of_lattice(model: Halves, vocabulary: OpenVocabulary, words: Sequence[str]) -> LogProbs:
    histories = SpelledHistories(
        model, vocabulary, is_known=model.known.__contains__, name=model.name
    )
    return histories.log_probs([(History(), word) for word in words])


def test_a_word_has_the_probability_that_it_has_in_a_list(vocabulary: OpenVocabulary) -> None:
    model = Halves("a", "bb", "own")
    (expected,) = OpenScorer(model, vocabulary).score([TEXT])
    assert of_lattice(model, vocabulary, [*TEXT, END_WORD]) == pytest.approx(expected.log_probs)
    # What the model knows and the run does not is predicted, and not spelled once more.
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
