"""A corpus directory, and its text as one array of form ids.

Below V an id is a word; from V on it is one of the corpus's own further spellings, kept beside the
array. So a form outside the vocabulary can go in by its spelling while it is `<unk>` at the output:
the target of id i is i below V, else `<unk>`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.errors import DataError
from charlm.text.files import display_name, read_json
from charlm.text.inventory import END, Inventory, form_of
from charlm.text.lines import TEXT, read_lines, split_words
from charlm.text.marks import without_marks
from charlm.text.normalise import Normalisation
from charlm.text.split import SUMMARY

Ids = npt.NDArray[np.int32]


def split_path(data: str | Path, split: str) -> Path:
    """The text of a split of a corpus directory.

    Raises:
        DataError: no such directory or file.
    """
    folder = Path(data)
    if not folder.is_dir():
        raise DataError(
            f"{data}: no such folder; expected one that holds train.txt, valid.txt, test.txt"
        )
    path = folder / f"{split}.txt"
    if not path.is_file():
        raise DataError(f"{path}: no such file; expected one sentence a line, words between blanks")
    return path


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
    name = display_name(path)
    sentences = (
        sentence_of(line, normalisation, where=f"{name}:{number}")
        for number, line in read_lines(path, rules=TEXT)
    )
    return until_full(sentences, max_tokens=max_tokens) if max_tokens else sentences


def until_full(sentences: Iterable[list[str]], *, max_tokens: int) -> Iterator[list[str]]:
    """The sentences before the one that would exceed `max_tokens`, each `</s>` counted."""
    n_tokens = 0
    for words in sentences:
        n_tokens += len(words) + 1
        if n_tokens > max_tokens:
            return
        yield words


def sentence_of(line: str, normalisation: Normalisation | None, *, where: str) -> list[str]:
    """The words of a line, normalised, less `<s>` and `</s>` at its ends.

    Raises:
        DataError: one of them within the line.
    """
    normalised = normalisation(line) if normalisation else line
    return without_marks(split_words(normalised), where=where)


class FormIds(dict[str, int]):
    """Form ids of tokens; a token that is no word gets the next id from V on, and a spelling."""

    def __init__(self, inventory: Inventory) -> None:
        super().__init__(inventory.word_ids)
        self.n_words = inventory.n_words
        self.spellings: list[str] = []

    def __missing__(self, token: str) -> int:
        self[token] = number = self.n_words + len(self.spellings)
        self.spellings.append(form_of(token))
        return number


@dataclass(frozen=True)
class EncodedText:
    """A text as form ids, each sentence closed by `</s>`, with the spellings of ids from V on."""

    ids: Ids  # memory-mapped where it lies on the disk
    spellings: tuple[str, ...]
    n_sentences: int
    sha256: str  # of the file it was read from


def encode_sentences(sentences: Iterable[list[str]], form_ids: FormIds) -> list[Ids]:
    """One array a sentence, closed by `</s>`; new spellings are added to `form_ids`."""
    return [
        np.fromiter((*(form_ids[word] for word in words), END), np.int32, len(words) + 1)
        for words in sentences
    ]


def blocks(sentences: Iterable[list[str]], *, size: int) -> Iterator[list[list[str]]]:
    """Sentences in lists of about `size` tokens, at least one sentence each."""
    block: list[list[str]] = []
    n_tokens = 0
    for words in sentences:
        block.append(words)
        n_tokens += len(words) + 1
        if n_tokens >= size:
            yield block
            block, n_tokens = [], 0
    if block:
        yield block
