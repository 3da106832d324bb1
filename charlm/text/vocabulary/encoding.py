"""A text as form ids: read a block at a time, by several processes if it is large, kept in files.

Ids below V are words; ids from V on are further spellings of this corpus, kept beside the ids. So a
form outside the vocabulary can go in by its spelling while it is `<unk>` at the output: the target
of id i is i below V, else `<unk>`.

The ids are the same for any number of processes: ids that a process assigns by itself are
renumbered when the ranges are joined in order. The files are memory-mapped little-endian int32, and
JSON that describes them. Before a run goes on with them they are checked; damaged ones are made
again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from charlm.errors import DataError
from charlm.text.corpus.line_blocks import TextBlock, read_blocks
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.ranges import Readers, n_readers
from charlm.text.corpus.sentences import blocks, read_sentences
from charlm.text.corpus.tokens import END, END_WORD, UNK, form_of
from charlm.text.io.files import atomic_write, read_json, sha256_of, write_json
from charlm.text.io.lines import split_words
from charlm.text.vocabulary.vocabulary import Inventory

Ids = npt.NDArray[np.int32]
Json = dict[str, Any]
OOV_INPUTS = ("spelling", "unk")
BLOCK = 1 << 16  # tokens that are encoded at once where there is a limit, or checked at once

Piece = tuple[Ids, int]  # ids of some sentences, and how many sentences these are


class FormIds(dict[str, int]):
    """Form ids of tokens; a token outside the vocabulary gets a spelling and the next id from V."""

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
    """One array for each sentence, ending in `</s>`; new spellings are added to `form_ids`."""
    return [
        np.fromiter((*(form_ids[word] for word in words), END), np.int32, len(words) + 1)
        for words in sentences
    ]


class UnkIds(FormIds):
    """As `FormIds`, but every token outside the vocabulary is `<unk>`, and nothing grows."""

    def __missing__(self, token: str) -> int:
        return UNK


class _NotOneTokenError(Exception):
    """A word becomes several tokens, or none."""


class _WordIds(dict[str, int]):
    """Ids of words that are still to be normalised; those of the vocabulary are remembered."""

    def __init__(self, form_ids: FormIds, normalisation: Normalisation) -> None:
        super().__init__({END_WORD: END})
        self._form_ids = form_ids
        self._normalisation = normalisation

    def __missing__(self, word: str) -> int:
        tokens = split_words(self._normalisation(word))
        if len(tokens) != 1:
            raise _NotOneTokenError
        number = self._form_ids.get(tokens[0])
        if number is None or number >= self._form_ids.n_words:
            return self._form_ids[tokens[0]]
        self[word] = number
        return number


class BlockEncoder:
    """Ids as `FormIds` gives them."""

    def __init__(self, inventory: Inventory, *, oov_input: str) -> None:
        assert oov_input in OOV_INPUTS
        self.form_ids = UnkIds(inventory) if oov_input == "unk" else FormIds(inventory)
        self._normalisation = inventory.normalisation
        self._word_ids: dict[str, int] = self.form_ids
        if not inventory.normalisation.leaves_words:
            self._word_ids = _WordIds(self.form_ids, inventory.normalisation)

    def ids(self, block: TextBlock) -> Piece:
        """The ids of a block, each sentence closed by `</s>`, and how many sentences there are.

        Raises:
            DataError: as `TextBlock.sentences`.
        """
        text = block.text(self._normalisation)
        if text is not None:
            words = filter(None, text.replace("\n", f" {END_WORD} ").split(" "))
            try:
                ids: Ids = np.fromiter(map(self._word_ids.__getitem__, words), np.int32)
                return ids, text.count("\n")
            except _NotOneTokenError:
                pass  # new tokens have been numbered in order, and keep their numbers
        encoded = encode_sentences(block.sentences(self._normalisation), self.form_ids)
        return np.concatenate([np.empty(0, np.int32), *encoded]), len(encoded)

    def take(self, blocks: Iterable[TextBlock]) -> tuple[Ids, int, list[str]]:
        """The ids of a range of a text, its sentences, and its tokens outside the vocabulary.

        The latter have ids from V on, in order, which are used anew for the next range.
        """
        pieces = list(map(self.ids, blocks))
        form_ids = self.form_ids
        form_ids.spellings.clear()
        tokens = [form_ids.popitem()[0] for _ in range(len(form_ids) - form_ids.n_words)]
        ids = np.concatenate([np.empty(0, np.int32), *(each for each, _ in pieces)])
        return ids, sum(n for _, n in pieces), tokens[::-1]


class TextEncoder:
    """The ids of one text, and the spellings beyond the vocabulary that they refer to."""

    def __init__(self, inventory: Inventory, *, oov_input: str) -> None:
        self.inventory = inventory
        self.oov_input = oov_input
        self.spellings: list[str] = []  # of the ids from V on, once all pieces have been taken

    def pieces(
        self, path: str | Path, *, max_tokens: int = 0, threads: int | None = None
    ) -> Iterator[Piece]:
        """The ids of the sentences that `read_sentences` gives.

        Raises:
            DataError: as there.
            ProcessError: a process ended before its time.
        """
        n = 1 if max_tokens else n_readers(path, threads=threads)
        if n > 1:
            yield from self._pieces_of_many(n, path)
            return
        encoder = BlockEncoder(self.inventory, oov_input=self.oov_input)
        self.spellings = encoder.form_ids.spellings
        if not max_tokens:
            yield from map(encoder.ids, read_blocks(path))
            return
        rules = self.inventory.normalisation
        sentences = read_sentences(path, normalisation=rules, max_tokens=max_tokens)
        for block in blocks(sentences, size=BLOCK):
            yield np.concatenate(encode_sentences(block, encoder.form_ids)), len(block)

    def _pieces_of_many(self, n: int, path: str | Path) -> Iterator[Piece]:
        n_words = self.inventory.n_words
        numbers: dict[str, int] = {}  # of the tokens that are no words
        work = BlockEncoder(self.inventory, oov_input=self.oov_input)
        rules = self.inventory.normalisation
        with Readers(n, path, work=work, normalisation=rules) as readers:
            for ids, n_sentences, tokens in readers.over_ranges():
                if tokens:
                    found = [numbers.setdefault(t, n_words + len(numbers)) for t in tokens]
                    is_new = ids >= n_words
                    ids[is_new] = np.array(found, np.int32)[ids[is_new] - n_words]
                yield ids, n_sentences
        self.spellings = [form_of(token) for token in numbers]


def encode_text(
    path: str | Path,
    inventory: Inventory,
    *,
    stem: Path,
    max_tokens: int = 0,
    oov_input: str = "spelling",
    threads: int | None = None,
    reopen: bool = False,
) -> EncodedText:
    """Encode a text once into `stem`.ids (little-endian int32) and `stem`.json, memory-mapped.

    If `oov_input` is `unk`, a token outside the vocabulary has `<unk>`'s id, and no spelling is
    kept. `threads` processes give what one gives; a text that is small, compressed or not to be
    read to its end has one. `reopen` takes the files that are there, and encodes only if they are
    missing, damaged or of another text.

    Raises:
        DataError: as `read_sentences`, or no sentence at all.
        ProcessError: a process ended before its time.
    """
    wanted = {  # all that decides the ids
        "sha256": sha256_of(path),
        "vocabulary": inventory.sha256,
        "max_tokens": max_tokens,
        "oov_input": oov_input,
    }
    value = _stored(stem, wanted, n_words=inventory.n_words) if reopen else None
    if value is None:
        value = _encode(path, inventory, stem=stem, wanted=wanted, threads=threads)
    ids = np.memmap(stem.with_suffix(".ids"), dtype="<i4", mode="r")
    return EncodedText(ids, tuple(value["spellings"]), value["n_sentences"], value["sha256"])


def _encode(
    path: str | Path,
    inventory: Inventory,
    *,
    stem: Path,
    wanted: Json,
    threads: int | None,
) -> Json:
    """Write the ids of a text and then their description, which it returns."""
    encoder = TextEncoder(inventory, oov_input=wanted["oov_input"])
    max_tokens = wanted["max_tokens"]
    pieces = encoder.pieces(path, max_tokens=max_tokens, threads=threads)
    n_ids = n_sentences = checksum = 0
    stem.with_suffix(".json").unlink(missing_ok=True)  # else a crash could pair it with new ids
    with atomic_write(stem.with_suffix(".ids")) as out:
        for ids, n_more in pieces:
            raw = ids.astype("<i4", copy=False).tobytes()
            out.write(raw)
            checksum = crc32(raw, checksum)
            n_ids += len(ids)
            n_sentences += n_more
    if not n_sentences:
        limit = f", the first of at most {max_tokens} tokens" if max_tokens else ""
        raise DataError(f"{path}: no sentence; expected one a line{limit}")
    counts = {"n_sentences": n_sentences, "n_ids": n_ids, "crc32": checksum}
    value = {**wanted, **counts, "spellings": encoder.spellings}
    write_json(stem.with_suffix(".json"), value)
    return value


def _stored(stem: Path, wanted: Json, *, n_words: int) -> Json | None:
    """The description at `stem`, if it is of this text and vocabulary and its ids are sound."""
    path = stem.with_suffix(".ids")
    if not (stem.with_suffix(".json").is_file() and path.is_file()):
        return None
    try:
        value = read_json(stem.with_suffix(".json"))
    except DataError:
        return None
    if not isinstance(value, dict) or any(value.get(key) != own for key, own in wanted.items()):
        return None
    spellings, numbers = value.get("spellings"), ("n_sentences", "n_ids", "crc32")
    is_formed = (
        isinstance(spellings, list)
        and all(isinstance(each, str) for each in spellings)
        and all(type(value.get(name)) is int for name in numbers)
    )
    return value if is_formed and _is_sound(path, value, n_words=n_words) else None


def _is_sound(path: Path, value: Json, *, n_words: int) -> bool:
    """Whether the ids are those that were written, and each has a word or spelling.

    The checksum finds damage, the range also what a stranger made up.
    """
    if value["n_ids"] < 1 or path.stat().st_size != 4 * value["n_ids"]:
        return False
    ids = np.memmap(path, dtype="<i4", mode="r")
    checksum = 0
    for first in range(0, len(ids), BLOCK):
        part = ids[first : first + BLOCK]
        checksum = crc32(part.data, checksum)
        if part.min() < 0 or part.max() >= n_words + len(value["spellings"]):
            return False
    return bool(checksum == value["crc32"])
