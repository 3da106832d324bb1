"""Hypotheses as models read them, and the counts of what was changed."""

import pytest

from charlm.scoring.rescoring.hypothesis_text import HypothesisText
from charlm.text.corpus import tokens
from charlm.text.corpus.normalisation.normalisation import Normalisation


def test_without_rules_words_stay() -> None:
    text = HypothesisText(None)
    assert text.read(("Don't", "[laugh]")) == ["Don't", "[laugh]"]
    assert (text.counts.n_words, text.counts.n_changed, text.counts.n_noise) == (2, 0, 0)


def test_words_that_the_copy_has_not_are_counted_whatever_became_of_them() -> None:
    text = HypothesisText(Normalisation(lower=True, tokenise="simple"))
    assert text.read(("Yes,", "we", "KNOW")) == ["yes", ",", "we", "know"]
    assert (text.counts.n_words, text.counts.n_read, text.counts.n_changed) == (3, 4, 2)


@pytest.mark.parametrize("noise", ["[laugh]", "<noise>", "{breath}", "-pau-", "!SIL"])
def test_noise_is_not_read_unless_it_is_known(noise: str) -> None:
    unknown = HypothesisText(Normalisation(tokenise="simple"), is_known={"a"}.__contains__)
    assert unknown.read(("a", noise, "<unk>", "<unk>:b")) == ["a", "<unk>", "<unk>:b"]
    assert (unknown.counts.n_noise, unknown.counts.n_changed) == (1, 0)
    known = HypothesisText(None, is_known={"a", noise}.__contains__)
    assert known.read(("a", noise)) == ["a", noise]


def test_noise_is_known_in_the_case_of_the_models_words() -> None:
    text = HypothesisText(Normalisation(lower=True), is_known={"a", "[laugh]"}.__contains__)
    assert text.read(("A", "[LAUGH]", "[COUGH]")) == ["a", "[laugh]"]
    assert text.counts.n_noise == 1


def test_kaldis_unknown_word_is_read_as_one_unless_it_is_known() -> None:
    unknown = HypothesisText(Normalisation(), is_known={"a"}.__contains__)
    assert unknown.read(("a", "<UNK>")) == ["a", "<unk>"]
    known = HypothesisText(Normalisation(), is_known={"a", "<UNK>"}.__contains__)
    assert known.read(("a", "<UNK>")) == ["a", "<UNK>"]


def test_unknown_words_are_counted_and_the_most_frequent_named() -> None:
    text = HypothesisText(None)
    for words, known, unknown in ((["a", "B", "C"], [1, 0, 0], ["B", "C"]), (["B"], [0], ["B"])):
        assert text.count_unknown(words, list(map(bool, known))) == unknown
        text.counts.unknown.add(unknown)
    assert text.counts.to_dict()["most_frequent_unknown"] == {"B": 2, "C": 1}


def test_of_endlessly_many_unknown_words_the_frequent_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokens, "MOST_COUNTED", 10)
    text = HypothesisText(None)
    for number in range(100):
        text.counts.unknown.add(text.count_unknown(["often", f"w{number}"], [False] * 2))
        assert len(text.counts.unknown) <= 10
    assert text.counts.n_unknown == 200
    assert text.counts.unknown.most_common(1) == [("often", 100)]


@pytest.mark.parametrize(
    ("unknown", "advice"),
    [
        ("THE Cat DOG", "--lower"),
        ("the, cat. (dog)", "--punctuation drop"),
        (". , ?", "--punctuation drop"),
        ("the@@ cat\uffed \u2581dog", ""),  # marks of pieces, without which they are other pieces
        ("the-cat cat-dog dog-the", "--split-hyphens"),
        ("isn't cat's dog's", "--map FILE with `*n't TAB * n't`, `*'s TAB * 's` and so on"),
        ("The-Cat Cat-Dog DOG-the", "--lower; --split-hyphens"),
        (
            "e\u0301t o\u0301r a\u0301t",
            "lists in the form of the model's text, or a run on text that prep has made",
        ),
        ("o\u2019er l\u2019an d\u2019or", "one apostrophe in both texts"),
        ("t\xadhe ca\u200bt do\u2060g", "taking such characters out"),
        ("THE Cat zz", ""),  # only two types, perhaps by chance
        ("كِتَاب קֹדֶשׁ סֵפֶר", "taking vowel points out"),
        ("IŞIK İYİ İLE", "lists in lower case with ı for I (prep --lower --dotless-i)"),
    ],
)
def test_a_habit_that_an_option_would_undo_is_named(unknown: str, advice: str) -> None:
    text = HypothesisText(None)
    words = [*unknown.split(), "xx"]
    text.counts.unknown.add(text.count_unknown(words, [False] * len(words)))
    known = [
        *("the", "cat", "dog", "is", "n't", "'s"),
        *("\xe9t", "\xf3r", "\xe1t", "o'er", "l'an", "d'or"),
        *("ışık", "iyi", "ile"),
        *("كتاب", "קדש", "ספר"),
    ]
    found = text.counts.remedies(known.__contains__)
    assert [each.advice for each in found] == [advice] * bool(advice)
    assert [each.share for each in found] == [3 / 4] * bool(advice)


def test_words_that_rules_took_away_are_counted_by_rule() -> None:
    rules = Normalisation(split_hyphens=True, map=(("*n't", "* n't"),))
    text = HypothesisText(rules)
    assert text.read(("twenty-one", "don't", "a")) == ["twenty", "one", "do", "n't", "a"]
    assert text.counts.to_dict()["changed_by_rule"] == {"hyphens": 1, "map": 1}
