"""KenLM's lmplz as an engine: for texts that do not fit into memory, since it sorts on disk.

lmplz refuses `<unk>` in a text. It is given a byte instead that no UTF-8 text has, so no word can
be mistaken for it; in the ARPA file the byte is replaced again, and lmplz's own `<unk>`, a word
that does not occur, is taken out. That word keeps its share of the unigrams' back-off: the other
words sum to a little less than 1 (by 4.7e-6 on the Penn Treebank without a context, by less in
one). charlm's own estimator has no such word, so its probabilities are that much higher.
"""

import errno
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from charlm.errors import ConfigError, DataError
from charlm.limits import memory_there
from charlm.ngram.files.arpa_writing import capital_unk
from charlm.ngram.files.kenlm_binary import reason_of
from charlm.ngram.ngram_options import Start
from charlm.text.corpus.tokens import CAPITAL_UNK, UNK_WORD, is_literal_unk
from charlm.text.io.files import packed_write, scratch_file
from charlm.text.io.paths import working_folder_of

PROGRAM = "lmplz"
HOW_TO_GET_IT = "build it from KenLM's source with cmake and Boost, and name it with --lmplz PATH"

UNK_BYTES = UNK_WORD.encode()
UNK_STAND_IN = b"\xff"
WORD_BREAKS = re.compile("[\0\r\v\f]")  # lmplz or readers of ARPA part words there
# lmplz touches an eighth of what it is allowed, whatever the text: the half of a large machine
# would cost seconds, while 4 GiB sort any text in two passes.
MEMORY = 4 << 30
BLOCK = 1 << 20
SHOWN = 60

UNIGRAMS = b"\\1-grams:\n"
HEAD_LINE = re.compile(rb"\n|\\(data\\|1-grams:)\n|ngram [0-9]{1,2}=[0-9]{1,18}\n")
START_LINES = {"lmplz": b"0\t<s>", "srilm": b"-99\t<s>"}
UNK_LINE = re.compile(rb"[^\t]*\t<unk>[\t\n]")
ARPA_END = b"\\end\\"
FALLBACK = re.compile(rb"Substituting fallback discounts for order ([0-9]+)")


@dataclass(frozen=True)
class LmplzResult:
    """What lmplz estimated, by order."""

    n_ngrams: tuple[int, ...]
    fallback_orders: tuple[int, ...]  # for which the text gave no discounts


def find_lmplz(path: str | Path | None) -> Path:
    """The program at `path`, or the one on the PATH.

    Raises:
        ConfigError: there is none, or it cannot be run.
    """
    if path is None:
        found = shutil.which(PROGRAM)
        if found is None:
            raise ConfigError(f"lmplz: not on the PATH; expected KenLM's; {HOW_TO_GET_IT}")
        return Path(found).absolute()
    if not Path(path).is_file():
        found_there = "is a folder" if Path(path).is_dir() else "no such file"
        raise ConfigError(f"--lmplz {path}: {found_there}; expected KenLM's lmplz; {HOW_TO_GET_IT}")
    if not os.access(path, os.X_OK):
        raise ConfigError(f"--lmplz {path}: may not be run; expected a program; try chmod +x")
    return Path(path).absolute()


def estimate_with_lmplz(
    sentences: Iterable[list[str]],
    out: str | Path,
    *,
    program: Path,
    order: int,
    prune: Sequence[int],
    start: Start = "lmplz",
    name: str = "text",
) -> LmplzResult:
    """Estimate a Kneser–Ney model and write it to `out`, compressed by its suffix, atomically.

    Meanwhile the text and lmplz's own files lie in the folder of `out`, without a name. Words of a
    closed vocabulary that do not occur are not in the model: lmplz cannot be told about them.
    `start` is how the log10 probability of `<s>` is written, `name` what messages call the text.

    Raises:
        ConfigError: `program` cannot be started.
        DataError: no sentence, or so few that lmplz would prune `</s>`; a word that lmplz would cut
            or ARPA cannot hold; or lmplz failed.
        OSError: as the system gave it.
    """
    folder = working_folder_of(out).absolute()
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(out))
    with scratch_file(folder) as text, scratch_file(folder) as log:
        n_sentences, n_unk = _write_text(sentences, text, name=name)
        if order > 1:
            _refuse_to_prune_ends(n_sentences, prune, name=name)
        command = _command(program, folder, order=order, prune=prune)
        with (
            _running(command, stdin=text, stderr=log) as process,
            packed_write(out, through_links=True) as arpa,
        ):
            # The text and the log are files, so this pipe is all that either side can wait for,
            # and charlm, which dies of writing to a closed pipe, writes to none.
            source = cast(BinaryIO, process.stdout)
            # Where the stand-in is pruned, lmplz's own `<unk>` is the only one.
            n_ngrams = _copy_head(source, arpa, program=program, drops_unk=n_unk > prune[0])
            is_whole = _copy_body(source, arpa, start=start)
            status = process.wait()
            log.seek(0)
            messages = log.read()
            if status or not is_whole:
                raise DataError(_failure(program, status, messages))
    fallback = tuple(int(n) + 1 for n in FALLBACK.findall(messages))  # lmplz counts from 0
    return LmplzResult(n_ngrams, fallback)


