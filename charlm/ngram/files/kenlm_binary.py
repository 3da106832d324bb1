"""KenLM's binary files, made by its own tool if that is installed.

The tool reads an ARPA file from its standard input, so that a killed process leaves no file behind,
and writes to a neighbour of the target, which is then renamed, whole or not at all.
"""

import shutil
import subprocess
from pathlib import Path
from typing import BinaryIO

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.files.arpa_writing import arpa_blocks, require_arpa_words
from charlm.text.io.files import atomic_write, scratch_file, unpacked_name
from charlm.text.io.paths import working_folder_of

SUFFIXES = (".bin", ".binary", ".klm")
TOOL = "build_binary"
ITS_LAST_LINE = "ERROR"  # below the message of each of its failures
LONGEST_REASON = 300


def wants_binary(path: str | Path) -> bool:
    """Whether a file's name asks for KenLM's binary format.

    Raises:
        ConfigError: a compressed one, which KenLM could not map into memory.
    """
    path, unpacked = Path(path), unpacked_name(path)
    is_binary = unpacked.suffix in SUFFIXES
    if is_binary and unpacked != path:
        raise ConfigError(
            f"{path}: KenLM's binary is never packed; expected a name that ends with "
            f"{unpacked.suffix}, or .arpa{path.suffix}"
        )
    return is_binary


def require_arpa_name(arpa: str | Path) -> None:
    """Refuse a name of KenLM's binary for --arpa.

    Raises:
        ConfigError: it is one.
    """
    if wants_binary(arpa):
        raise ConfigError(
            f"--arpa {arpa}: names KenLM's binary; expected .arpa or .arpa.gz, of which `charlm "
            f"ngram --lm FILE --out {arpa}` makes it"
        )


def find_build_binary(*, beside: Path | None = None) -> Path:
    """KenLM's tool: on the PATH, else beside lmplz.

    Raises:
        ConfigError: it is not found.
    """
    found = shutil.which(TOOL)
    if found is None and beside is not None:
        found = shutil.which(TOOL, path=str(beside.parent))
    if found is None:
        raise ConfigError(
            f"{TOOL}: not on the PATH; expected KenLM's tool for {', '.join(SUFFIXES)}; install "
            "it, or give --out a name that ends with .arpa or .arpa.gz"
        )
    return Path(found)


def write_binary(model: BackoffModel, path: str | Path, *, tool: Path) -> None:
    """Write a model in KenLM's binary format, atomically.

    Raises:
        DataError: a word that ARPA cannot hold; the tool failed.
    """
    require_arpa_words(model.words, source=model.source)
    with scratch_file(working_folder_of(path)) as arpa:
        arpa.writelines(arpa_blocks(model))
        convert_to_binary(arpa, path, tool=tool)


def convert_to_binary(arpa: BinaryIO, path: str | Path, *, tool: Path) -> None:
    """Let KenLM's tool make its default (probing) structure from an ARPA file, atomically.

    Raises:
        DataError: the tool failed.
    """
    arpa.seek(0)
    with atomic_write(path, through_links=True) as out:
        # -s: `<s>` and `</s>` may be missing
        command = [str(tool), "-s", "/dev/stdin", str(out.name)]
        try:
            done = subprocess.run(command, stdin=arpa, capture_output=True, check=False)
        except OSError as error:
            raise DataError(
                f"{tool}: does not run ({error.strerror}); expected KenLM's {TOOL}"
            ) from None
        if done.returncode:
            said = reason_of(done.stderr) or "no message"
            raise DataError(f"{tool}: status {done.returncode}; expected 0; it said: {said}")


def reason_of(messages: bytes) -> str:
    """A KenLM tool's message after the line that names its exception, else its last line."""
    lines = [line.strip() for line in messages.decode(errors="replace").split("\n")]
    lines = [line for line in lines if line not in ("", ITS_LAST_LINE)]
    thrown = max((row for row, line in enumerate(lines) if " threw " in line), default=-1)
    told = lines[thrown + 1 :] if 0 <= thrown < len(lines) - 1 else lines[-1:]
    return " ".join(told)[:LONGEST_REASON]
