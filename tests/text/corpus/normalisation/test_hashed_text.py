"""A text that is read once: its sentences, its hash, and the changes by normalisation."""

import gzip
import hashlib
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.normalisation.normalisation import Normalisation

PLAIN = b"the cat\n\n \t\nsat\n"


def read(
    path: Path, normalisation: Normalisation | None = None
) -> tuple[ReadText, list[list[str]]]:
    text = ReadText(path, normalisation=normalisation)
    return text, list(text.sentences())


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN.removesuffix(b"\n"),
        gzip.compress(PLAIN),
    ],
    ids=["plain", "CRLF", "BOM", "no last LF", "gz"],
)
def test_neither_line_ends_nor_compression_change_sentences_and_hash(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    text, sentences = read(path)
    assert sentences == [["the", "cat"], [], [], ["sat"]]
    assert text.sha256 == hashlib.sha256(PLAIN).hexdigest()


@pytest.mark.parametrize(
    ("line", "words", "n_changed"),
    [
        ("the cat", ["the", "cat"], 0),
        ("The cat, THE", ["the", "cat", ",", "the"], 4),
        ("the  cat\t.", ["the", "cat", "."], 0),
        ("cafe\u0301", ["café"], 1),
        ("", [], 0),
    ],
)
def test_words_that_do_not_stand_so_in_the_line_are_counted_as_changed(
    line: str, words: list[str], n_changed: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(line + "\n")
    text, sentences = read(path, Normalisation(lower=True, tokenise="simple"))
    assert sentences == [words]
    assert text.n_changed == n_changed


def test_a_raw_text_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The cafe\u0301,\n")
    text, sentences = read(path)
    assert (sentences, text.n_changed) == ([["The", "cafe\u0301,"]], 0)


def test_a_sentence_mark_within_a_line_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("<s> a </s>\na <s> b\n")
    with pytest.raises(DataError) as raised:
        read(path)
    assert str(raised.value) == f"{path}:2: found <s> within a line; expected one sentence a line"
