"""How often each token occurs in a text, counted by several processes if the text is large.

The counts are the same for any number of processes, and whether they fit into memory or not. On
disk they lie in parts, chosen by a token's checksum, so that each part can be merged by itself.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from struct import Struct
from tempfile import TemporaryFile, gettempdir
from typing import IO
from zlib import crc32

from charlm.text.corpus.line_blocks import TextBlock, read_blocks
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.ranges import Readers, n_readers
from charlm.text.corpus.sentences import read_sentences
from charlm.text.io.files import naming_full
from charlm.text.io.lines import split_words

MOST_TYPES = 2_000_000  # that a process holds, in about 300 MB; counts beyond them go to the disk
N_PARTS = 16
BLOCK = 1 << 16  # types that are written together, or whose letters are counted together
HEAD = Struct("=QQ")  # number of tokens, and of bytes that spell them


@dataclass(frozen=True)
class CountedText:
    """How often each token occurs in a text, in no particular order."""

    tokens: "TokenCounts"  # each once, `<unk>` and `<unk>:form` among them
    n_sentences: int
    source: str = "train.txt"  # as messages name it

    @cached_property
    def n_words(self) -> int:
        """Tokens less `</s>`."""
        return sum(count for _, count in self.tokens.items())

    def __iter__(self) -> Iterator[str]:
        return (token for token, _ in self.tokens.items())


def count_text(sentences: Iterable[list[str]]) -> CountedText:
    """The counts of a text that is read once."""
    tokens: Counter[str] = Counter()
    n_sentences = 0
    for words in sentences:
        tokens.update(words)
        n_sentences += 1
    return CountedText(tokens, n_sentences)


def count_letters(counts: Iterable[tuple[str, int]]) -> Counter[str]:
    """How often each character occurs, from the counts of words."""
    letters: Counter[str] = Counter()
    counts = iter(counts)
    while some := list(islice(counts, BLOCK)):
        words: dict[int, list[str]] = defaultdict(list)
        for word, count in some:
            words[count].append(word)
        for count, equals in words.items():  # most are rare: joined, C's loop counts their letters
            for letter, occurrences in Counter("".join(equals)).items():
                letters[letter] += count * occurrences
    return letters


class CountFiles:
    """Nameless files of counts, one for each part, to which one process appends.

    A token may come several times, once for each time that the table was full.
    """

    def __init__(self) -> None:
        self.parts: list[IO[bytes]] = []  # none before there is something to write

    def __enter__(self) -> "CountFiles":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.parts:
            with suppress(OSError):  # a full disk, told already, refuses the rest of it again
                file.close()

    def add(self, counts: dict[str, int]) -> None:
        parts: list[list[str]] = [[] for _ in range(N_PARTS)]
        for token in counts:
            parts[crc32(token.encode()) % N_PARTS].append(token)
        with naming_full(gettempdir()):
            if not self.parts:
                self.parts += [TemporaryFile() for _ in range(N_PARTS)]  # noqa: SIM115  # as below
            for file, tokens in zip(self.parts, parts, strict=True):
                _write(file, ((token, counts[token]) for token in tokens))
                file.flush()

    def part(self, number: int) -> bytes:
        """Take out everything that a part holds."""
        with self.parts[number] as file:
            file.seek(0)
            return file.read()


def merged(parts: Iterable[Iterable[bytes]]) -> "TokenCounts":
    """The counts of all processes summed, part by part; a dictionary if not too large."""
    items = _merged_parts(parts)
    tokens = dict(islice(items, MOST_TYPES))
    further = next(items, None)
    return tokens if further is None else _StoredCounts(chain(tokens.items(), [further], items))


def _merged_parts(parts: Iterable[Iterable[bytes]]) -> Iterator[tuple[str, int]]:
    for part in parts:
        counts: dict[str, int] = {}
        for raw in part:
            for token, count in _read(BytesIO(raw)):
                counts[token] = counts.get(token, 0) + count
        yield from counts.items()


class _StoredCounts:
    """Counts in a nameless file, each token once."""

    def __init__(self, counts: Iterable[tuple[str, int]]) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # goes when nobody holds it any more
        with naming_full(gettempdir()):
            _write(self._file, counts)
            self._file.flush()

    def items(self) -> Iterator[tuple[str, int]]:
        """Each token with its count; can be iterated again once it has ended."""
        self._file.seek(0)
        return _read(self._file)


TokenCounts = dict[str, int] | _StoredCounts


def _write(file: IO[bytes], counts: Iterable[tuple[str, int]]) -> None:
    """Write blocks of tokens, separated by LF, which no token holds, and of their 64-bit counts."""
    counts = iter(counts)
    while some := list(islice(counts, BLOCK)):
        raw = "\n".join([token for token, _ in some]).encode()
        file.write(HEAD.pack(len(some), len(raw)) + raw)
        file.write(array("q", [count for _, count in some]).tobytes())


def _read(file: IO[bytes]) -> Iterator[tuple[str, int]]:
    while head := file.read(HEAD.size):
        n_tokens, n_bytes = HEAD.unpack(head)
        tokens = file.read(n_bytes).decode().split("\n")
        yield from zip(tokens, array("q", file.read(8 * n_tokens)), strict=True)


def count_file(
    path: str | Path,
    *,
    normalisation: Normalisation | None = None,
    max_tokens: int = 0,
    threads: int | None = None,
) -> CountedText:
    """The counts of the sentences that `read_sentences` gives.

    A process holds `MOST_TYPES` types in memory; the rest lies in nameless files, which
    vanish with the process, however it ends.

    Raises:
        DataError: as `read_sentences`.
        ProcessError: a process ended before its time.
        OSError: as the system gave it; a full disk names the folder.
    """
    if max_tokens:
        sentences = read_sentences(path, normalisation=normalisation, max_tokens=max_tokens)
        return count_text(sentences)
    n = n_readers(path, threads=threads)
    if n > 1:
        work = ProcessCounts(normalisation, files=CountFiles())
        with Readers(n, path, work=work, normalisation=normalisation) as readers:
            n_sentences = sum(readers.over_ranges())
            parts = (readers.answers(number) for number in range(N_PARTS))
            return CountedText(merged(parts), n_sentences, source=str(path))
    with CountFiles() as files:
        tally = ProcessCounts(normalisation, files=files)
        tally.take(read_blocks(path))
        return CountedText(tally.counts(), tally.n_sentences, source=str(path))


class ProcessCounts:
    """The counts of one process."""

    def __init__(self, normalisation: Normalisation | None, *, files: CountFiles) -> None:
        self.n_sentences = 0
        self.files = files  # of what memory would not hold
        self._normalisation = normalisation
        self._words: Counter[str] = Counter()  # as they stand in text of the Unicode form
        self._tokens: Counter[str] = Counter()  # wholly normalised

    def take(self, blocks: Iterable[TextBlock]) -> int:
        """Count the words of blocks and return their number of sentences.

        Raises:
            DataError: as `read_sentences`.
        """
        n_before = self.n_sentences
        for block in blocks:
            self._add(block)
        return self.n_sentences - n_before

    def part(self, number: int) -> bytes:
        """A part of the counts of all blocks; each may be asked for once, 0 first."""
        if number == 0:
            self.files.add(self._taken())
        return self.files.part(number)

    def _add(self, block: TextBlock) -> None:
        text = block.text(self._normalisation)
        if text is not None:
            self._words.update(text.replace("\n", " ").split(" "))
            self._words.pop("", None)  # between two blanks
            self.n_sentences += text.count("\n")
        else:
            for words in block.sentences(self._normalisation):
                self._tokens.update(words)
                self.n_sentences += 1
        if len(self._words) + len(self._tokens) > MOST_TYPES:
            self.files.add(self._taken())

    def counts(self) -> TokenCounts:
        """The counts of all blocks; no further block may be taken."""
        if not self.files.parts:
            return self._taken()
        return merged([self.part(number)] for number in range(N_PARTS))

    def _taken(self) -> Counter[str]:
        """Take out the counts that are held in memory."""
        words, tokens = self._words, self._tokens
        self._words, self._tokens = Counter(), Counter()
        normalisation = self._normalisation
        if normalisation is None or normalisation.leaves_words:
            words.update(tokens)
            return words
        for word, count in words.items():
            for token in split_words(normalisation(word)):
                tokens[token] += count
        return tokens
