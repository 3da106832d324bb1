"""Reading ARPA files of any tool, checked line by line: a broken file is refused, never guessed at.

Memory depends on what the file holds, never on what its header claims. `<unk>`, `<s>` and `</s>`
get the ids 0, 1 and 2, wherever they stand; a model that lacks one gives it probability 0. `<UNK>`
is read as `<unk>`, as in KenLM.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import repeat, zip_longest
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from charlm.errors import DataError
from charlm.ngram.backoff import BackoffModel, Grams, Log10s
from charlm.ngram.files.arpa_writing import LOG10_ZERO
from charlm.ngram.ngram_counts import rows_of
from charlm.ngram.word_ids import MARKS, Ids
from charlm.text.corpus.tokens import CAPITAL_UNK, UNK_WORD
from charlm.text.io.files import Digest, display_name, open_bytes
from charlm.text.io.lines import SAY_ENCODING, UTF8, LineRules, number_in, raw_lines

BLOCK = 1 << 10  # lines parsed at once; their words stay in the cache
SIZE = re.compile(rb"ngram +([0-9]{1,2}) *= *([0-9]{1,18})")
IRSTLMS_OWN = b"iARPA"  # its probabilities lack what shorter n-grams add
HIGHEST = 20  # more is no language model, and would ask for as many empty orders
# A header or, perhaps, an empty line. Four times as fast as `^` with re.MULTILINE.
NEEDS_A_LOOK = re.compile(rb"\n[\\\s]")
LINES = LineRules(longest=1 << 20, mend=SAY_ENCODING)  # no n-gram takes more
NONE: Log10s = np.empty(0)
SHOWN = 60  # bytes of a broken line in a message
# The two spellings exclude each other.
OTHER_UNK = {b"<unk>": b"<UNK>", b"<UNK>": b"<unk>"}


def read_arpa_head(
    path: str | Path, *, encoding: str = UTF8
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The number of n-grams of each order, as an ARPA file claims, and its words in their order.

    KenLM numbers words in this order. The file is checked as far as the 1-grams.

    Raises:
        DataError: as `read_arpa`.
    """
    with open_bytes(path) as file:
        reader = _Reader(file, display_name(path), replace(LINES, encoding=encoding))
        sizes = reader.sizes()
        section = reader.section(1, n_grams=sizes[0][1], highest=len(sizes))
    return tuple(size for _, size in sizes), tuple(section.words)


def read_arpa(
    path: str | Path,
    *,
    words: Sequence[str] = (),
    encoding: str = UTF8,
    mend: str = SAY_ENCODING,
    digest: Digest | None = None,
) -> BackoffModel:
    """The model in an ARPA file, plain or compressed; it is read once, so that a pipe will do.

    `words` come first among its words, whether the file lists them or not. `digest` is fed all
    bytes of the file, also those after the model. `mend` is the advice on bytes that are not of the
    encoding.

    Raises:
        ConfigError: no such encoding.
        DataError: not ARPA, or broken, with the line.
    """
    name, rules = display_name(path), replace(LINES, encoding=encoding, mend=mend)
    with open_bytes(path, digest=digest) as file:
        reader = _Reader(file, name, rules)
        sizes = reader.sizes()
        sections = (reader.section(n, n_grams=size, highest=len(sizes)) for n, size in sizes)
        model = _model(sections, name, words=words)
        reader.end()
        while digest is not None and file.read(rules.longest):
            pass
    return model


@dataclass
class _Section:
    """The n-grams of one order as they stand in the file, words still in file order."""

    starts: list[tuple[int, int]]  # a block's first row, its line
    ids: Ids  # (N, n)
    log10_probs: Log10s
    log10_backoffs: Log10s
    words: list[str] = field(default_factory=list)  # of unigrams alone

    def line(self, row: int) -> int:
        """The number of the line that an n-gram stands in."""
        return next(line + row - first for first, line in reversed(self.starts) if first <= row)


