"""Words of n-gram models, numbered as in lmplz, and sentences as their numbers."""

import io
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import DataError
from charlm.ngram.word_ids import (
    MARKS,
    UNK,
    WordIds,
    encode,
    mapped,
    noise_of,
    vocabulary_or_list_at,
    words_of,
)
from charlm.text.vocabulary.vocabulary import Inventory

VOCABULARY = Inventory(("</s>", "<unk>", "the", "cat"), (3, 2, 2, 1), tuple("acehnt"))


def test_new_words_are_numbered_behind_the_marks_as_the_text_brings_them_up() -> None:
    word_ids = WordIds()
    assert [word_ids[word] for word in ("b", "a", "b", "<unk>", "</s>")] == [3, 4, 3, 0, 2]
    assert word_ids.words == [*MARKS, "b", "a"]


def test_a_closed_vocabulary_does_not_grow() -> None:
    word_ids = WordIds(words_of(VOCABULARY), closed=True)
    assert [word_ids[word] for word in ("cat", "dog", "<unk>")] == [4, 0, 0]
    assert word_ids.words == [*MARKS, "the", "cat"]
    assert "dog" not in word_ids


def test_a_list_of_words_may_begin_with_a_label_of_noise(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("{breath}\nwe\n")
    assert vocabulary_or_list_at(path).words == ("</s>", "<unk>", "{breath}", "we")


def test_a_label_of_noise_is_left_out_of_a_list_alone() -> None:
    words = ("</s>", "<unk>", "{breath}", "we")
    assert noise_of(Inventory(words, (0,) * 4, ())) == {"{breath}"}
    assert noise_of(Inventory(words, (2, 0, 1, 1), tuple("ew"))) == set()  # the text has it


def test_a_list_of_words_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("we\n"))
    assert vocabulary_or_list_at("-").words == ("</s>", "<unk>", "we")


def test_a_vocabulary_in_a_pipe_is_called_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    VOCABULARY.save(tmp_path / "vocab.json")
    monkeypatch.setattr("sys.stdin", (tmp_path / "vocab.json").open())
    with pytest.raises(DataError) as error:
        vocabulary_or_list_at("-")
    assert str(error.value) == (
        "standard input: looks like JSON; expected words, one a line; of what `charlm vocab` "
        "writes, give the file's name to --vocab"
    )


@pytest.mark.parametrize("closed", [False, True])
def test_a_spelled_unk_is_unk_and_no_new_word(closed: bool) -> None:
    word_ids = WordIds(words_of(VOCABULARY), closed=closed)
    assert word_ids["<unk>:dog"] == UNK
    assert [*word_ids] == word_ids.words == [*MARKS, "the", "cat"]


def test_an_unk_with_no_spelling_behind_its_colon_is_a_word() -> None:
    assert WordIds()["<unk>:"] == 3


def test_every_sentence_stands_between_its_marks() -> None:
    ids = encode([["a", "b"], [], ["b"]], WordIds())
    assert ids.tolist() == [1, 3, 4, 2, 1, 2, 1, 4, 2]
    assert ids.dtype == np.int32


def test_no_sentence_is_no_ids() -> None:
    ids = encode([], WordIds())
    assert (len(ids), ids.dtype) == (0, np.int32)


@pytest.mark.parametrize(
    ("vocabulary", "expected"),
    [
        (VOCABULARY, ["the", "<unk>", "<unk>", "<unk>", "cat"]),
        (None, ["the", "<unk>", "dog", "<unk>", "cat"]),
    ],
)
def test_mapping_and_numbering_agree_on_what_is_unk(
    vocabulary: Inventory | None, expected: list[str]
) -> None:
    words = ["the", "<unk>:dog", "dog", "<unk>", "cat"]
    assert mapped(words, vocabulary) == expected
    known = words_of(vocabulary) if vocabulary else MARKS
    word_ids = WordIds(known, closed=vocabulary is not None)
    numbers = [word_ids[word] for word in words]
    assert [word_ids.words[number] for number in numbers] == expected
