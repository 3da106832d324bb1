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
from charlm.text.files import (
    atomic_write,
    read_json,
    read_lines,
    sha256_of,
    split_words,
    write_json,
)
from charlm.text.inventory import END, END_WORD, UNK, Inventory, form_of
from charlm.text.normalise import Normalisation
from charlm.text.split import SUMMARY

START_WORD = "<s>"
BLOCK = 1 << 16  # tokens held in memory while a text is encoded or checked

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
    n_tokens = 0
    for number, line in read_lines(path):
        normalised = normalisation(line) if normalisation else line
        words = without_marks(split_words(normalised), where=f"{path}:{number}")
        n_tokens += len(words) + 1
        if max_tokens and n_tokens > max_tokens:
            return
        yield words


def without_marks(words: list[str], *, where: str) -> list[str]:
    """`words` less `<s>` and `</s>` at the ends.

    Raises:
        DataError: one of them within the sentence.
    """
    if words and words[0] == START_WORD:
        words = words[1:]
    if words and words[-1] == END_WORD:
        words = words[:-1]
    for mark in (START_WORD, END_WORD):
        if mark in words:
            raise DataError(f"{where}: found {mark} within a line; expected one sentence a line")
    return words


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


class _UnkIds(FormIds):
    """As `FormIds`, but what is no word is `<unk>`, and nothing grows."""

    def __missing__(self, token: str) -> int:
        return UNK


@dataclass(frozen=True)
class EncodedText:
    """A text as form ids, each sentence closed by `</s>`, with the spellings of ids from V on."""

    ids: Ids  # memory-mapped where it lies on the disk
    spellings: tuple[str, ...]
    n_sentences: int
    sha256: str  # of the file it was read from


def encode_text(
    path: str | Path,
    inventory: Inventory,
    *,
    stem: Path,
    max_tokens: int = 0,
    oov_input: str = "spelling",
) -> EncodedText:
    """Encode a text once into `stem`.ids (little-endian int32) and `stem`.json, memory-mapped.

    Where `oov_input` is `unk` nobody will ask how a token outside the vocabulary is spelled: its
    id is `<unk>`'s, and no spelling is kept.

    Raises:
        DataError: as `read_sentences`, or no sentence at all.
    """
    form_ids = _UnkIds(inventory) if oov_input == "unk" else FormIds(inventory)
    n_ids = n_sentences = 0
    rules = inventory.normalisation
    sentences = read_sentences(path, normalisation=rules, max_tokens=max_tokens)
    stem.with_suffix(".json").unlink(missing_ok=True)  # else a crash could pair it with new ids
    with atomic_write(stem.with_suffix(".ids")) as out:
        for block in blocks(sentences, size=BLOCK):
            flat = [form_ids[word] for words in block for word in (*words, END_WORD)]
            out.write(np.asarray(flat, dtype="<i4").tobytes())
            n_ids += len(flat)
            n_sentences += len(block)
    if not n_sentences:
        raise DataError(f"{path}: no sentence; expected one a line" + _limit_note(max_tokens))
    value = {
        **_wanted(path, inventory, max_tokens=max_tokens, oov_input=oov_input),
        "n_sentences": n_sentences,
        "n_ids": n_ids,
        "spellings": form_ids.spellings,
    }
    write_json(stem.with_suffix(".json"), value)
    return _mapped(stem, value)


def _limit_note(max_tokens: int) -> str:
    return f", the first of at most {max_tokens} tokens" if max_tokens else ""


def reopen_text(
    path: str | Path,
    inventory: Inventory,
    *,
    stem: Path,
    max_tokens: int = 0,
    oov_input: str = "spelling",
) -> EncodedText:
    """What `encode_text` left at `stem`, made again where it is missing, damaged or of other text.

    Raises:
        DataError: as `encode_text`.
    """
    wanted = _wanted(path, inventory, max_tokens=max_tokens, oov_input=oov_input)
    value = _description(stem)
    if _describes(value, wanted) and _is_sound(stem, value, n_words=inventory.n_words):
        return _mapped(stem, value)
    return encode_text(path, inventory, stem=stem, max_tokens=max_tokens, oov_input=oov_input)


def _wanted(
    path: str | Path, inventory: Inventory, *, max_tokens: int, oov_input: str
) -> dict[str, object]:
    """What decides the ids of a text."""
    return {
        "sha256": sha256_of(path),
        "vocabulary": inventory.sha256,
        "max_tokens": max_tokens,
        "oov_input": oov_input,
    }


def _description(stem: Path) -> dict[str, object]:
    """The JSON object at `stem`; empty where there is none that can be read."""
    if not (stem.with_suffix(".json").is_file() and stem.with_suffix(".ids").is_file()):
        return {}
    try:
        value = read_json(stem.with_suffix(".json"))
    except DataError:
        return {}
    return value if isinstance(value, dict) else {}


def _describes(value: dict[str, object], wanted: dict[str, object]) -> bool:
    """Whether a description is of this text in this vocabulary, and well formed."""
    spellings = value.get("spellings")
    return (
        all(value.get(key) == expected for key, expected in wanted.items())
        and isinstance(spellings, list)
        and all(isinstance(each, str) for each in spellings)
        and type(value.get("n_sentences")) is int
        and type(value.get("n_ids")) is int
    )


def _is_sound(stem: Path, value: dict[str, object], *, n_words: int) -> bool:
    """Whether the ids are as many as their description says, and each has a word or spelling."""
    path, spellings, n_ids = stem.with_suffix(".ids"), value["spellings"], value["n_ids"]
    assert isinstance(spellings, list) and isinstance(n_ids, int)
    if n_ids < 1 or path.stat().st_size != 4 * n_ids:
        return False
    ids = np.memmap(path, dtype="<i4", mode="r")
    parts = (ids[first : first + BLOCK] for first in range(0, n_ids, BLOCK))
    return all(part.min() >= 0 and part.max() < n_words + len(spellings) for part in parts)


def _mapped(stem: Path, value: dict[str, object]) -> EncodedText:
    ids = np.memmap(stem.with_suffix(".ids"), dtype="<i4", mode="r")
    spellings, n_sentences = value["spellings"], value["n_sentences"]
    assert isinstance(spellings, list) and isinstance(n_sentences, int)
    return EncodedText(ids, tuple(spellings), n_sentences, str(value["sha256"]))


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
