"""The program of each process that `Readers` starts: it counts or encodes ranges of a text.

The first line that it reads is its job, each further one the bytes of a range, or the number of a
part of what it keeps until all ranges are read; it ends when its input closes. An answer is a
line of JSON, and behind it as many bytes as it says.
"""

import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Protocol

from charlm.errors import DataError
from charlm.text.corpus.line_blocks import TextBlock, read_range
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.ranges import COUNT, ENCODE, Json
from charlm.text.vocabulary.counts import CountFiles, Tally
from charlm.text.vocabulary.encoding import BlockEncoder
from charlm.text.vocabulary.vocabulary import Inventory

Reply = tuple[Json, bytes | bytearray]


def main() -> None:
    """Answer what stands in standard input."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever asked is gone: nothing to say
    job = json.loads(sys.stdin.buffer.readline())
    work = _WORK[job["job"]](job)
    for line in sys.stdin.buffer:
        answer, payload = _answered(work, job["path"], json.loads(line))
        head = json.dumps({**answer, "n_bytes": len(payload)}, ensure_ascii=False)
        sys.stdout.buffer.write(head.encode(errors="surrogatepass") + b"\n")
        sys.stdout.buffer.write(payload)
        sys.stdout.buffer.flush()


class _Work(Protocol):
    def take(self, blocks: Iterator[TextBlock]) -> Reply:
        """What is told of a range."""

    def part(self, number: int) -> bytes:
        """A part of what was kept."""


def _answered(work: _Work, path: str, question: list[int] | int) -> Reply:
    try:
        if isinstance(question, int):
            return {}, work.part(question)
        start, end = question
        first = 2 if start else 1  # a byte order mark is none but in the first line of a text
        return work.take(read_range(path, start=start, end=end, first=first))
    except DataError:  # the caller knows the number of the line
        return {"is_refused": True}, b""
    except OSError as error:
        return {"error": [error.errno, error.strerror, error.filename]}, b""
    except MemoryError:
        return {"error": [errno.ENOMEM, os.strerror(errno.ENOMEM), path]}, b""


class _Counting:
    """Counts are kept until the end, then told part by part, so that none need hold them all."""

    def __init__(self, job: Json) -> None:
        self._tally = Tally(_normalisation(job), files=CountFiles())

    def take(self, blocks: Iterator[TextBlock]) -> Reply:
        n_lines, n_before = 0, self._tally.n_sentences
        for block in blocks:
            self._tally.add(block)
            n_lines += block.n_lines
        return {"n_lines": n_lines, "n_sentences": self._tally.n_sentences - n_before}, b""

    def part(self, number: int) -> bytes:
        if number == 0:
            self._tally.put_down()
        return self._tally.files.part(number)


class _Encoding:
    """Ids from V on are a range's own, in the order of the tokens that come with them."""

    def __init__(self, job: Json) -> None:
        normalisation = _normalisation(job) or Normalisation()
        inventory = Inventory(tuple(job.pop("words")), (), (), normalisation=normalisation)
        self._encoder = BlockEncoder(inventory, oov_input=job["oov_input"])

    def take(self, blocks: Iterator[TextBlock]) -> Reply:
        n_lines = n_sentences = 0
        payload = bytearray()
        for block in blocks:
            ids, n_more = self._encoder.ids(block)
            payload += ids.tobytes()
            n_lines += block.n_lines
            n_sentences += n_more
        told = {"n_lines": n_lines, "n_sentences": n_sentences, "tokens": self._encoder.forget()}
        return told, payload

    def part(self, number: int) -> bytes:
        raise NotImplementedError  # nothing is kept


def _normalisation(job: Json) -> Normalisation | None:
    rules = job["normalisation"]
    return None if rules is None else Normalisation.from_dict(rules, "text rules")


_WORK: dict[str, Callable[[Json], _Work]] = {COUNT: _Counting, ENCODE: _Encoding}
