"""A corpus directory, and the sentences of its texts."""

import json
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.sentences import (
    blocks,
    corpus_normalisation,
    in_batches,
    read_sentences,
    split_path,
)
from charlm.text.corpus.tokens import without_marks


def test_a_split_is_a_file_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "valid.txt").touch()
    assert split_path(tmp_path, "valid") == tmp_path / "valid.txt"


def test_a_missing_folder_or_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        split_path(tmp_path / "none", "train")
    assert str(caught.value) == (
        f"{tmp_path}/none: no such folder; expected one that holds train.txt, valid.txt, test.txt"
    )
    (tmp_path / "valid.txt").touch()
    with pytest.raises(DataError) as caught:
        split_path(tmp_path, "train")
    assert str(caught.value) == (
        f"{tmp_path}/train.txt: no such file; expected one sentence a line, words between blanks"
    )


PREP = "`charlm prep FILE --out DIR` makes such a folder of raw text"


def test_raw_text_in_the_place_of_a_corpus_directory_is_answered_with_prep(tmp_path: Path) -> None:
    (tmp_path / "raw.txt").touch()
    with pytest.raises(DataError) as caught:
        split_path(tmp_path, "train")
    assert str(caught.value) == (
        f"{tmp_path}/train.txt: no such file; expected one sentence a line, words between blanks; "
        f"{PREP}"
    )
    with pytest.raises(DataError) as caught:
        split_path(tmp_path / "raw.txt", "train")
    expected = "expected the folder that holds train.txt, valid.txt, test.txt"
    assert str(caught.value) == f"{tmp_path}/raw.txt: is a file; {expected}; {PREP}"
    (tmp_path / "train.txt").touch()
    with pytest.raises(DataError) as caught:
        split_path(tmp_path / "train.txt", "train")
    assert str(caught.value) == f"{tmp_path}/train.txt: is a file; {expected}: {tmp_path}"


def test_the_normalisation_is_what_corpus_json_says_else_nfc(tmp_path: Path) -> None:
    assert corpus_normalisation(tmp_path) == Normalisation(unicode="NFC")
    said = Normalisation(lower=True, unicode="NFKC", tokenise="simple", numbers=True)
    (tmp_path / "corpus.json").write_text(json.dumps({"normalisation": said.to_dict()}))
    assert corpus_normalisation(tmp_path) == said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not what `charlm prep` writes; expected an object"),
        ("{}", "found NoneType; expected the keys lower, unicode, tokenise, numbers"),
    ],
)
def test_a_corpus_json_of_another_kind_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "corpus.json"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        corpus_normalisation(tmp_path)
    assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("content", "sentences"),
    [
        ("a b\nc\n", [["a", "b"], ["c"]]),
        ("a b\r\nc", [["a", "b"], ["c"]]),
        ("\ufeff a \t b \n\n", [["a", "b"], []]),
        ("a\u00a0b\u2028c\u0085d\n", [["a\u00a0b\u2028c\u0085d"]]),
        ("<s> a </s>\n<s> </s>\n</s>\n<s>\n", [["a"], [], [], []]),
        ("", []),
    ],
)
def test_a_line_is_a_sentence_and_blanks_and_marks_are_no_words(
    tmp_path: Path, content: str, sentences: list[list[str]]
) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(content.encode())
    assert list(read_sentences(path)) == sentences


@pytest.mark.parametrize(
    ("max_tokens", "n_sentences"),
    [(0, 3), (1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (6, 3), (99, 3)],  # 2, 3 and 1 tokens
)
def test_reading_stops_before_the_sentence_that_is_too_much(
    tmp_path: Path, max_tokens: int, n_sentences: int
) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a\nb c\n\n")
    assert len(list(read_sentences(path, max_tokens=max_tokens))) == n_sentences


@pytest.mark.parametrize(
    ("line", "mark"), [("a <s> b", "<s>"), ("a </s> b", "</s>"), ("a </s> </s>", "</s>")]
)
def test_a_mark_within_a_line_is_refused_with_its_place(
    tmp_path: Path, line: str, mark: str
) -> None:
    path = tmp_path / "text.txt"
    path.write_text(f"a\n{line}\n")
    with pytest.raises(DataError) as caught:
        list(read_sentences(path))
    assert str(caught.value) == (
        f"{path}:2: found {mark} within a line; expected one sentence a line"
    )


def test_taking_marks_away_leaves_the_list_that_was_given() -> None:
    words = ["<s>", "a", "</s>"]
    assert without_marks(words, where="here") == ["a"]
    assert words == ["<s>", "a", "</s>"]


@pytest.mark.parametrize(
    ("size", "lengths"),
    [(1, [1, 1, 1]), (3, [1, 2]), (4, [2, 1]), (99, [3])],  # sentences of 3, 1 and 3 tokens
)
def test_blocks_end_with_the_sentence_that_fills_them(size: int, lengths: list[int]) -> None:
    sentences = [["a", "b"], [], ["c", "d"]]
    cut = list(blocks(sentences, size=size))
    assert [len(block) for block in cut] == lengths
    assert [words for block in cut for words in block] == sentences


def test_batches_hold_whole_items_of_so_much_or_more() -> None:
    def cut(size: int) -> list[list[str]]:
        return list(in_batches(["ab", "c", "def", "g"], size=size, size_of=len))

    assert cut(3) == [["ab", "c"], ["def"], ["g"]]
    assert cut(0) == [["ab"], ["c"], ["def"], ["g"]]
