"""The speller, a distribution over all spellings, against a slow loop over characters."""

import itertools
import math

import numpy as np
import pytest
import torch

from charlm.model import speller as module
from charlm.model.speller import ESCAPE, MARK, N_SPECIAL, Speller
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.train_speller import train_speller

INVENTORY = Inventory(("</s>", "<unk>", "ab"), (3, 1, 2), ("a", "b"))
N_OTHERS = 1_112_064 - 2  # Unicode's scalar values without a and b
UNKNOWN = "é"


@pytest.fixture(params=["untrained", "trained"])
def speller(request: pytest.FixtureRequest) -> Speller:
    if request.param == "trained":
        words = ["aab", "abab", "ba", "b", "aé", "bb", "baba", "abba", "aaa", "bab"]
        return train_speller(words, INVENTORY, seed=1)[0]
    torch.manual_seed(3)
    return Speller(INVENTORY, dim=3, hidden_dim=5)


def next_probs(speller: Speller, prefix: str) -> list[float]:
    """P(symbol | prefix) by one step a letter, the start first; at the start no end."""
    letters = {"a": N_SPECIAL, "b": N_SPECIAL + 1}
    state = None
    with torch.no_grad():
        for symbol in [MARK, *(letters.get(c, ESCAPE) for c in prefix)]:
            h, state = speller.reader(speller.letters(torch.tensor([[symbol]])), state)
        scores = speller.next(h)[0, 0].double().tolist()
    weights = [math.exp(score) for score in scores]
    if not prefix:
        weights[MARK] = 0.0
    return [weight / sum(weights) for weight in weights]


def slow_log_prob(speller: Speller, word: str) -> float:
    total = 0.0
    for place, letter in enumerate([*word, ""]):
        probs = next_probs(speller, word[:place])
        if letter == "":
            total += math.log(probs[MARK]) if probs[MARK] else -math.inf
        elif letter in "ab":
            total += math.log(probs[N_SPECIAL + "ab".index(letter)])
        else:
            total += math.log(probs[ESCAPE] / N_OTHERS)
    return total


def test_the_sum_over_all_spellings_is_1(speller: Speller) -> None:
    longest = 4
    words = ["".join(w) for n in range(longest + 1) for w in itertools.product("abé", repeat=n)]
    # é stands for every character but a and b: a word with k of them counts for N_OTHERS ** k.
    ways = torch.tensor([float(N_OTHERS) ** word.count(UNKNOWN) for word in words]).double()
    shorter = float((speller.log_probs(words).exp() * ways).sum())
    longer = 0.0  # the probability of spellings longer than `longest` characters
    for word in itertools.product("abé", repeat=longest):
        going_on = 1.0
        for place, letter in enumerate(word):
            symbol = ESCAPE if letter == UNKNOWN else N_SPECIAL + "ab".index(letter)
            going_on *= next_probs(speller, "".join(word[:place]))[symbol]
        longer += going_on * (1 - next_probs(speller, "".join(word))[MARK])
    assert shorter + longer == pytest.approx(1, abs=1e-6)
    assert 0 < longer < 1


def test_the_empty_word_has_probability_0(speller: Speller) -> None:
    assert speller.log_probs(["", "a"])[0] == -math.inf


def test_batches_agree_with_a_loop_over_characters(speller: Speller) -> None:
    words = ["abba", "b", "aéé", "日本", "ab" * 40, "a"]
    expected = [slow_log_prob(speller, word) for word in words]
    assert speller.log_probs(words).tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("name", "value"), [("STEPS_AT_ONCE", 1), ("SYMBOLS_AT_ONCE", 4)])
def test_a_spelling_depends_neither_on_chunks_nor_on_its_batch(
    speller: Speller, name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["abba", "b", "aéa", "bababab"]
    expected = speller.log_probs(words).tolist()
    monkeypatch.setattr(module, name, value)
    assert speller.log_probs(words).tolist() == pytest.approx(expected, abs=1e-5)
    assert speller.log_probs(words[::-1]).tolist()[::-1] == pytest.approx(expected, abs=1e-5)


def test_a_word_longer_than_the_vocabulary_reads_is_spelled_to_its_end(speller: Speller) -> None:
    cut = INVENTORY.max_word_length
    first, second = speller.log_probs(["a" * cut + "a", "a" * cut + "b"]).tolist()
    assert first != second


def test_a_beginning_has_the_probability_of_all_words_that_begin_so(speller: Speller) -> None:
    begun = speller.log_probs(["", "a", "ab"], are_whole=False).exp().tolist()
    first, second = next_probs(speller, ""), next_probs(speller, "a")
    a, b = (speller.symbols[letter] for letter in "ab")
    assert begun == pytest.approx([1.0, first[a], first[a] * second[b]], abs=1e-6)


def test_no_spelling_has_no_probability(speller: Speller) -> None:
    assert speller.log_probs([]).tolist() == []


def test_words_are_drawn_as_often_as_they_are_probable(speller: Speller) -> None:
    generator = np.random.default_rng(4)
    drawn = [speller.draw(generator) for _ in range(400)]
    without_escape = 1 - next_probs(speller, "")[ESCAPE]
    share = next_probs(speller, "")[N_SPECIAL] / without_escape
    found = sum(word.startswith("a") for word in drawn) / len(drawn)
    assert found == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / len(drawn)))
    assert all(drawn)
    assert set("".join(drawn)) <= {"a", "b"}
