"""Loading an n-gram model from a file, and what every such model answers.

KenLM loads ARPA five times as fast as we do and takes its own binaries; ours is there for unigram
models and for machines without KenLM's module. Their answers differ by fp32's rounding alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from charlm.errors import ConfigError
from charlm.ngram.arpa_reading import read_arpa, read_arpa_head
from charlm.ngram.backoff import TokenScores
from charlm.ngram.kenlm_model import LEAST_ORDER, KenLMModel, has_kenlm, is_kenlm_binary

Engine = Literal["auto", "charlm", "kenlm"]
ENGINES = ("auto", "charlm", "kenlm")


class NgramModel(Protocol):
    """An n-gram model that can be asked."""

    @property
    def precision(self) -> str:
        """The number format of its answers."""

    @property
    def order(self) -> int:
        """The length of its longest n-grams."""

    def score(self, sentences: Sequence[list[str]]) -> TokenScores:
        """log10 probabilities of all tokens of sentences, each from `<s>`; OOVs are `<unk>`."""


def load_ngram(path: str | Path, *, engine: Engine = "auto") -> NgramModel:
    """The model in an ARPA file or in KenLM's binary.

    Raises:
        ConfigError: an engine that is unknown, missing, or unable to read this file.
        DataError: a broken file.
    """
    if engine not in ENGINES:
        raise ConfigError(f"--engine {engine!r}: expected one of {', '.join(ENGINES)}")
    if is_kenlm_binary(path):
        if engine == "charlm" or not has_kenlm():
            raise ConfigError(
                f"{path}: KenLM's binary; expected KenLM's Python module (--engine kenlm) to read "
                "it, or an ARPA file"
            )
        return KenLMModel(path)
    if engine == "kenlm":
        return KenLMModel(path)
    if engine == "auto" and has_kenlm() and len(read_arpa_head(path).sizes) >= LEAST_ORDER:
        return KenLMModel(path)
    return read_arpa(path)