class _Reader:
    """Goes through a file once, and knows on which line it is."""

    def __init__(self, file: BinaryIO, name: str, rules: LineRules) -> None:
        self.name = name
        self.file = cast(io.BufferedReader, file)
        self.rules = rules
        self.number = 0
        self.line = b""  # the one that is looked at
        self.first, self.block = 0, list[bytes]()  # the lines that are parsed at once
        self.word_ids: dict[bytes, int] = {}

    def step(self) -> bool:
        """Go to the next line; false at the end of the file, with its last number kept."""
        lines = raw_lines(self.file, self.name, first=self.number + 1, rules=self.rules)
        found = next(lines, None)
        self.number, self.line = found or (self.number, b"")
        return found is not None

    def leap(self) -> list[bytes]:
        """Go over the whole lines in the file's buffer, up to one that needs a look.

        A header and an empty line do, and a NUL; step by step takes several times as long.
        """
        raw = self.file.peek(1)
        stop = NEEDS_A_LOOK.search(b"\n" + raw)
        raw = raw[: stop.start() if stop else raw.rfind(b"\n") + 1]
        if b"\0" in raw:
            return []
        self.file.read(len(raw))
        lines = raw.replace(b"\r\n", b"\n").split(b"\n")[:-1]
        self.number += len(lines)
        return lines

    def wrong(self, expected: str, *, row: int | None = None) -> DataError:
        """The error for the current line, or for a row of those being parsed."""
        number, line = self.number, self.line
        if row is not None:
            number, line = self.first + row, self.block[row]
        found = line[:SHOWN].decode(self.rules.encoding, "replace")
        return DataError(f"{self.name}:{number}: found {found!r}; expected {expected}")

    def skip_blank(self, *, expected: str) -> None:
        """Go on to the next line that is not empty.

        Raises:
            DataError: the file ends before.
        """
        while self.step():
            if self.line.strip():
                return
        raise DataError(
            f"{self.name}:{self.number}: the file ends; expected {expected}; is it whole?"
        )

    def sizes(self) -> list[tuple[int, int]]:
        r"""Order and number of n-grams, from the lines behind `\data\`."""
        while self.line.strip() != b"\\data\\":
            if not self.step():
                raise DataError(f"{self.name}: no line \\data\\; expected an ARPA file")
            if self.line.strip() == IRSTLMS_OWN:
                raise self.wrong(
                    "ARPA; IRSTLM's iARPA looks like it, but its probabilities are not whole; "
                    "convert it (`compile-lm FILE OUT.arpa --text=yes`)"
                )
        sizes: list[tuple[int, int]] = []
        self.skip_blank(expected="ngram 1=COUNT")
        while not self.line.startswith(b"\\"):
            match = SIZE.fullmatch(self.line.strip())
            if match is None or int(match[1]) != len(sizes) + 1:
                raise self.wrong(f"ngram {len(sizes) + 1}=COUNT or \\1-grams:")
            if len(sizes) == HIGHEST:
                raise self.wrong(f"at most {HIGHEST} orders")
            sizes.append((len(sizes) + 1, int(match[2])))
            self.skip_blank(expected="\\1-grams:")
        if not sizes:
            raise self.wrong("ngram 1=COUNT")
        return sizes

    def section(self, n: int, *, n_grams: int, highest: int) -> _Section:
        """The n-grams of order `n`; afterwards the current line is the next header."""
        if self.line.strip() != b"\\%d-grams:" % n:
            raise self.wrong(f"\\{n}-grams:")
        starts: list[tuple[int, int]] = []
        blocks = [(np.empty((0, n), np.int32), NONE, NONE)]
        n_found = 0
        for first, block in self._blocks():
            self.first, self.block = first, block
            starts.append((n_found, first))
            blocks.append(self._parse(n, highest=highest))
            n_found += len(block)
        if n_found != n_grams:
            raise DataError(
                f"{self.name}:{self.number}: {n_found} {n}-grams; expected {n_grams}, as the "
                "header says; is the file whole?"
            )
        ids, probs, backoffs = (np.concatenate(each) for each in zip(*blocks, strict=True))
        section = _Section(starts, ids, probs, backoffs)
        if n == 1:
            section.words = self._decoded(section)
        if not self.line.startswith(b"\\"):
            self.skip_blank(expected=f"\\{n + 1}-grams:" if n < highest else "\\end\\")
        return section

    def _blocks(self) -> Iterator[tuple[int, list[bytes]]]:
        """Blocks of lines up to the next header, each with the number of its first line.

        An empty line, which KenLM skips as well, ends a block.
        """
        block: list[bytes] = []
        first = self.number
        while self.step() and not self.line.startswith(b"\\"):
            if self.line and not self.line.isspace():
                first = first if block else self.number
                block += [self.line, *self.leap()]
                if len(block) < BLOCK:
                    continue
            if block:
                yield first, block
            block = []
        if block:
            yield first, block

    def _parse(self, n: int, *, highest: int) -> tuple[Ids, Log10s, Log10s]:
        """The words of the block's n-grams, their probabilities and back-offs."""
        probs, *words = self._columns(n)
        backoffs = words.pop() if len(words) > n else ()
        log10_probs = self._numbers(probs)
        self._refuse(log10_probs > 0, "a log10 probability, 0 or less")
        log10_backoffs = self._numbers(backoffs) if backoffs else np.zeros(len(probs))
        if n == highest:
            self._refuse(log10_backoffs != 0, "no back-off in the last order")
        if n == 1:
            self._add_words(words[0])
        ids = np.empty((len(probs), n), np.int32)
        for place, column in enumerate(words):
            found = map(self.word_ids.get, column, repeat(-1))
            ids[:, place] = np.fromiter(found, np.int32, len(column))
        self._refuse(ids.min(axis=1) < 0, "words of the 1-grams")
        return ids, log10_probs, log10_backoffs

    def _columns(self, n: int) -> Sequence[Sequence[bytes]]:
        """The fields of the block's lines: probabilities, `n` words, back-offs if there are any."""
        n_lines, width = len(self.block), len(self.block[0].split())
        # Lines hold no NUL. All have as many fields nearly everywhere: then one split is enough.
        fields = b" \0 ".join(self.block).split()
        ends = fields[width :: width + 1]
        if n < width <= n + 2 and len(fields) == n_lines * (width + 1) - 1 and set(ends) <= {b"\0"}:
            return [fields[place :: width + 1] for place in range(width)]
        by_line = [line.split() for line in self.block]
        is_wrong = [len(each) not in (n + 1, n + 2) for each in by_line]
        self._refuse(np.array(is_wrong), f"a log10 probability, {n} words and perhaps a back-off")
        return list(zip_longest(*by_line, fillvalue=b"0"))  # where there is no back-off

    def _numbers(self, texts: Sequence[bytes]) -> Log10s:
        """The numbers, −99 and less as −inf."""
        try:
            numbers = np.fromiter(map(float, texts), np.float64, len(texts))
        except ValueError:
            numbers = np.array([number_in(text.decode("ascii", "replace")) for text in texts])
        if b"_" in b"".join(texts):  # Python reads -1_0 as -10
            numbers[[b"_" in text for text in texts]] = np.nan
        self._refuse(~(numbers < np.inf), "log10 numbers")
        numbers[numbers <= LOG10_ZERO] = -np.inf
        return numbers

    def _refuse(self, is_wrong: npt.NDArray[np.bool_], expected: str) -> None:
        """Raises DataError for the first line of the block that is wrong."""
        if is_wrong.any():
            raise self.wrong(expected, row=int(np.argmax(is_wrong)))

    def _add_words(self, words: Sequence[bytes]) -> None:
        for row, word in enumerate(words):
            if word in self.word_ids:
                raise self.wrong("each word once", row=row)
            if OTHER_UNK.get(word) in self.word_ids:
                raise self.wrong("<unk> or <UNK>, not both", row=row)
            self.word_ids[word] = len(self.word_ids)

    def _decoded(self, section: _Section) -> list[str]:
        """The words that have been added.

        UTF-8 if all words with other than ASCII letters are: charlm writes no other encoding, and
        the words of another are hardly all valid UTF-8 by chance.
        """
        encoding = self.rules.encoding
        if not all(word.isascii() for word in self.word_ids):
            with suppress(UnicodeDecodeError):
                b"\n".join(self.word_ids).decode()
                encoding = UTF8
        words = []
        for row, raw in enumerate(self.word_ids):
            try:
                word = raw.decode(encoding)
            except UnicodeDecodeError:
                where = f"{self.name}:{section.line(row)}"
                word = self.rules.decoded(raw, where=where) or ""
            words.append(UNK_WORD if word == CAPITAL_UNK else word)
        return words

    def end(self) -> None:
        r"""Check that `\end\` is looked at; what follows it is nobody's business."""
        if self.line.strip() != b"\\end\\":
            raise self.wrong("\\end\\")


