"""Counts on disk equal those in memory, and do not depend on where they are."""

import errno
import io
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import pytest

from charlm.text.corpus import line_blocks
from charlm.text.vocabulary import counts
from charlm.text.vocabulary.counts import (
    CountedText,
    CountFiles,
    count_file,
    count_letters,
    count_text,
    merged,
)
from charlm.text.vocabulary.vocabulary import inventory_of

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "the",
    "mat",
    "the",
    "été",
    "\x01",
    "a:b",
    "5",
    "cat",
    "<unk>:zz",
]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return path


@pytest.mark.parametrize("most", [1, 4, 10])  # there are 10 types
def test_a_table_that_is_full_goes_to_the_disk_and_changes_nothing(
    text: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 8)
    monkeypatch.setattr(counts, "MOST_TYPES", most)
    found = count_file(text)
    assert isinstance(found.tokens, Counter) == (most == 10)
    assert dict(found.tokens.items()) == Counter(WORDS)
    assert dict(found.tokens.items()) == Counter(WORDS)  # iterating a second time
    assert (found.n_words, found.n_sentences) == (len(WORDS), len(WORDS))
    assert inventory_of(found, size=4) == inventory_of(count_text([[w] for w in WORDS]), size=4)


def test_counts_of_several_processes_are_added() -> None:
    with CountFiles() as one, CountFiles() as two:
        one.add({"a": 2, "one": 1})
        two.add({"a": 2, "two": 1})
        one.add({"a": 1})
        parts = ([each.part(number) for each in (one, two)] for number in range(counts.N_PARTS))
        assert dict(merged(parts).items()) == {"a": 5, "one": 1, "two": 1}


def test_what_lies_on_the_disk_has_no_name_there(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    real = counts._write

    def write(file: IO[bytes], items: Iterable[tuple[str, int]]) -> None:
        real(file, items)
        seen.append(os.listdir(tmp_path))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(counts, "_write", write)
    monkeypatch.setattr(counts, "MOST_TYPES", 1)
    count_file(text)
    assert seen
    assert all(names == ["text.txt"] for names in seen)


class _FullDisk(io.RawIOBase):
    """A file on a disk that takes no byte."""

    def writable(self) -> bool:
        return True

    def write(self, _: object, /) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(counts, "TemporaryFile", lambda: io.BufferedWriter(_FullDisk()))
    with pytest.raises(OSError, match="No space") as caught, CountFiles() as files:
        files.add({"a": 1})  # it stays in the buffer, and closing the file tries again
    assert caught.value.filename == str(tmp_path)


def test_letters_count_as_often_as_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "BLOCK", 2)
    found = count_letters([("aab", 3), ("b", 3), ("ca", 1), ("a", 10)])
    assert found == {"a": 17, "b": 6, "c": 1}


@pytest.mark.parametrize(
    ("size", "words"), [(0, ("b", "c", "a")), (4, ("b", "c")), (9, ("b", "c", "a", "d"))]
)
def test_the_order_of_counts_decides_nothing(size: int, words: tuple[str, ...]) -> None:
    tokens = {"a": 2, "d": 1, "c": 3, "b": 3}
    backwards = dict(reversed(tokens.items()))
    inventories = [inventory_of(CountedText(t, 1), size=size) for t in (tokens, backwards)]
    assert inventories[0] == inventories[1]
    assert inventories[0].words[2:] == words
