"""Several processes that read one text together, a range of its lines at a time.

Each runs this Python with `main` alone: multiprocessing would run the caller's script again.
Whatever ends the caller closes the pipes that its readers read from, and so ends them. Work,
questions and answers are pickled.
"""

import errno
import io
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, NoReturn, cast

from charlm.errors import DataError, ProcessError
from charlm.limits import n_cores
from charlm.text.corpus.line_blocks import read_range
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.io.files import display_name, is_compressed
from charlm.text.io.lines import LONGEST

LEAST_BYTES = 50_000_000  # of a smaller text one process has read much when others have started
RANGE_BYTES = 1 << 24
MOST_READERS = 16  # a caller that puts answers together keeps up with no more
# `-P` and the end of the path: whatever lies in the working folder must not be imported.
PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]);from charlm.text.corpus.ranges import main; main()"
)

REFUSED = None  # the answer where a line is refused
Range = tuple[int, int]  # bytes: from a line's start to another's


def n_readers(path: str | Path, *, threads: int | None = None) -> int:
    """How many processes read a text: `threads`, or one a core; one if it is small or compressed.

    Pipes and compressed texts can only be read from the start.
    """
    size = Path(path).stat().st_size if str(path) != "-" and Path(path).is_file() else 0
    if size < LEAST_BYTES or is_compressed(path):
        return 1
    return min(threads or n_cores(), -(-size // RANGE_BYTES), MOST_READERS)


def line_ranges(path: str | Path) -> Iterator[Range]:
    """The bytes of a text in ranges that begin where a line begins."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        end = 0
        while end < size:
            start = end
            file.seek(min(start + RANGE_BYTES, size))
            file.readline(LONGEST + 1)  # a reader refuses a line that is longer
            end = file.tell()
            yield start, end


class Readers:
    """Processes that do the same work on one text; they end with the context.

    Each has a copy of `work`: its `take` is given the blocks of a range, its `part` the name of a
    part of what it has kept. `over_ranges` and `answers` yield what these two return.
    """

    def __init__(
        self, n: int, path: str | Path, *, work: object, normalisation: Normalisation | None
    ) -> None:
        self.path = path
        self.normalisation = normalisation
        work_and_path = pickle.dumps((str(path), work))
        self.readers = [_Reader(display_name(path), work_and_path) for _ in range(n)]
        self._idle: SimpleQueue[_Reader] = SimpleQueue()
        for reader in self.readers:
            self._idle.put(reader)
        self._threads = ThreadPoolExecutor(n, initializer=_block_closed_pipes)

    def __enter__(self) -> "Readers":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for reader in self.readers:
            reader.end()
        self._threads.shutdown()

    def over_ranges(self) -> Iterator[Any]:
        """An answer for each range of the text, in its order.

        Raises:
            DataError: as `TextBlock.sentences`, with the number of the line in the whole text.
            ProcessError: a process ended before its time.
        """
        for question, future in self._asked():
            answer = future.result()
            if answer is REFUSED:
                self._refuse(question)
            yield answer

    def _asked(self) -> Iterator[tuple[Range, Future[Any]]]:
        """Ask for every range, but for only a few before the first answer is taken."""
        pending: deque[tuple[Range, Future[Any]]] = deque()
        for question in line_ranges(self.path):
            pending.append((question, self._threads.submit(self._ask, question)))
            if len(pending) > 2 * len(self.readers):
                yield pending.popleft()
        yield from pending

    def _ask(self, question: Range) -> Any:
        reader = self._idle.get()
        try:
            return reader.ask(question)
        finally:
            self._idle.put(reader)

    def _refuse(self, question: Range) -> NoReturn:
        """Raise what a process met in a range, whose first line it does not know the number of."""
        start, end = question
        before = read_range(self.path, start=0, end=start, first=1)
        first = 1 + sum(block.n_lines for block in before)
        for block in read_range(self.path, start=start, end=end, first=first):
            for _ in block.sentences(self.normalisation):
                pass
        raise DataError(f"{self.path}: changed while it was read; expected a text that stays")

    def answers(self, question: int) -> list[Any]:
        """What each process, after the last range, returns for that part of what it kept."""
        return list(self._threads.map(lambda each: each.ask(question), self.readers))


def _block_closed_pipes() -> None:
    """Make a closed pipe an error in this thread; elsewhere it may end us (`cli.boundary`)."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])


class _Reader:
    """One process, and the pipes to and from it."""

    def __init__(self, name: str, work: bytes) -> None:
        self._name = name
        self._unsent = work
        folder = Path(__file__).parents[3]  # which holds charlm
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for the caller to answer
        )
        self._stdin = cast(IO[bytes], self._process.stdin)
        self._stdout = io.BufferedReader(cast(io.RawIOBase, self._process.stdout))

    def ask(self, question: Range | int) -> Any:
        """The answer.

        Raises:
            ProcessError: it ends without one.
            OSError: what the process met.
        """
        try:
            self._write(self._unsent + pickle.dumps(question))
            self._unsent = b""
            answer = pickle.load(self._stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):  # it may be killed within one
            raise ProcessError(
                f"{self._name}: a process that read it ended with status {self._process.wait()}; "
                "expected it to read to the end; --threads 1 reads in one, with the least memory"
            ) from None
        if isinstance(answer, OSError):
            raise answer
        return answer

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[self._stdin.write(left) :]

    def end(self) -> None:
        """Kill it: it holds nothing that is needed."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            self._stdin.close()
        self._stdout.close()


def main() -> None:
    """The program of each process: it answers requests on standard input until that closes."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever asked is gone: nothing to say
    path, work = pickle.load(sys.stdin.buffer)
    with suppress(EOFError):
        while True:
            answer = _answer(work, path, pickle.load(sys.stdin.buffer))
            pickle.dump(answer, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _answer(work: Any, path: str, question: Range | int) -> Any:
    try:
        if isinstance(question, int):
            return work.part(question)
        start, end = question
        first = 2 if start else 1  # a byte order mark is none but in the first line of a text
        return work.take(read_range(path, start=start, end=end, first=first))
    except DataError:  # the caller finds the number of the line
        return REFUSED
    except OSError as error:
        return error
    except MemoryError:
        return OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), path)