def _refuse_to_prune_ends(n_sentences: int, prune: Sequence[int], *, name: str) -> None:
    """Refuse pruning of `</s>`: lmplz lists it anyway, with probability 1, and miscounts words."""
    if n_sentences <= prune[0]:
        shown = ",".join(map(str, prune))
        raise DataError(
            f"{name}: {n_sentences} sentences, and lmplz makes a broken model where --prune "
            f"{shown} leaves out words that are as rare as </s>; expected more sentences than "
            "that; use --engine charlm"
        )


def _write_text(sentences: Iterable[list[str]], file: BinaryIO, *, name: str) -> tuple[int, int]:
    """Write a text for lmplz from the file's start; returns how many sentences and `<unk>`."""
    n_unk = 0
    number = 0
    file.write(b" ")  # lmplz would take a text that begins with "BZh" for a packed one
    for number, words in enumerate(sentences, 1):
        line = " ".join(words)
        if WORD_BREAKS.search(line):
            word = next(word for word in words if WORD_BREAKS.search(word))
            raise DataError(
                f"{name}:{number}: word {word!r} holds white space, and lmplz parts words "
                "there; expected words without; clean the text with `charlm prep`"
            )
        if CAPITAL_UNK in line and CAPITAL_UNK in words:
            raise DataError(capital_unk(f"{name}:{number}"))
        if UNK_WORD in line:
            n_unk += sum(map(is_literal_unk, words))
            stand_ins = (UNK_STAND_IN if is_literal_unk(w) else w.encode() for w in words)
            file.write(b" ".join(stand_ins))
        else:
            file.write(line.encode())
        file.write(b"\n")
    if not number:
        raise DataError(f"{name}: no sentence; expected one a line")
    file.flush()
    file.seek(0)
    return number, n_unk


def _command(program: Path, folder: Path, *, order: int, prune: Sequence[int]) -> list[str]:
    memory = min(MEMORY, memory_there() // 2)
    return [
        *(str(program), "--order", str(order), "--discount_fallback"),
        *("--prune", *map(str, prune)),
        *("--memory", f"{memory}b", "--temp_prefix", f"{folder}{os.sep}.lmplz-"),
    ]


@contextmanager
def _running(
    command: list[str], *, stdin: BinaryIO, stderr: BinaryIO
) -> Iterator[subprocess.Popen[bytes]]:
    """A program that ends with the block, however that ends."""
    try:
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"{command[0]}: cannot be started ({reason}); expected KenLM's lmplz; {HOW_TO_GET_IT}"
        ) from None
    with process:
        try:
            yield process
        finally:
            process.kill()  # does nothing where it has ended


def _copy_head(
    source: BinaryIO, target: BinaryIO, *, program: Path, drops_unk: bool
) -> tuple[int, ...]:
    """Copy up to the first unigram, lmplz's `<unk>`; the sizes, or none if the file ends before."""
    lines: list[bytes] = []
    while len(lines) < 2 or lines[-2] != UNIGRAMS:
        line = source.readline(BLOCK)
        if not line:
            return ()
        if not (UNK_LINE if lines and lines[-1] == UNIGRAMS else HEAD_LINE).match(line):
            found = line[:SHOWN].decode(errors="replace")
            raise DataError(f"{program}: wrote {found!r}; expected lmplz's ARPA; is it KenLM's?")
        lines.append(line)
    sizes = [int(line.partition(b"=")[2]) for line in lines if line.startswith(b"ngram ")]
    n_ngrams = (sizes[0] - drops_unk, *sizes[1:])
    if drops_unk:
        lines.pop()
        lines[lines.index(b"ngram 1=%d\n" % sizes[0])] = b"ngram 1=%d\n" % n_ngrams[0]
    target.writelines(lines)
    return n_ngrams


def _copy_body(source: BinaryIO, target: BinaryIO, *, start: Start) -> bool:
    r"""Copy the rest, `<s>` first, with `<unk>` back in place; whether it ends with `\end\`."""
    last = b""
    target.write(source.readline(BLOCK).replace(START_LINES["lmplz"], START_LINES[start]))
    while block := source.read(BLOCK):
        target.write(block.replace(UNK_STAND_IN, UNK_BYTES))
        last = (last + block)[-2 * len(ARPA_END) :]
    return last.rstrip().endswith(ARPA_END)


def _failure(program: Path, status: int, messages: bytes) -> str:
    """One line about a program that made no model."""
    if status == -signal.SIGKILL:
        return f"{program}: was killed; expected a model; it may have run out of memory"
    reason = reason_of(messages)
    how = f"killed by signal {-status}" if status < 0 else f"status {status}"
    said = f" and said {reason!r}" if reason else ""
    return f"{program}: ended without a model ({how}){said}; expected KenLM's lmplz and a full ARPA"
