"""A corpus directory, and the sentences of its texts as lists of words."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from charlm.errors import DataError
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.split import SPLITS, SUMMARY
from charlm.text.corpus.tokens import without_marks
from charlm.text.io.files import display_name, open_bytes, read_json
from charlm.text.io.lines import CORPUS, UTF8, read_lines, split_words
from charlm.text.io.table_lines import LOOKED_AT, MOST_CHARACTERS, refuse_table_bytes

# Tokens of a text that are scored together, or one sentence if it is longer: another block, other
# last bits.
BLOCK = 1 << 16
Item = TypeVar("Item")
HOW_TO_MAKE_IT = "`charlm prep FILE --out DIR` makes such a folder of raw text"


def split_path(data: str | Path, split: str) -> Path:
    """The text of a split of a corpus directory.

    Raises:
        DataError: no such directory or file, or CSV.
    """
    folder = Path(data)
    if folder.is_file():
        there = f": {folder.parent}" if _holds_texts(folder.parent) else f"; {HOW_TO_MAKE_IT}"
        raise DataError(
            f"{data}: is a file; expected the folder that holds train.txt, valid.txt, test.txt"
            f"{there}"
        )
    if not folder.is_dir():
        raise DataError(
            f"{data}: no such folder; expected one that holds train.txt, valid.txt, test.txt"
        )
    path = folder / f"{split}.txt"
    if not path.is_file():
        hint = "" if _holds_texts(folder) else f"; {HOW_TO_MAKE_IT}"
        raise DataError(
            f"{path}: no such file; expected one sentence a line, words between blanks{hint}"
        )
    with open_bytes(path) as file:
        head = [file.readline(4 * MOST_CHARACTERS) for _ in range(LOOKED_AT)]
    refuse_table_bytes([line.rstrip(b"\r\n") for line in head if line], path, encoding=UTF8)
    return path


def _holds_texts(folder: Path) -> bool:
    return any((folder / f"{split}.txt").is_file() for split in SPLITS)


def corpus_normalisation(data: str | Path) -> Normalisation:
    """How `prep` treated the text of a corpus directory; NFC alone where nothing is known."""
    path = Path(data) / SUMMARY
    if not path.is_file():
        return Normalisation()
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path}: not what `charlm prep` writes; expected an object")
    return Normalisation.from_dict(value.get("normalisation"), str(path))


def read_sentences(
    path: str | Path, *, normalisation: Normalisation | None = None, max_tokens: int = 0
) -> Iterator[list[str]]:
    """The words of each line, normalised; a blank line is a sentence without words.

    `<s>` and `</s>` at the ends of a line are left out: charlm adds the end itself.
    `max_tokens` stops before the sentence that would exceed it, `</s>` counted; 0 reads all.

    Raises:
        DataError: `<s>` or `</s>` within a line, invalid UTF-8, NUL.
    """
    name, n_tokens = display_name(path), 0
    for number, line in read_lines(path, rules=CORPUS):
        words = sentence_of(line, normalisation, where=f"{name}:{number}")
        n_tokens += len(words) + 1
        if 0 < max_tokens < n_tokens:
            return
        yield words


def sentence_of(line: str, normalisation: Normalisation | None, *, where: str) -> list[str]:
    """The words of a line, normalised, less `<s>` and `</s>` at its ends.

    Raises:
        DataError: one of them within the line.
    """
    normalised = normalisation(line) if normalisation else line
    return without_marks(split_words(normalised), where=where)


def blocks(sentences: Iterable[list[str]], *, size: int) -> Iterator[list[list[str]]]:
    """Sentences in lists of about `size` tokens, at least one sentence each."""
    return in_batches(sentences, size=size, size_of=lambda words: len(words) + 1)


def in_batches(
    items: Iterable[Item], *, size: int, size_of: Callable[[Item], int]
) -> Iterator[list[Item]]:
    """Items in lists that each reach `size`, all but the last; of size 0: each item alone."""
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size_of(item)
        if total >= size:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
