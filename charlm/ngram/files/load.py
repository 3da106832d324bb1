"""Loading an n-gram model from a file, by KenLM or by our own reader.

KenLM loads ARPA twice as fast and takes its own binaries; our reader is there for ARPA files that
it refuses, for pipes, and for machines without its module. Their answers differ only by fp32
rounding. If a broken file lists an n-gram of two words or more twice, KenLM silently takes the
first; our reader refuses the file.
"""

from contextlib import suppress
from pathlib import Path
from typing import Literal

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.files.arpa_reading import read_arpa
from charlm.ngram.files.kenlm_model import HOW_TO_GET_IT, KenLMModel, has_kenlm, is_kenlm_binary
from charlm.text.io.files import Digest, display_name
from charlm.text.io.lines import CONVERT, UTF8, is_utf8
from charlm.text.io.paths import is_pipe

QueryEngine = Literal["auto", "charlm", "kenlm"]
NgramModel = BackoffModel | KenLMModel  # both answer `score` alike


def refuse_binary(path: str | Path, why: str) -> None:
    """Raises ConfigError for KenLM's binary; DataError if there is no file."""
    if not is_pipe(path):
        _require_model(path)
        if is_kenlm_binary(path):
            raise ConfigError(f"{path}: KenLM's binary, {why}")


def _require_model(path: str | Path) -> None:
    """Raises DataError for a model that is missing, or a folder."""
    if not Path(path).exists():
        raise DataError(f"{path}: no such file; expected an ARPA file or KenLM's binary")
    if Path(path).is_dir():
        raise DataError(
            f"{path}: is a folder; expected an ARPA file or KenLM's binary; runs go to --model of "
            "eval, score, tune, serve, surprisal, next or sample"
        )


def listed_ngram(path: str | Path) -> BackoffModel:
    """The model in an ARPA file, plain or compressed, with the list of its words.

    Raises:
        ConfigError: a binary of KenLM's.
        DataError: no such file, or not an ARPA file.
    """
    refuse_binary(
        path, "which does not list its words; expected the ARPA file that it was made from"
    )
    return read_arpa(path, mend=CONVERT)  # the callers have no option for another encoding


def load_ngram(
    path: str | Path,
    *,
    engine: QueryEngine = "auto",
    encoding: str = UTF8,
    digest: Digest | None = None,
) -> NgramModel:
    """The model in an ARPA file or in KenLM's binary.

    `auto` is KenLM if it is installed and takes the file, else our reader, which loads the model or
    says on which line it is broken. Pipes, whose bytes are fed to `digest`, and encodings other
    than UTF-8, since KenLM compares bytes, are read by ours.

    Raises:
        ConfigError: an engine that is missing, or unable to read this file.
        DataError: a broken or missing file.
    """
    if is_pipe(path):
        if engine == "kenlm":
            raise ConfigError(
                f"{display_name(path)}: KenLM reads no pipe; expected a file, or --engine charlm"
            )
        return read_arpa(path, encoding=encoding, digest=digest)
    _require_model(path)
    if not is_utf8(encoding):
        if engine == "kenlm" or is_kenlm_binary(path):
            raise ConfigError(
                f"{path}: KenLM reads UTF-8 alone; expected an ARPA file for --encoding {encoding}"
                ", and --engine charlm or auto"
            )
        return read_arpa(path, encoding=encoding)
    if is_kenlm_binary(path):
        if engine == "charlm":
            raise ConfigError(f"{path}: KenLM's binary; expected --engine kenlm, or an ARPA file")
        if not has_kenlm():
            raise ConfigError(
                f"{path}: KenLM's binary; expected KenLM's Python module to read it; "
                f"{HOW_TO_GET_IT}, or take an ARPA file"
            )
        return KenLMModel(path)
    if engine == "kenlm":
        return KenLMModel(path)
    if engine == "auto" and has_kenlm():
        with suppress(DataError):  # ours may take it, and tells the line if not
            return KenLMModel(path)
    return read_arpa(path)
