"""Kaldi's lattices as text: Lattice and CompactLattice, one after another in an archive.

Weights are costs, and only sums over whole paths mean anything: a graph cost is language model,
transitions and lexicon together. A missing weight is 0. The number of columns tells the two kinds
apart: a CompactLattice has one column of labels, a Lattice has two.

A rescored lattice is written with new graph costs, divided by the total weight of the language
models so that they stay near the old ones; everything else is unchanged. A state with several
histories becomes several states; then all states are renumbered, the start first, as Kaldi
requires. The format has no place for the scales at which it must be read, nor for how it was made:
the caller reports these elsewhere.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, dropwhile, takewhile
from pathlib import Path

from charlm.errors import DataError
from charlm.nbest.lattices.expanded import ExpandedArc
from charlm.nbest.lattices.lattice import Arc, Lattice
from charlm.nbest.lattices.new_scores import NewScores
from charlm.nbest.reading.list_lines import Line, Lines
from charlm.nbest.reading.policies import DECIMAL
from charlm.nbest.reading.word_times import Span
from charlm.text.io.files import display_name
from charlm.text.io.lines import LineRules, read_lines, split_words
from charlm.text.io.table_lines import csv_hint

NAMES = ("graph", "am")
EPSILON = "<eps>"
INTEGER = re.compile(r"[0-9]{1,9}")
COST = rf"{DECIMAL}|[+-]?(?i:inf|infinity)"
WEIGHT = re.compile(rf"(?P<graph>{COST}),(?P<am>{COST})(?:,(?P<alignment>[^,]*))?")
MOST_COLUMNS = 5
FIELD = re.compile(r"[^ \t]+")
HIGHEST_COST = 1e30  # sums of larger costs are not finite in Kaldi's fp32

Symbols = Mapping[int, str]


@dataclass(frozen=True)
class KaldiOriginal:
    """The lines of a lattice, and which of them hold what."""

    lines: tuple[Line, ...]  # the utterance's id and the blank lines around it included
    arcs: tuple[int, ...]  # the line of each arc
    finals: Mapping[int, int]  # the line of each final node
    word_column: int


def claims(lines: tuple[str, ...]) -> bool:
    """Whether a file with this beginning holds Kaldi's lattices as text.

    A sentence of one word above one that is a number looks like one, but not with what follows.
    """
    rows = dropwhile(lambda row: not row, map(split_words, lines))
    name, *states = [*takewhile(bool, rows)] or [[]]
    if len(name) != 1 or not states or not _is_row(states[0]):
        return False
    has_arcs = len(states) == 1 or any(len(row) > 2 for row in states)
    return has_arcs and 2 * sum(map(_is_row, states)) > len(states)


def _is_row(row: list[str]) -> bool:
    if not 1 <= len(row) <= MOST_COLUMNS or not INTEGER.fullmatch(row[0]):
        return False
    if len(row) > 2:
        return INTEGER.fullmatch(row[1]) is not None
    return len(row) == 1 or WEIGHT.fullmatch(row[1]) is not None


def read(lines: Lines, *, symbols: Symbols | None = None) -> Iterator[Lattice]:
    """The lattices, each when the next one begins or the input ends.

    Raises:
        DataError: FILE:LINE and what was expected there.
    """
    if (block := _block(lines)) is None:
        raise DataError(f"{lines.name}: no lattice; expected the id of an utterance and its states")
    while block is not None:
        yield _lattice(block, symbols)
        block = _block(lines)


def _block(lines: Lines) -> list[Line] | None:
    """The lines of the next lattice with the blank lines before and after it."""
    block: list[Line] = []
    has_begun, was_blank = False, True
    while (line := lines.peek()) is not None:
        is_blank = not line.text.strip(" \t")
        if was_blank and not is_blank:
            if has_begun:
                return block
            has_begun = True
        was_blank = is_blank
        block.append(next(lines))
    return block if has_begun else None


def _lattice(block: list[Line], symbols: Symbols | None) -> Lattice:
    rows = [(n, row) for n, line in enumerate(block) if (row := split_words(line.text))]
    first = block[rows[0][0]]
    if len(rows[0][1]) != 1:
        raise DataError(
            f"{first.place}: found {len(rows[0][1])} fields; expected the id of an utterance alone "
            "on its line; an archive written by lattice-copy ark:lat ark,t:-"
        )
    name = rows[0][1][0]
    if len(rows) == 1:
        raise DataError(
            f"{first.place}: utterance {name!r:.80}: no state; expected a lattice; take it out"
        )
    column = _word_column(rows[1:], block)
    builder = _Builder(block, column, symbols)
    for number, row in rows[1:]:
        builder.add(number, row)
    builder.resolve_numbers(name)
    return Lattice(
        id=name,
        place=first.place,
        names=NAMES,
        nodes=tuple(builder.nodes),
        start=0,
        arcs=tuple(builder.arcs),
        finals=builder.finals,
        original=KaldiOriginal(tuple(block), tuple(builder.arc_lines), builder.final_lines, column),
    )


def _word_column(rows: list[tuple[int, list[str]]], block: list[Line]) -> int:
    """The column of words: 2 in a CompactLattice, 3 in a Lattice."""
    lengths = {len(row): number for number, row in rows}
    if 3 in lengths and 5 in lengths:
        raise DataError(
            f"{block[max(lengths[3], lengths[5])].place}: rows of 3 and of 5 fields in one "
            "lattice; expected a CompactLattice (source target word weight) or a Lattice (source "
            "target label word weight)"
        )
    if 3 in lengths:
        return 2
    if 5 in lengths:
        return 3
    short = [row for _, row in rows if len(row) == 4]  # with a weight, or with two labels
    has_labels = all(INTEGER.fullmatch(row[2]) for row in short)
    has_weights = all(WEIGHT.fullmatch(row[3]) for row in short)
    return 3 if has_labels and not has_weights else 2


class _Builder:
    """Collects the rows of one lattice."""

    def __init__(self, block: list[Line], word_column: int, symbols: Symbols | None) -> None:
        self.block = block
        self.word_column = word_column
        self.symbols = symbols
        self.nodes: dict[str, int] = {}
        self.arcs: list[Arc] = []
        self.arc_lines: list[int] = []
        self.finals: dict[int, tuple[float, ...]] = {}
        self.final_lines: dict[int, int] = {}
        self.has_symbols = False  # whether a label is not a number; numbers are then words too

    def add(self, number: int, row: list[str]) -> None:
        place = self.block[number].place
        if len(row) <= 2:
            self._add_final(number, row)
            return
        if len(row) not in (self.word_column + 1, self.word_column + 2):
            kind = "source target word [weight]"
            if self.word_column == 3:
                kind = "source target label word [weight]"
            raise DataError(f"{place}: found {len(row)} fields; expected {kind}")
        values = self._values(row[self.word_column + 1 :], place)
        if not all(map(math.isfinite, values)):
            raise DataError(f"{place}: an infinite cost; expected finite ones on arcs")
        source, target = (self._node(text, place) for text in row[:2])
        if self.word_column == 3 and not INTEGER.fullmatch(row[2]):
            raise DataError(f"{place}: label {row[2]!r:.40}; expected a whole number before words")
        word = self._word(row[self.word_column], place)
        self.arcs.append(Arc(source, target, word, values))
        self.arc_lines.append(number)

    def _add_final(self, number: int, row: list[str]) -> None:
        place = self.block[number].place
        node = self._node(row[0], place)
        values = self._values(row[1:], place)
        if node in self.final_lines:
            raise DataError(
                f"{place}: state {row[0]} is final for the second time; expected one weight each"
            )
        self.final_lines[node] = number
        if all(map(math.isfinite, values)):  # in Kaldi, an infinite cost means: not final
            self.finals[node] = values

    def _node(self, text: str, place: str) -> int:
        if not INTEGER.fullmatch(text):
            raise DataError(
                f"{place}: state {text!r:.40}; expected a whole number; if it is the id of the "
                "next utterance, put a blank line before it"
            )
        return self.nodes.setdefault(str(int(text)), len(self.nodes))

    def _values(self, fields: list[str], place: str) -> tuple[float, ...]:
        if not fields:
            return (0.0, 0.0)
        found = WEIGHT.fullmatch(fields[0])
        if not found:
            raise DataError(
                f"{place}: weight {fields[0]!r:.60}; expected graph,acoustic or "
                "graph,acoustic,alignment"
            )
        costs = [float(found[name]) for name in NAMES]
        if any(cost == -math.inf or HIGHEST_COST < abs(cost) < math.inf for cost in costs):
            raise DataError(f"{place}: weight {fields[0]!r:.60}; expected costs below 1e30")
        return tuple(0.0 - cost for cost in costs)

    def _word(self, label: str, place: str) -> str:
        is_number = INTEGER.fullmatch(label) is not None
        if self.symbols is None:
            self.has_symbols |= not is_number
            return label
        if not is_number:  # then numbers are words, too, which the table would replace by others
            raise DataError(
                f"{place}: label {label!r:.60} is a word; expected the number of one in the symbol "
                "table; drop --words-txt"
            )
        word = self.symbols.get(int(label))
        if word is None:
            raise DataError(
                f"{place}: label {label}, which the symbol table does not list; expected the "
                "words.txt of the decoding graph"
            )
        return EPSILON if int(label) == 0 else word

    def resolve_numbers(self, name: str) -> None:
        """Where all labels are numbers, 0 becomes epsilon, and any other number is refused."""
        if self.symbols is not None or self.has_symbols:
            return
        self.arcs = [arc._replace(word=EPSILON) if arc.word == "0" else arc for arc in self.arcs]
        if any(arc.word != EPSILON for arc in self.arcs):
            raise DataError(
                f"{self.block[self.arc_lines[0]].place}: utterance {name!r:.80}: all words are "
                "numbers; expected words, or the decoding graph's words.txt (score --words-txt)"
            )


def read_symbols(path: str | Path, *, rules: LineRules) -> dict[int, str]:
    """A symbol table of Kaldi and OpenFst: `word number` on each line.

    Raises:
        DataError: another layout, or a repeated number.
    """
    symbols: dict[int, str] = {}
    name = display_name(path)
    for n, line in read_lines(path, rules=rules):
        row = split_words(line)
        if not row:
            continue
        if len(row) != 2 or not INTEGER.fullmatch(row[1]):
            hint = csv_hint(line)
            raise DataError(f"{name}:{n}: {line!r:.60}; expected a word and its number{hint}")
        if int(row[1]) in symbols:
            raise DataError(f"{name}:{n}: number {row[1]} for the second time; expected each once")
        symbols[int(row[1])] = row[0]
    return symbols


def spans_of(lattice: Lattice, arcs: Sequence[int], *, frame_shift: float) -> list[Span]:
    """The time of each arc of a path from the start; a frame is a transition id of its alignment.

    Raises:
        DataError: a Lattice, or a CompactLattice without alignments.
    """
    original = lattice.original
    assert isinstance(original, KaldiOriginal)
    lines = (original.lines[original.arcs[arc]].text for arc in arcs)
    n_frames = [_n_frames(split_words(line), original.word_column + 1) for line in lines]
    if original.word_column != 2 or not any(n_frames):
        raise DataError(
            f"{lattice.place}: utterance {lattice.id!r:.80}: no alignment on its arcs, which tells "
            "the times; expected a CompactLattice with graph,acoustic,3_1_1_2; lattice-copy "
            "ark:LATTICES ark,t:- writes one"
        )
    ends = accumulate(n_frames)
    return [
        Span((end - n) * frame_shift, end * frame_shift)
        for end, n in zip(ends, n_frames, strict=True)
    ]


def _n_frames(row: list[str], column: int) -> int:
    """The number of transition ids in a weight, which may be missing."""
    found = WEIGHT.fullmatch(row[column]) if column < len(row) else None
    ids = found["alignment"] if found else None
    return len(ids.split("_")) if ids else 0


def decoder_scales(scores: NewScores) -> dict[str, float]:
    """The options with which Kaldi's tools find the same best path as charlm."""
    inverse = scores.expanded.weighing.scale / scores.am
    return {"--inv-acoustic-scale": inverse, "--lm-scale": 1.0, "--word-ins-penalty": 0.0}


