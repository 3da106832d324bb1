"""One pass over raw text: each line is normalised and kept, or dropped and counted.

Lines are judged after normalisation, since only then is it known how many words they have and
which of them are equal. Lines read = lines kept + lines dropped, whatever happens.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import BinaryIO, TypeVar

from charlm.errors import DataError
from charlm.text.corpus.normalisation.normalisation import NO_RULES, Normalisation
from charlm.text.corpus.normalisation.oddities import (
    ASK_WINDOWS,
    C1,
    UNWANTED,
    UNWANTED_KINDS,
    kind_of,
    replaced,
)
from charlm.text.corpus.normalisation.phrase_map import rules_of
from charlm.text.corpus.preparation.dedup import SeenLines
from charlm.text.corpus.preparation.prep_options import PrepOptions
from charlm.text.corpus.tokens import END_WORD, START_WORD, without_marks
from charlm.text.io.files import display_name, open_bytes
from charlm.text.io.lines import (
    NUL_FOUND,
    CutLine,
    LineRules,
    bytes_in_utf8,
    is_utf8,
    raw_lines,
    utf8_error,
)
from charlm.text.io.table_lines import LOOKED_AT, refuse_table_bytes

EMPTY, TOO_SHORT, TOO_LONG = "empty", "too short", "too long"
DUPLICATE, INVALID = "duplicate", "invalid encoding"
MARKED = f"{START_WORD} or {END_WORD} within"  # every command would refuse the corpus for it
REASONS = (EMPTY, TOO_SHORT, TOO_LONG, DUPLICATE, MARKED, INVALID, *UNWANTED_KINDS)
LOOKED_AT_WORDS = 2_000_000  # of the text that is kept, for what is odd about them
Line = TypeVar("Line")


@dataclass(frozen=True)
class RawSource:
    """Where text came from: `role` is raw, valid or test.

    `sha256` is of the file as it is on disk, compressed or not; None if reading stopped before its
    end.
    """

    path: str
    role: str
    lines: int
    sha256: str | None

    def to_dict(self) -> dict[str, str | int | None]:
        """The source as JSON; in a path, bytes that are not UTF-8 become replacement characters."""
        shown = self.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return asdict(self) | {"path": shown}


def normalisation_of(options: PrepOptions) -> Normalisation:
    """What is done to each line before it is judged.

    Raises:
        DataError: a file that is not a map.
    """
    plain = Normalisation(options.lower, options.unicode, dotless_i=options.dotless_i)
    return replace(
        plain,
        tokenise=options.tokenise,
        numbers=options.numbers,
        punctuation=options.punctuation,
        split_hyphens=options.split_hyphens,
        map=rules_of(options.map, plain=plain),
    )


class Cleaner:
    """Writes the lines that are kept into an open file, and counts what becomes of each line."""

    def __init__(self, options: PrepOptions, *, into: BinaryIO) -> None:
        self.into = into
        self._options = options
        self._normalise = normalisation_of(options)
        self.sources: list[RawSource] = []
        self.drops = dict.fromkeys(REASONS, 0)
        self.n_kept = 0
        self.n_words = 0
        self.n_replaced = 0
        self.n_c1 = 0  # control characters where Windows has letters and quotes
        self.has_stopped = False  # with something left, since there were enough tokens
        self.unwanted: Counter[str] = Counter()  # characters that were replaced, by kind
        self.types: Counter[str] = Counter()  # of the first words that are kept
        self._seen = SeenLines() if options.dedup else None
        self._lines = LineRules(
            encoding=options.encoding,
            cuts=options.max_words > 0,
            invalid=options.invalid,
            takes_controls=True,
            mend="say what it is by --encoding, or let --invalid replace or drop clean it",
            shorten="--max-words N leaves such lines out",
        )

    def read_file(self, path: str, *, role: str) -> None:
        """Take the lines of a file until its end, or until there are enough tokens.

        Raises:
            DataError: a broken file, CSV, a line that is not valid in the encoding or holds
                unwanted characters (with `invalid="error"`), or one that is too long (without
                `max_words`).
        """
        digest = hashlib.sha256()
        name = display_name(path)
        number = 0
        if self._is_full:
            self.has_stopped = True
        else:
            with open_bytes(path, digest=digest) as file:
                lines = raw_lines(file, name, rules=self._lines)
                head = list(islice(lines, LOOKED_AT))
                refuse_table_bytes([raw for _, raw in head], path, encoding=self._lines.encoding)
                for number, raw in self._until_full(chain(head, lines)):
                    self._take_bytes(raw, where=f"{name}:{number}")
        sha256 = None if self.has_stopped else digest.hexdigest()
        self.sources.append(RawSource(path, role, number, sha256))

    def read_corpus(self, sentences: Iterable[str], *, name: str) -> None:
        """Take the sentences of an embedded corpus, as `read_file` takes lines."""
        digest = hashlib.sha256()
        n_lines = 0
        for sentence in self._until_full(sentences):
            n_lines += 1
            digest.update(sentence.encode() + b"\n")
            self._take(sentence)
        sha256 = None if self.has_stopped else digest.hexdigest()
        self.sources.append(RawSource(name, "raw", n_lines, sha256))

    @property
    def told_drops(self) -> str:
        """How many lines were read and why some were dropped; nothing if none was."""
        drops = ", ".join(f"{n} {reason}" for reason, n in self.drops.items() if n)
        n_lines = self.n_kept + sum(self.drops.values())
        return f" of {n_lines} lines ({drops})" if drops else ""

    @property
    def _is_full(self) -> bool:
        return 0 < self._options.max_tokens <= self.n_words

    def _until_full(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Lines, as long as there are not enough tokens."""
        for line in lines:
            if self._is_full:
                self.has_stopped = True
                return
            yield line

    def _take_bytes(self, raw: bytes, *, where: str) -> None:
        if isinstance(raw, CutLine):
            self.drops[TOO_LONG] += 1
            return
        line: str | None
        try:
            line = raw.decode(self._options.encoding)
        except UnicodeDecodeError:
            line = self._lines.decoded(raw, where=where)
            self.n_replaced += line is not None
            self.drops[INVALID] += line is None
        if line is not None and UNWANTED.search(line):
            line = self._without_unwanted(line, where=where)
        if line is not None:
            self._take(line)

    def _without_unwanted(self, line: str, *, where: str) -> str | None:
        """A line without NUL, control characters and soft hyphens; None where it is dropped."""
        found = UNWANTED.findall(line)
        kind = kind_of(found[0])
        self.n_c1 += sum(map(bool, map(C1.match, found)))
        if self._options.invalid == "drop":
            self.drops[kind] += 1
            return None
        if self._options.invalid == "error":
            place = f"at character {line.index(found[0]) + 1}"
            if "\0" in found:
                raise DataError(f"{where}: {NUL_FOUND}; --invalid replace or drop cleans it")
            if found[0] == "\r":
                raise DataError(
                    f"{where}: found a CR {place}, by which old Macs end lines; expected lines "
                    "that end in LF; tr '\\r' '\\n' makes lines of them, --invalid replace blanks"
                )
            encoding = self._options.encoding
            if not is_utf8(encoding) and bytes_in_utf8(line.encode(encoding)):
                raise utf8_error(encoding, where=where)
            if C1.match(found[0]) and not is_utf8(encoding):
                raise DataError(
                    f"{where}: found byte 0x{ord(found[0]):02x} {place}, a control character in "
                    f"{encoding}; expected text; {ASK_WINDOWS}"
                )
            raise DataError(
                f"{where}: found a {kind} (U+{ord(found[0]):04X}) {place}; expected text; "
                "--invalid replace takes soft hyphens out and blanks the others, --invalid drop "
                "leaves out the lines that hold one"
            )
        self.unwanted.update(map(kind_of, found))
        return replaced(line)

    def _take(self, line: str) -> None:
        line = self._normalise(line)
        if "s>" in line:
            try:
                words = without_marks(line.split(" "), where="")
            except DataError:
                self.drops[MARKED] += 1
                return
            line = NO_RULES(" ".join(words))  # the ends of the line are others now
        n_words = line.count(" ") + 1 if line else 0
        raw = line.encode() + b"\n"
        reason = self._objection(n_words, raw)
        if reason:
            self.drops[reason] += 1
            return
        self.into.write(raw)
        self.n_kept += 1
        if self.n_words < LOOKED_AT_WORDS:
            self.types.update(line.split(" "))
        self.n_words += n_words

    def _objection(self, n_words: int, raw: bytes) -> str | None:
        if not n_words:
            return EMPTY
        if n_words < self._options.min_words:
            return TOO_SHORT
        if 0 < self._options.max_words < n_words:
            return TOO_LONG
        if self._seen is not None and not self._seen.add(raw):
            return DUPLICATE
        return None