def _model(sections: Iterator[_Section], name: str, *, words: Sequence[str]) -> BackoffModel:
    """The n-grams sorted by key, words renumbered with the three marks and `words` first."""
    unigrams = next(sections)
    numbers = {word: n for n, word in enumerate(dict.fromkeys((*MARKS, *words, *unigrams.words)))}
    new_ids = np.array([numbers[word] for word in unigrams.words], np.int32)
    of_words, after_words = np.full(len(numbers), -np.inf), np.zeros(len(numbers))
    of_words[new_ids], after_words[new_ids] = unigrams.log10_probs, unigrams.log10_backoffs
    orders = [Grams(np.arange(len(numbers), dtype=np.int64), of_words, after_words)]
    for section in sections:
        section.ids = new_ids[section.ids]
        orders.append(_sorted(section, orders, name, words=tuple(numbers)))
        del section  # which takes more memory than its order, and the next is read now
    orders[-1] = replace(orders[-1], log10_backoffs=NONE)
    unlisted = frozenset(numbers.keys() - unigrams.words)
    return BackoffModel(tuple(numbers), tuple(orders), source=name, unlisted=unlisted)


def _sorted(section: _Section, below: Sequence[Grams], name: str, *, words: Sequence[str]) -> Grams:
    """The n-grams of a section, whose ids are those of `words`."""
    ids, n = section.ids, len(below) + 1
    contexts = rows_of(below, ids=ids[:, :-1], n_words=len(words))
    if (contexts < 0).any():
        row = int(np.argmax(contexts < 0))
        context = " ".join(words[number] for number in ids[row, :-1])
        raise DataError(
            f"{name}:{section.line(row)}: its context {context!r} is not among the "
            f"{n - 1}-grams; expected every context before"
        )
    keys = contexts * len(words) + ids[:, -1]
    by_key = np.argsort(keys, kind="stable")
    keys = keys[by_key]
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        row = int(by_key[twice + 1].min())
        ngram = " ".join(words[number] for number in ids[row])
        raise DataError(
            f"{name}:{section.line(row)}: {ngram!r} stands there again; expected each n-gram once"
        )
    return Grams(keys, section.log10_probs[by_key], section.log10_backoffs[by_key])
