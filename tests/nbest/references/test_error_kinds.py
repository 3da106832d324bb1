"""Kinds of errors: each by hand; together they are the edits of the error rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from charlm.nbest.references.error_kinds import KINDS, error_kinds

WORDS = ["pes", "psa", "psem", "Psem", "koček", "kocek", "kočka", "ko", "čka", "a-b", "ab", "-", ""]


@pytest.mark.parametrize(
    ("reference", "hypothesis", "kinds"),
    [
        ("", "", {}),
        ("he walks", "he walked", {"ending": 1}),
        ("known", "unknown", {"beginning": 1}),
        ("cats", "cat", {"ending": 1}),
        ("at", "it", {"other word": 1}),  # they share too few letters
        ("internationally", "internal", {"other word": 1}),  # seven letters of fifteen are, too
        ("zeď je", "zed je", {"accents": 1}),
        ("ze\u010f", "zed\u030c", {"accents": 1}),
        ("Zeď", "zed", {"accents": 1}),
        ("Paris", "paris", {"case": 1}),
        ("can not go", "cannot go", {"word boundary": 2}),
        ("well-known", "well known", {"word boundary": 2}),
        ("don't", "dont", {"word boundary": 1}),
        ("can not go", "cannot gone", {"other word": 1, "ending": 1, "deleted": 1}),
        ("a - b", "a , b", {"other word": 1}),
        ("the cat", "cat", {"deleted": 1}),
        ("cat", "the cat", {"inserted": 1}),
        ("one two three", "won two tree", {"other word": 1, "beginning": 1}),
    ],
)
def test_a_kind_is_told_by_the_letters(
    reference: str, hypothesis: str, kinds: dict[str, int]
) -> None:
    assert error_kinds(reference.split(), hypothesis.split()) == kinds


@given(*(st.lists(st.sampled_from(WORDS), max_size=7) for _ in "ab"))
def test_every_edit_is_of_one_kind(reference: list[str], hypothesis: list[str]) -> None:
    kinds = error_kinds(reference, hypothesis)
    assert kinds.total() == Levenshtein.distance(reference, hypothesis)
    assert {*kinds} <= {*KINDS}
