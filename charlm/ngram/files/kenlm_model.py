"""Scores by KenLM's Python module, for ARPA files and its own binary ones.

The module is a C++ extension that not every machine can compile: only this file may import it. It
allocates what an ARPA header claims, so the claim is first compared with the file's length. Binary
files are mapped into memory as they are: a damaged one can crash the program.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import TokenScores, require_probabilities
from charlm.ngram.files.arpa_reading import read_arpa_head
from charlm.ngram.word_ids import MARKS, UNK, WordIds
from charlm.text.corpus.tokens import END_WORD, UNK_WORD
from charlm.text.io.files import is_compressed, name_in_utf8, open_bytes
from charlm.text.perplexity.score_streams import KENLM_NOTHING

HOW_TO_GET_IT = "pip install 'charlm[kenlm]' (README.md: how for Python 3.13 and newer)"
BINARY_MAGIC = b"mmap lm http://kheafield.com/code"
LEAST_ORDER = 2  # KenLM refuses unigram models
LINE_BYTES = 4  # of the shortest line of an n-gram: `0 a` and LF
MOST_PACKED = 1100  # the most that gzip packs into a byte, and a little more
ROUNDING = 1e-5  # log10; its sums are in fp32
STDERR = 2  # C++ knows nothing of sys.stderr
# `Cannot read model 'a' (FILE.cc:65 in void lm::f() threw FormatLoadException because `i != 1'. `
EXCEPTION = re.compile(r"^Cannot read model '.*?' \((?:.* threw \S+?(?: because `.*?')?\.\s+)?")
WHERE = re.compile(r"\s*(?:in the .* at )?\bByte: \d.*$")
LONGEST_REASON = 80


def has_kenlm() -> bool:
    """Whether KenLM's Python module is installed, and whole."""
    return _trouble() is None


def _trouble() -> str | None:
    """Why KenLM's Python module cannot be used."""
    try:
        module = import_module("kenlm")
    except ModuleNotFoundError:
        return "not installed"
    except ImportError as error:  # compiled for another Python or C++
        return f"does not load ({str(error).partition(chr(10))[0]:.{LONGEST_REASON}})"
    return None if hasattr(module, "Model") else "not installed"  # a folder of that name


def is_kenlm_binary(path: str | Path) -> bool:
    """Whether a file is what `build_binary` writes."""
    with open_bytes(path) as file:
        return file.read(len(BINARY_MAGIC)) == BINARY_MAGIC


class KenLMModel:
    """A model that KenLM has loaded."""

    precision = "fp32"

    def __init__(self, path: str | Path) -> None:
        """
        Raises:
            ConfigError: KenLM's module is missing.
            DataError: a file that KenLM does not take.
        """
        self.path = Path(path)
        trouble = _trouble()
        if trouble is not None:
            raise ConfigError(
                f"kenlm: {trouble}; expected its Python module; {HOW_TO_GET_IT}, or take --engine "
                "charlm and an ARPA file"
            )
        self.sizes: tuple[int, ...] = ()  # a binary does not tell
        self.words: tuple[str, ...] | None = None
        if not is_kenlm_binary(path):
            self.sizes, self.words = read_arpa_head(path)
            _check_claims(self.path, self.sizes)
        self._model = _loaded(self.path, words=self.words)

    @property
    def order(self) -> int:
        return int(self._model.order)

    @cached_property
    def word_ids(self) -> WordIds:
        """KenLM's ids for an ARPA file; a binary does not list its own: words as they come."""
        if self.words is None:
            return WordIds(MARKS)
        return WordIds(dict.fromkeys((UNK_WORD, *self.words)), closed=True)

    def score(self, sentences: Sequence[list[str]], *, marked: bool = True) -> TokenScores:
        """log10 probabilities of all tokens of sentences; OOVs are `<unk>`.

        Those that are `marked` start from `<s>` and end with `</s>`, the others from no context.

        Raises:
            DataError: a probability of more than 1, which the back-offs of a broken file can make.
        """
        import kenlm

        ids: list[int] = []
        log10s: list[float] = []
        lengths: list[int] = []
        state, following = kenlm.State(), kenlm.State()
        ask = self._model.BaseFullScore
        begin = self._model.BeginSentenceWrite if marked else self._model.NullContextWrite
        ends = (END_WORD,) if marked else ()
        for words in sentences:
            begin(state)
            for word in (*words, *ends):
                answer = ask(state, word, following)
                state, following = following, state
                ids.append(UNK if answer.oov else self.word_ids[word])
                log10s.append(answer.log_prob)
                lengths.append(answer.ngram_length)
        scores = np.array(log10s, np.float64)
        scores[scores <= KENLM_NOTHING] = -np.inf
        require_probabilities(scores, source=str(self.path), rounding=ROUNDING)
        return TokenScores(np.array(ids, np.int32), scores, np.array(lengths, np.int8))


def _check_claims(path: Path, sizes: Sequence[int]) -> None:
    """Check a file before KenLM, which allocates memory before it reads, loads it."""
    if len(sizes) < LEAST_ORDER:
        raise DataError(f"{path}: order 1; KenLM expects 2 or more; use --engine charlm")
    n_bytes = path.stat().st_size * (MOST_PACKED if is_compressed(path) else 1)
    if sum(sizes) * LINE_BYTES > n_bytes:
        raise DataError(
            f"{path}: the header claims {sum(sizes)} n-grams; expected at most "
            f"{n_bytes // LINE_BYTES} in {path.stat().st_size} bytes; is the file whole?"
        )


@contextmanager
def _silenced() -> Iterator[None]:
    """Drop what C++ writes to standard error.

    KenLM says of a file without `<unk>` that it takes -100 there, which is 0 to us.
    """
    kept, nowhere = os.dup(STDERR), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, STDERR)
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)
        os.close(nowhere)


def _loaded(path: Path, *, words: Sequence[str] | None) -> Any:  # the module says no types
    import kenlm

    quiet = nullcontext() if words is None or UNK_WORD in words else _silenced()
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        with quiet, name_in_utf8(path) as name:
            return kenlm.Model(name, config)
    except (OSError, UnicodeDecodeError) as error:  # its message may cite bytes
        hint = (
            "try --engine charlm, which takes it or tells the line"
            if words is not None
            else "make it again"
        )
        raise DataError(
            f"{path}: KenLM does not take it ({_reason(str(error))}); expected an ARPA file or "
            f"KenLM's binary; {hint}"
        ) from None


def _reason(message: str) -> str:
    """The first sentence of KenLM's message, without the place in its source code."""
    said = WHERE.sub("", EXCEPTION.sub("", " ".join(message.split())).removesuffix(")"))
    first = re.split(r"(?<=[a-z0-9])\. ", said)[0].strip(" .")
    return first if len(first) <= LONGEST_REASON else f"{first[:LONGEST_REASON]}..."
