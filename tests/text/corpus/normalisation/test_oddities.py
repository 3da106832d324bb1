"""Odd properties of a text's words, and words that only look odd."""

import pytest

from charlm.text.corpus.normalisation.oddities import oddities, replaced, scripts_of
from charlm.text.corpus.tokens import visible


def found(words: str) -> dict[str, int]:
    return {each.kind: each.n_tokens for each in oddities((w, 1) for w in words.split("_"))}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("in\xa0the_a", {"no-break or wide space": 1}),
        ("zero\u200bwidth", {"invisible mark": 1}),
        ("b\ufffd", {"replacement character": 1}),
        ("jehovÃ¡_donâ€™t_нет", {"UTF-8 read as Latin-1": 2}),
        ("cafã©_irmã»_niño", {"UTF-8 read as Latin-1": 1}),  # in lower case; a quote; a letter
        ("нe_не_ne", {"letters of two scripts": 1}),  # the first has a Latin e
        ("cafe\u0301", {"not in NFC": 1}),
        ("hELLO_iPhone_McDonald_NATO", {"capitals within a word": 1}),
        ("ATTENTION_NATO", {"words in capitals": 1}),
    ],
)
def test_an_oddity_is_counted_by_kind(words: str, expected: dict[str, int]) -> None:
    assert found(words) == expected


def test_of_two_habits_the_seldom_one_is_odd() -> None:
    for sign in "\u2019\u02bc\u02bb":
        assert found("_".join(["don't"] * 9 + [f"isn{sign}t"])) == {f"apostrophe {sign}": 1}
    assert found("_".join(["don't"] * 9 + ["isn\u2019t"] * 3)) == {}


def test_of_a_letter_in_two_characters_the_seldom_one_is_odd() -> None:
    persian, arabic = "\u06cc\u06a9", "\u064a\u0643"
    assert found("_".join([persian] * 9 + [arabic])) == {"letter \u064a": 1, "letter \u0643": 1}
    assert found("_".join(["e\u015fti"] * 9 + ["e\u0219ti", persian])) == {"letter \u0219": 1}


def test_writings_without_cases_and_their_mixtures_are_not_odd() -> None:
    assert found("東京タワー_ひらがな_می\u200cخواهم_L'été_Ångström_don't_well-known_Âge") == {}
    assert scripts_of("AБ1") == {"LATIN", "CYRILLIC"}


def test_the_examples_are_the_first_words_that_show_it() -> None:
    (only,) = oddities((f"{letter}\xa0", 2) for letter in "abcde")
    assert (only.n_tokens, only.words) == (10, ["a\xa0", "b\xa0", "c\xa0"])


def test_what_is_taken_out_leaves_a_blank_or_nothing() -> None:
    assert replaced("co\xadop\x0cnew\r s\r") == "coop new  s\r"


def test_a_word_in_quotes_counts_once_though_it_has_two() -> None:
    (finding,) = oddities([('"yes', 100), ("\u201cno\u201d", 3), ("\xabso\u201d", 1)])
    assert (finding.kind, finding.n_tokens) == ("curly quotes", 4)
    assert finding.words == ["\u201cno\u201d", "\xabso\u201d"]


def test_what_nobody_sees_is_spelled_out_but_not_what_parts_the_letters_of_persian() -> None:
    assert visible("نمی\u200cدانم") == "نمی\u200cدانم"
    assert visible("a\u200cb\u200d\nنمی\u200c") == "a<200C>b<200D><000A>نمی<200C>"
