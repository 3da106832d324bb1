"""The words' vectors at a tap, of length 1 in fp16: cached in the run directory, memory-mapped.

`vectors-TAP.safetensors` carries a key of everything that decides its numbers, including the
weights' hash: after further training an older file is never used. A file that is stale, truncated
or not ours is made again; if none can be written, the vectors are kept in memory.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from torch.nn import functional

from charlm.insight.vectors.taps import Vectors
from charlm.text.io.files import atomic_write, name_in_utf8, write_if_possible
from charlm.version import __version__

FORMAT = 1
LEAST_KEPT = 4096  # words; fewer are encoded in less time than a user notices
WORDS_AT_ONCE = 8192
NAME, KEY = "vectors", "key"
# Of the cosine of a unit vector and another in fp16: 2^-11 of each number at most, and what fp32
# sums and the smallest numbers of fp16 add.
ERROR = 2**-11 + 1e-5

Tell = Callable[[str], object]


def kept_path(run: Path, tap: str) -> Path:
    """The file with the vectors of a run at a tap."""
    return run / f"vectors-{tap}.safetensors"


def unit_vectors(vectors: Vectors, tap: str, *, tell: Tell | None = None) -> Tensor:
    """The vectors of all words at a tap, (V, E), fp16, of length 1; zero vectors stay zero.

    `tell` is called before long work, and about a file that could not be written.
    """
    if tap not in vectors.units:
        vectors.units[tap] = _read_or_encoded(vectors, tap, tell=tell)
    return vectors.units[tap]


def _read_or_encoded(vectors: Vectors, tap: str, *, tell: Tell | None) -> Tensor:
    run = vectors.run
    n_words, dim = run.inventory.n_words, vectors.widths[tap]
    if n_words < LEAST_KEPT:
        return torch.cat(list(_blocks(vectors, tap)))
    path, key = kept_path(run.path, tap), _key(vectors, tap)
    kept_VE = _mapped(path, key=key, shape=(n_words, dim))
    if kept_VE is not None:
        return kept_VE
    tell = tell or (lambda line: None)
    tell(f"{path}: made once, of {n_words:,} words")
    with write_if_possible(path, tell, otherwise="; the vectors are kept in memory"):
        _write(path, _blocks(vectors, tap), key=key, shape=(n_words, dim))
        kept_VE = _mapped(path, key=key, shape=(n_words, dim))
    return torch.cat(list(_blocks(vectors, tap))) if kept_VE is None else kept_VE


def units(vectors_NE: Tensor) -> Tensor:
    """Vectors of length 1 in the same directions; zero vectors stay zero.

    In float64: fp32 cannot hold the squares of 1e-24 and 1e25.
    """
    return functional.normalize(vectors_NE.double(), eps=1e-300).to(vectors_NE.dtype)


def _blocks(vectors: Vectors, tap: str) -> Iterator[Tensor]:
    n_words = vectors.run.inventory.n_words
    for first in range(0, n_words, WORDS_AT_ONCE):
        numbers = np.arange(first, min(first + WORDS_AT_ONCE, n_words))
        yield units(vectors.of_words(numbers, tap=tap)).half()


def _key(vectors: Vectors, tap: str) -> str:
    run = vectors.run
    value = [FORMAT, __version__, tap, run.weights_sha256, run.inventory.sha256, run.settings]
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _write(path: Path, blocks: Iterator[Tensor], *, key: str, shape: tuple[int, int]) -> None:
    """Write a safetensors file block by block: the library needs all of it in memory, twice."""
    n_bytes = 2 * shape[0] * shape[1]
    entry = {"dtype": "F16", "shape": shape, "data_offsets": [0, n_bytes]}
    header = json.dumps({"__metadata__": {KEY: key}, NAME: entry}).encode()
    header += b" " * (-len(header) % 8)  # the format aligns what follows
    with atomic_write(path) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for block in blocks:
            file.write(block.numpy().astype("<f2", copy=False).tobytes())


def _mapped(path: Path, *, key: str, shape: tuple[int, int]) -> Tensor | None:
    """The memory-mapped file of `_write`; None if it is missing, stale or damaged."""
    if not path.is_file():
        return None
    try:
        with name_in_utf8(path) as name, safe_open(name, framework="pt") as file:
            if (file.metadata() or {}).get(KEY) != key:
                return None
            held = file.get_slice(NAME)
            if held.get_dtype() != "F16" or tuple(held.get_shape()) != shape:
                return None  # not read: a shape that a stranger made up may be none of torch's
            kept_VE: Tensor = file.get_tensor(NAME)
    except (SafetensorError, OSError):
        return None
    return kept_VE
