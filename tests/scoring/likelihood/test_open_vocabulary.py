"""Open vocabularies: P(w | <unk>), and figures of ten-word models that spell other words."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from charlm.errors import ConfigError, DataError
from charlm.model.speller import MARK, N_SPECIAL, Speller
from charlm.ngram.baseline import ngram_baseline
from charlm.run.stored_speller import RunSpeller, empty_speller
from charlm.scoring.evaluation.evaluate import evaluate
from charlm.scoring.likelihood import open_vocabulary
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary, known_mass
from charlm.text.vocabulary.vocabulary import Inventory, load_inventory

TEXT = "a bc\nbc <unk>:hh\n"
N_LETTERS = 8  # a … h, one word each; with </s> and <unk>: ten words
# A speller of zeros is uniform: first over 8 letters and the escape, then with the end as well.
ONE_LETTER = 1 / 9 / 10
TWO_LETTERS = ONE_LETTER / 10
MASS = N_LETTERS * ONE_LETTER


@pytest.fixture
def spelled(uniform: Path, add_speller: Callable[..., Path]) -> Path:
    """The uniform run with a speller of zeros."""
    return add_speller(uniform, fill=torch.nn.init.zeros_)


def random_speller(inventory: Inventory) -> Speller:
    torch.manual_seed(8)
    return Speller(inventory, dim=3, hidden_dim=4)


def test_the_known_words_mass_is_the_sum_over_them_alone() -> None:
    inventory = Inventory(("</s>", "<unk>", "ab", "b", "abba"), (1,) * 5, ("a", "b"))
    speller = random_speller(inventory)
    slow = sum(math.exp(speller.log_probs([word]).item()) for word in ("ab", "b", "abba"))
    assert known_mass(speller, inventory) == pytest.approx(slow, rel=1e-6)


def test_probabilities_of_unknown_words_sum_to_what_the_known_leave() -> None:
    inventory = Inventory(("</s>", "<unk>", "a", "bb"), (1,) * 4, ("a", "b"))
    speller = random_speller(inventory)
    mass = known_mass(speller, inventory)
    vocabulary = OpenVocabulary(RunSpeller(speller, mass, "x"), inventory)
    words = ["ab", "b", "é"]
    expected = [math.log(math.exp(p) / (1 - mass)) for p in speller.log_probs(words).tolist()]
    found = vocabulary.log_probs(["é", "ab", "b", "ab"])
    assert found.dtype == np.float64
    assert found == pytest.approx([expected[i] for i in (2, 0, 1, 0)], abs=1e-5)
    assert vocabulary.log_probs([""])[0] == -math.inf


def test_a_word_is_spelled_once(spelled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = OpenVocabulary.at(spelled)
    expected = vocabulary.log_probs(["bc", "cd"]).tolist()
    monkeypatch.setattr(vocabulary.speller, "log_probs", lambda words: torch.zeros(len(words)))
    assert vocabulary.log_probs(["cd", "bc"]).tolist() == expected[::-1]


def test_of_endlessly_many_words_not_all_are_remembered(
    spelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_vocabulary, "MOST_REMEMBERED", 3)
    vocabulary = OpenVocabulary.at(spelled)
    expected = vocabulary.log_probs(["ab"])
    for number in range(20):
        vocabulary.log_probs([f"a{number}"])
        assert len(vocabulary._cache) <= 4
    assert vocabulary.log_probs(["ab", "ab"]).tolist() == [*expected, *expected]


def test_what_another_thread_forgets_meanwhile_is_answered(
    spelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_vocabulary, "MOST_REMEMBERED", 1)
    vocabulary = OpenVocabulary.at(spelled)
    expected = [float(vocabulary.log_probs([word])[0]) for word in ("ab", "cd")]
    vocabulary, speller = OpenVocabulary.at(spelled), vocabulary.speller

    def interrupted(words: list[str]) -> torch.Tensor:
        monkeypatch.setattr(vocabulary, "speller", speller)
        vocabulary.log_probs(["ef"])
        vocabulary.log_probs(["gh"])  # one more than is remembered
        return speller.log_probs(words)

    vocabulary.log_probs(["ab"])
    monkeypatch.setattr(vocabulary.speller, "log_probs", interrupted)
    assert vocabulary.log_probs(["ab", "cd"]).tolist() == expected


def test_a_known_word_has_its_own_probability(spelled: Path) -> None:
    vocabulary = OpenVocabulary.at(spelled)
    with pytest.raises(ValueError, match="'b' is a word of the vocabulary"):
        vocabulary.log_probs(["bc", "b"])


def test_a_speller_that_knows_known_words_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_vocabulary, "MAX_DRAWS", 10)
    inventory = Inventory(("</s>", "<unk>", "a"), (1,) * 3, ("a",))
    speller, _ = empty_speller({"type": "lstm", "dim": 2, "hidden_dim": 2}, inventory)
    for parameter in speller.parameters():
        torch.nn.init.zeros_(parameter)
    always = torch.full((3,), -100.0)
    always[MARK], always[N_SPECIAL] = 100.0, 50.0  # a, since no word is empty, then the end
    speller.next.bias.data = always
    with pytest.raises(DataError) as caught:
        known_mass(speller, inventory)
    assert str(caught.value) == (
        "the speller gives the known words a probability of 1.000000000, and so nothing to others; "
        "expected less than 1; train it on more words"
    )
    hopeless = OpenVocabulary(RunSpeller(speller, 0.5, "x"), inventory)
    with pytest.raises(DataError) as caught:
        hopeless.spell(np.random.default_rng(1))
    assert str(caught.value) == (
        "the speller spells hardly any word outside the vocabulary; expected one in 10; train it "
        "on more words"
    )


def test_drawn_words_are_new_and_the_same_for_the_same_generator(spelled: Path) -> None:
    vocabulary = OpenVocabulary.at(spelled)
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    words = [vocabulary.spell(first) for _ in range(20)]
    assert set(words).isdisjoint("abcdefgh")
    assert words == [vocabulary.spell(second) for _ in range(20)]


@pytest.mark.parametrize("block", [1 << 16, 1])
def test_open_perplexity_by_hand(
    spelled: Path, text: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("charlm.scoring.evaluation.evaluated_text.BLOCK", block)
    (result,) = evaluate(spelled, files=text, open_vocabulary=True, device="cpu")
    # Six tokens of 1/10 each; bc twice and hh are two letters long.
    spelling = 3 * math.log10(TWO_LETTERS / (1 - MASS))
    for state in ("carried", "sentence"):
        assert result.open_by_state[state].ppl == pytest.approx(10 ** (1 - spelling / 6), rel=1e-5)
        assert result.by_state[state].ppl == pytest.approx(10, rel=1e-5)
    bits = (6 - spelling) * math.log2(10)
    assert result.open_by_state["carried"].bits_per_byte == pytest.approx(bits / 11, rel=1e-5)
    assert result.spelling is not None
    assert (result.spelling.n_words, result.spelling.n_characters) == (3, 9)
    assert "|precision:fp32|open-vocabulary:" in result.signatures["carried"]


def test_without_an_open_vocabulary_nothing_is_spelled(spelled: Path, text: Path) -> None:
    (closed,) = evaluate(spelled, files=text, device="cpu")
    assert closed.spelling is None
    assert "open" not in closed.signatures["carried"]


def test_a_text_with_a_literal_unk_has_closed_figures_alone(spelled: Path, text: Path) -> None:
    text.write_text("a <unk> bc\n")
    (result,) = evaluate(spelled, files=text, open_vocabulary=True, device="cpu")
    assert result.open_obstacle == "unspelled words, <unk> in the text itself: 1"
    assert result.open_by_state == {}
    assert result.by_state["carried"].ppl == pytest.approx(10, rel=1e-5)


def test_an_open_vocabulary_wants_a_speller(uniform: Path, text: Path) -> None:
    with pytest.raises(ConfigError, match=r"the run has no speller; .* `charlm train --resume"):
        evaluate(uniform, files=text, open_vocabulary=True, device="cpu")


def test_kneser_ney_spells_with_the_same_speller(spelled: Path, text: Path, tmp_path: Path) -> None:
    vocabulary = OpenVocabulary.at(spelled)
    train = tmp_path / "train.txt"
    train.write_text("a b c d\nb c <unk> e\nf g h x\n" * 5)
    (result,) = ngram_baseline([text], train=train, order=2, speller=vocabulary).texts
    (neural,) = evaluate(spelled, files=text, open_vocabulary=True, device="cpu")
    assert result.counts == neural.counts
    assert result.spelling == neural.spelling
    closed, opened = result.by_state["sentence"], result.open_by_state["sentence"]
    more = opened.sums.log10_prob - closed.sums.log10_prob
    assert more == pytest.approx(3 * math.log10(TWO_LETTERS / (1 - MASS)), rel=1e-5)
    assert f"|open-vocabulary:{vocabulary.sha256[:12]}|" in result.signatures["sentence"]


def test_kneser_ney_takes_no_other_vocabulary_than_the_spellers(
    spelled: Path, text: Path, tmp_path: Path
) -> None:
    vocabulary = OpenVocabulary.at(spelled)
    other = tmp_path / "other.json"
    Inventory(("</s>", "<unk>", "a"), (1, 1, 1), ("a",)).save(other)
    with pytest.raises(ConfigError) as caught:
        ngram_baseline([text], train=text, vocab=other, speller=vocabulary)
    assert str(caught.value) == (
        f"--vocab {other}: not the vocabulary of the speller's run; expected the same; drop it"
    )
    assert ngram_baseline([text], train=text, vocab=spelled, speller=vocabulary).texts


def test_a_damaged_vocabulary_is_told(uniform: Path, saved_run: Callable[..., Path]) -> None:
    other = saved_run("random")
    inventory = load_inventory(other / "vocab.json")
    replace(inventory, words=(*inventory.words[:-1], "z")).save(uniform / "vocab.json")
    with pytest.raises(DataError, match=r"not the vocabulary that run\.json names"):
        OpenVocabulary.at(uniform)
