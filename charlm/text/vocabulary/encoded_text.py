"""A text encoded into files, once: little-endian int32 ids, and JSON that says what they are of.

They are memory-mapped. Before a run goes on with them they are read through: what no longer is what
was written is made again.
"""

from pathlib import Path
from zlib import crc32

import numpy as np

from charlm.errors import DataError
from charlm.text.io.files import atomic_write, read_json, sha256_of, write_json
from charlm.text.vocabulary.encoding import EncodedText, Encoding
from charlm.text.vocabulary.vocabulary import Inventory

BLOCK = 1 << 16  # tokens held in memory while a text is checked


def encode_text(
    path: str | Path,
    inventory: Inventory,
    *,
    stem: Path,
    max_tokens: int = 0,
    oov_input: str = "spelling",
    threads: int | None = None,
) -> EncodedText:
    """Encode a text once into `stem`.ids (little-endian int32) and `stem`.json, memory-mapped.

    Where `oov_input` is `unk` nobody will ask how a token outside the vocabulary is spelled: its
    id is `<unk>`'s, and no spelling is kept. Several processes, as many as `threads`, give what one
    gives; a text that is small, packed or not to be read to its end has one.

    Raises:
        DataError: as `read_sentences`, or no sentence at all.
        ProcessError: a process ended before its time.
    """
    wanted = _wanted(path, inventory, max_tokens=max_tokens, oov_input=oov_input)
    return _encode(path, inventory, stem=stem, wanted=wanted, threads=threads)


def reopen_text(
    path: str | Path,
    inventory: Inventory,
    *,
    stem: Path,
    max_tokens: int = 0,
    oov_input: str = "spelling",
    threads: int | None = None,
) -> EncodedText:
    """What `encode_text` left at `stem`, made again where it is missing, damaged or of other text.

    Raises:
        DataError, ProcessError: as `encode_text`.
    """
    wanted = _wanted(path, inventory, max_tokens=max_tokens, oov_input=oov_input)
    value = _description(stem)
    if _describes(value, wanted) and _is_sound(stem, value, n_words=inventory.n_words):
        return _mapped(stem, value)
    return _encode(path, inventory, stem=stem, wanted=wanted, threads=threads)


def _encode(
    path: str | Path,
    inventory: Inventory,
    *,
    stem: Path,
    wanted: dict[str, str | int],
    threads: int | None,
) -> EncodedText:
    encoding = Encoding(inventory, oov_input=str(wanted["oov_input"]))
    max_tokens = int(wanted["max_tokens"])
    pieces = encoding.pieces(path, max_tokens=max_tokens, threads=threads)
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
        raise DataError(f"{path}: no sentence; expected one a line" + _limit_note(max_tokens))
    counts = {"n_sentences": n_sentences, "n_ids": n_ids, "crc32": checksum}
    value: dict[str, object] = {**wanted, **counts, "spellings": encoding.spellings}
    write_json(stem.with_suffix(".json"), value)
    return _mapped(stem, value)


def _limit_note(max_tokens: int) -> str:
    return f", the first of at most {max_tokens} tokens" if max_tokens else ""


def _wanted(
    path: str | Path, inventory: Inventory, *, max_tokens: int, oov_input: str
) -> dict[str, str | int]:
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


def _describes(value: dict[str, object], wanted: dict[str, str | int]) -> bool:
    """Whether a description is of this text in this vocabulary, and well formed."""
    spellings = value.get("spellings")
    return (
        all(value.get(key) == expected for key, expected in wanted.items())
        and isinstance(spellings, list)
        and all(isinstance(each, str) for each in spellings)
        and type(value.get("n_sentences")) is int
        and type(value.get("n_ids")) is int
        and type(value.get("crc32")) is int
    )


def _is_sound(stem: Path, value: dict[str, object], *, n_words: int) -> bool:
    """Whether the ids are those that were written, and each has a word or spelling.

    The checksum finds what was damaged, the range also what a stranger made up.
    """
    path, spellings, n_ids = stem.with_suffix(".ids"), value["spellings"], value["n_ids"]
    assert isinstance(spellings, list) and isinstance(n_ids, int)
    if n_ids < 1 or path.stat().st_size != 4 * n_ids:
        return False
    ids = np.memmap(path, dtype="<i4", mode="r")
    checksum = 0
    for first in range(0, n_ids, BLOCK):
        part = ids[first : first + BLOCK]
        checksum = crc32(part.data, checksum)
        if part.min() < 0 or part.max() >= n_words + len(spellings):
            return False
    return checksum == value["crc32"]


def _mapped(stem: Path, value: dict[str, object]) -> EncodedText:
    ids = np.memmap(stem.with_suffix(".ids"), dtype="<i4", mode="r")
    spellings, n_sentences = value["spellings"], value["n_sentences"]
    assert isinstance(spellings, list) and isinstance(n_sentences, int)
    return EncodedText(ids, tuple(spellings), n_sentences, str(value["sha256"]))
