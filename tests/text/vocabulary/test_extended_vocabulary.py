"""A vocabulary extended by the words of another text."""

from dataclasses import replace

import pytest

from charlm.errors import DataError
from charlm.text.vocabulary.counts import count_text
from charlm.text.vocabulary.vocabulary import Inventory, extended, inventory_of

KNOWN = "the dog ran . the cat ran . the dog sat"
TEXT = "a dog sat . a dög barked . a bird barked"


@pytest.fixture
def known() -> Inventory:
    return replace(inventory_of([KNOWN.split()], min_count=1), max_word_length=9)


def grown(known: Inventory, text: str) -> Inventory:
    return extended(known, count_text(line.split() for line in text.splitlines()))


def test_it_has_the_words_of_both_by_their_counts_in_the_text(known: Inventory) -> None:
    found = grown(known, TEXT)
    # dög and bird stand once in the text and are in neither vocabulary.
    assert found.words == ("</s>", "<unk>", "a", ".", "barked", "dog", "sat", "cat", "ran", "the")
    assert found.counts == (1, 2, 3, 2, 2, 1, 1, 0, 0, 0)


def test_characters_keep_their_numbers_and_new_ones_follow(known: Inventory) -> None:
    found = grown(known, TEXT)
    assert found.characters[: len(known.characters)] == known.characters
    # Letters are added from words that occur twice: k of barked, and not ö.
    assert set(found.characters) - set(known.characters) == set("rkbe") - set(known.characters)
    assert found.max_word_length == 9


def test_a_literal_unk_in_the_text_makes_all_its_types_words(known: Inventory) -> None:
    found = grown(known, "one <unk> two <unk>:three dog")
    assert {"one", "two", "dog", "the"} <= set(found.words)
    assert "three" not in found.words
    assert found.counts[:2] == (1, 2)


def test_a_text_without_a_word_is_refused(known: Inventory) -> None:
    with pytest.raises(DataError, match=r"train.txt: no word in it"):
        grown(known, "\n")