def with_new_scores(scores: NewScores) -> str:
    """The lattice as text."""
    writer = _Writer(scores)
    return writer.split() if scores.expanded.is_split else writer.in_place()


class _Writer:
    def __init__(self, scores: NewScores) -> None:
        self.scores, self.expanded = scores, scores.expanded
        original = scores.expanded.lattice.original
        assert isinstance(original, KaldiOriginal)
        self.original = original
        self.end = original.lines[0].end or "\n"

    def in_place(self) -> str:
        """The lattice with every line where it was."""
        texts = {number: line.text for number, line in enumerate(self.original.lines)}
        for arc in self.expanded.arcs:
            number = self.original.arcs[arc.arc]
            texts[number] = self._arc(arc, states=())
        for node in self.expanded.ends:
            texts[self._final_line(node)] = self._final(node, states=())
        lines = enumerate(self.original.lines)
        return "".join(line.start + texts[number] + line.end for number, line in lines)

    def split(self) -> str:
        """The lines of each state in their order, under its new number."""
        rows: list[list[tuple[int, str]]] = [[] for _ in self.expanded.nodes]
        for arc in self.expanded.arcs:
            text = self._arc(arc, states=(str(arc.source), str(arc.target)))
            rows[arc.source].append((self.original.arcs[arc.arc], text))
        for node in self.expanded.ends:
            rows[node].append((self._final_line(node), self._final(node, states=(str(node),))))
        used = {*self.original.arcs, *self.original.finals.values()}
        lines = self.original.lines
        before = [line.start + line.text + (line.end or self.end) for line in lines[: min(used)]]
        body = [text + self.end for node in rows for _, text in sorted(node)]
        after = [line.raw for line in lines[max(used) + 1 :]]
        return "".join((*before, *body, *after))

    def _arc(self, arc: ExpandedArc, *, states: tuple[str, ...]) -> str:
        line = self.original.lines[self.original.arcs[arc.arc]]
        score = self.scores.of_arc(arc)
        return self._with_cost(line.text, score, states, column=self.original.word_column + 1)

    def _final(self, node: int, *, states: tuple[str, ...]) -> str:
        line = self.original.lines[self._final_line(node)]
        return self._with_cost(line.text, self.scores.of_end(node), states, column=1)

    def _final_line(self, node: int) -> int:
        return self.original.finals[self.expanded.nodes[node]]

    def _with_cost(self, text: str, score: float, states: tuple[str, ...], *, column: int) -> str:
        """A line with other states and another graph cost; what follows the comma stays."""
        fields = list(FIELD.finditer(text))
        new = dict(enumerate(states))
        cost = self.scores.text(-score / self.expanded.weighing.scale)
        if column < len(fields):
            new[column] = cost + fields[column][0][fields[column][0].index(",") :]
        pieces, end = [], 0
        for number, found in enumerate(fields):
            pieces += [text[end : found.start()], new.get(number, found[0])]
            end = found.end()
        if column >= len(fields):
            gap = text[fields[0].end() : fields[1].start()] if len(fields) > 1 else "\t"
            pieces.append(f"{gap}{cost},0" + ("," if self.original.word_column == 2 else ""))
        return "".join((*pieces, text[end:]))
