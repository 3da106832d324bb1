"""HTK's lattices (SLF): a header, one line per node, one line per link.

Words stand on links or on the nodes where they end; here they are on arcs. The header's scales say
how the lattice was decoded; the scores do not include them.

A rescored lattice is written with new language scores and scales of 1; everything else is
unchanged. Language scores are in the unit of the acoustic ones: HTK's own rescorer takes scales of
1 and no word penalty whatever the header says, so the header now says the same. A node with several
histories becomes several nodes with its time and word. All ends become one node, since the format
has only one; the score of the end of a sentence stands on the links that lead there.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import DataError
from charlm.nbest.lattices.expanded import ExpandedArc
from charlm.nbest.lattices.lattice import Arc, Lattice
from charlm.nbest.lattices.new_scores import NewScores
from charlm.nbest.lattices.slf_fields import Fields, Unit, parsed_fields
from charlm.nbest.reading.list_lines import Line, Lines
from charlm.nbest.reading.word_times import Span
from charlm.text.corpus.normalisation.labels import SILENT
from charlm.text.io.lines import split_words
from charlm.text.io.paths import PACKED

NULL = "!NULL"
DASH = "-"  # not a word here either
FURTHER = tuple(f"x{number}" for number in range(1, 10))  # scores of whatever kind, in SRILM
FEATURES = {
    **{"a": "am", "l": "old_lm", "n": "ngram", "r": "pron", "ds": "duration"},
    **{name: name for name in FURTHER},
}
OF_LINKS = {"l", "n"}  # the scores that never stand on nodes
SCALES = {
    **{"acscale": "am", "lmscale": "old_lm", "prscale": "pron", "wdpenalty": "words"},
    **{"ngscale": "ngram", "duscale": "duration"},
    **{f"{name}scale": name for name in FURTHER},
}
HEADER = (
    *("VERSION=", "V=", "UTTERANCE=", "U=", "N=", "NODES=", "SUBLAT=", "base="),
    *(f"{scale}=" for scale in SCALES),
)
DECODER_SCALES = {"lmscale": 1.0, "acscale": 1.0, "prscale": 1.0, "wdpenalty": 0.0}
# The language scores include the weighted durations and SRILM's further scores.
UNUSED = dict.fromkeys(("duscale", *(f"{name}scale" for name in FURTHER)), 0.0)
SUB_LATTICE = "a sub-lattice; expected none; expand it with HTK first"
SUFFIXES = (*PACKED, ".lat", ".slf", ".htk")

Changes = dict[str, str]  # new values of fields, by their short names


@dataclass(frozen=True)
class SlfOriginal:
    """The lines of a lattice, and which of them hold what."""

    lines: tuple[Line, ...]
    nodes: tuple[Fields, ...]
    links: tuple[Fields, ...]  # of each arc
    unit: Unit
    file: str  # its name in the folder that was read; empty if a single file was read


def claims(lines: tuple[str, ...]) -> bool:
    """Whether a file with this beginning is one of HTK's."""
    rows = [split_words(line) for line in lines]
    first = next((row[0] for row in rows if row and not row[0].startswith("#")), "")
    return first.startswith(HEADER)


def read(lines: Lines, *, file: str = "") -> Iterator[Lattice]:
    """The lattices of a file, usually one; a header after links begins the next.

    Raises:
        DataError: FILE:LINE and what was expected there.
    """
    number = 0
    while lines.peek() is not None:
        block = _Block()
        while (line := lines.peek()) is not None and block.takes(line):
            block.lines.append(next(lines))
        if not block.header and not block.nodes and not block.links:
            raise DataError(f"{lines.name}: no lattice; expected a header such as VERSION=1.0")
        number += 1
        stem = Path(file or lines.name.replace(" ", "-")).name
        while (suffix := Path(stem).suffix) in SUFFIXES:
            stem = stem.removesuffix(suffix)
        yield _lattice(block, file, stem if number == 1 else f"{stem}-{number}")


def _says_something(line: Line) -> bool:
    """Whether a line is neither blank nor a comment."""
    text = line.text.strip(" \t")
    return bool(text) and not text.startswith("#")


class _Block:
    """The lines of one lattice as they come."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.header: dict[str, Fields] = {}  # the line that gives each field
        self.nodes: dict[str, Fields] = {}
        self.links: list[Fields] = []

    def takes(self, line: Line) -> bool:
        """Take in a line; false if it begins another lattice."""
        if not _says_something(line):
            return True
        if line.text.strip(" \t") == ".":
            raise DataError(f"{line.place}: {SUB_LATTICE}")
        fields = parsed_fields(line)
        if "I" in fields.values:
            self._take_node(fields)
        elif "J" in fields.values:
            self.links.append(fields)
        elif self.links or self.nodes:
            return False
        else:
            self._take_header(fields)
        return True

    def _take_node(self, fields: Fields) -> None:
        place, name = fields.line.place, fields.values["I"]
        if "L" in fields.values:
            raise DataError(f"{place}: {SUB_LATTICE}")
        if name in self.nodes:
            raise DataError(f"{place}: node {name!r:.40} for the second time; expected it once")
        self.nodes[name] = fields

    def _take_header(self, fields: Fields) -> None:
        for name in fields.values:
            if name == "S":
                raise DataError(f"{fields.line.place}: {SUB_LATTICE}")
            if name in self.header:
                raise DataError(
                    f"{fields.line.place}: field {name} for the second time; expected it once"
                )
            self.header[name] = fields

    @property
    def place(self) -> str:
        """Where the lattice begins."""
        return next(line.place for line in self.lines if _says_something(line))

    def number(self, name: str, default: float = 0.0) -> float:
        return self.header[name].number(name) if name in self.header else default

    def text(self, name: str) -> str:
        """A text of the header; empty if it is missing."""
        return self.header[name].text(name) if name in self.header else ""


def _lattice(block: _Block, file: str, stem: str) -> Lattice:
    _check_sizes(block)
    unit = Unit(block.number("base", math.e))
    if unit.base < 0 or unit.base == 1:
        raise DataError(f"{block.place}: base={unit.base:g}; expected a base of logarithms, or 0")
    _check_direction(block)
    order = {name: number for number, name in enumerate(block.nodes)}
    names = _feature_names(block)
    arcs = tuple(_arc(link, order, block, names=names, unit=unit) for link in block.links)
    start = _terminal(block, order, "start", taken={arc.target for arc in arcs})
    end = _terminal(block, order, "end", taken={arc.source for arc in arcs})
    nodes = tuple(block.nodes.values())
    if nodes[start].text("W") not in (*SILENT, DASH):
        raise DataError(
            f"{nodes[start].line.place}: the start node has the word {nodes[start].text('W')!r:.40}"
            "; expected !NULL there, and words on the nodes where they end"
        )
    utterance = block.text("U")
    is_name = utterance and "/" not in utterance and not set(utterance) & {" ", "\t"}
    scales = {
        feature: block.number(field) for field, feature in SCALES.items() if field in block.header
    }
    if names["old_lm"] == "n" and "ngram" in scales:
        scales["old_lm"] = scales.pop("ngram")
    if "words" in scales and unit.base:
        scales["words"] = unit.nats(scales["words"], place=block.place)
    return Lattice(
        id=utterance if is_name else stem,
        place=block.place,
        names=tuple(names),
        nodes=tuple(block.nodes),
        start=start,
        arcs=arcs,
        finals={end: (0.0,) * len(names)},
        scales=scales,
        original=SlfOriginal(tuple(block.lines), nodes, tuple(block.links), unit, file),
    )


def _check_sizes(block: _Block) -> None:
    for name, said, found in (("N", "nodes", len(block.nodes)), ("L", "links", len(block.links))):
        if name in block.header and block.number(name) != found:
            raise DataError(
                f"{block.header[name].line.place}: {name}={block.header[name].values[name]:.20}, "
                f"found {found} {said}; expected as many; the file is cut"
            )
    if not block.nodes or not block.links:
        raise DataError(f"{block.place}: no nodes or no links; expected both (I=, J=)")


def _check_direction(block: _Block) -> None:
    direction = block.text("dir")
    of_words = {"W", *FEATURES} - OF_LINKS
    says = any(of_words & node.values.keys() for node in block.nodes.values())
    if says and direction not in ("", "f"):
        raise DataError(
            f"{block.header['dir'].line.place}: dir={direction!r:.20}: words or scores on the "
            "nodes where they begin; expected them on links, or where they end (dir=f); SRILM's "
            "lattice-tool writes them so"
        )


def _feature_names(block: _Block) -> dict[str, str]:
    """The field of each feature; if `n` is the only language model score, it is the old one."""
    found = {name for fields in (*block.nodes.values(), *block.links) for name in fields.values}
    names = {"am": "a", "old_lm": "l" if "l" in found or "n" not in found else "n"}
    rest = {feature: name for name, feature in FEATURES.items() if name in found}
    if names["old_lm"] == "n":
        del rest["ngram"]
    return {**names, **{feature: name for feature, name in rest.items() if feature not in names}}


def _arc(
    link: Fields, order: dict[str, int], block: _Block, *, names: dict[str, str], unit: Unit
) -> Arc:
    ends = []
    for name in ("S", "E"):
        node = link.values.get(name, "")
        if node not in order:
            raise DataError(
                f"{link.line.place}: {name}={node!r:.40}; expected the number of a node"
            )
        ends.append(node)
    target = block.nodes[ends[1]]
    labels = [text for text in (link.text("W"), target.text("W")) if text not in ("", DASH)]
    words = [label for label in labels if label not in SILENT]
    if len(words) > 1:
        raise DataError(
            f"{link.line.place}: a word on the link and on its end node; expected one of them"
        )
    values = []
    for name in names.values():
        # Scores of a word stand where it does; SRILM reads the node's if the link has none.
        places = (link,) if name in OF_LINKS else (link, target)
        said = next((fields for fields in places if name in fields.values), None)
        nats = 0.0 if said is None else unit.nats(said.number(name), place=link.line.place)
        values.append(nats)
    return Arc(order[ends[0]], order[ends[1]], (words or labels or [NULL])[0], tuple(values))


def _terminal(block: _Block, order: dict[str, int], field: str, *, taken: set[int]) -> int:
    """The node that the header names, or the only one that nothing enters or leaves."""
    free = [number for number in order.values() if number not in taken]
    if field in block.header:
        fields = block.header[field]
        node = order.get(fields.values[field])
        if node is None:
            raise DataError(
                f"{fields.line.place}: {field}={fields.values[field]!r:.40}; expected a node"
            )
        if node in free:
            return node
        place, found = fields.line.place, f"node {fields.values[field]:.40} is not"
    elif len(free) == 1:
        return free[0]
    else:
        place, found = block.place, f"{len(free)} nodes are"
    verb = "enters" if field == "start" else "leaves"
    raise DataError(f"{place}: {found} one that nothing {verb}; expected one {field} node")


def span_of(lattice: Lattice, arc: Arc) -> Span:
    """The time between the nodes of an arc.

    Raises:
        DataError: a node without a time.
    """
    assert isinstance(lattice.original, SlfOriginal)
    ends = [lattice.original.nodes[node] for node in (arc.source, arc.target)]
    for fields in ends:
        if "t" not in fields.values:
            raise DataError(
                f"{fields.line.place}: no time at this node, where {arc.word!r:.40} begins or "
                "ends; expected t=SECONDS, as HTK's decoders write it; --write trn needs none"
            )
    return Span(*(fields.number("t") for fields in ends))


def with_new_scores(scores: NewScores) -> str:
    """The lattice as text; a comment before its nodes says how it was made.

    Raises:
        DataError: probabilities instead of logarithms: most new scores would be far too small.
    """
    writer = _Writer(scores)
    if not writer.original.unit.base:
        raise DataError(
            f"{scores.place}: base=0, probabilities, too coarse for the new scores; "
            "expected a base of logarithms; convert the file, or give --write nbest"
        )
    return writer.split() if scores.expanded.is_split else writer.in_place()


class _Writer:
    def __init__(self, scores: NewScores) -> None:
        self.scores, self.expanded = scores, scores.expanded
        original = scores.expanded.lattice.original
        assert isinstance(original, SlfOriginal)
        self.original = original
        self.end = original.lines[0].end or "\n"
        self.body = {each.line.number for each in (*original.nodes, *original.links)}
        header = [parsed_fields(line) for line in original.lines if self._is_header(line)]
        said = {name for fields in header for name in fields.values}
        missing = [
            f"{name}={value:g}" for name, value in DECODER_SCALES.items() if name not in said
        ]
        self.missing = " ".join(missing) + self.end if missing else ""
        # HTK reads no header after the sizes.
        sizes = (fields.line.number for fields in header if {"N", "L"} & fields.values.keys())
        self.sizes = next(sizes, None)

    def _is_header(self, line: Line) -> bool:
        return line.number not in self.body and _says_something(line)

    def in_place(self) -> str:
        """The lattice with every line where it was."""
        texts = {
            self.original.links[arc.arc].line.number: self._link(arc, {})
            for arc in self.expanded.arcs
        }
        pieces, first = [], min(self.body)
        for line in self.original.lines:
            if line.number == first:
                pieces.append(self._before_nodes())
            if line.number in self.body:
                pieces.append(line.start + texts.get(line.number, line.text) + line.end)
            else:
                pieces.append(self._outside(line, {}) + line.end)
        return "".join(pieces)

    def split(self) -> str:
        """Header and comments, the nodes, the links."""
        nodes, names = self._nodes()
        count = {"N": str(len(nodes)), "L": str(len(self.expanded.arcs))}
        terminals = {"start": names[0], "end": str(len(nodes) - 1)}
        parts: list[list[str]] = [[], [], []]  # before the nodes, before the links, at the end
        links = [fields.line.number for fields in self.original.links]
        for line in self.original.lines:
            if line.number not in self.body:
                part = (line.number > min(self.body)) + (line.number > max(links))
                text = self._outside(line, {**count, **terminals})
                parts[part].append(text + (line.end or self.end))
        pieces = [*parts[0], self._before_nodes()]
        for number, node in enumerate(nodes):
            text = replaced(self.original.nodes[node], {"I": str(number)})
            pieces.append(text + self.end)
        pieces += parts[1]
        for number, arc in enumerate(self.expanded.arcs):
            places = {"J": str(number), "S": names[arc.source], "E": names[arc.target]}
            pieces.append(self._link(arc, places) + self.end)
        return "".join((*pieces, *parts[2]))

    def _outside(self, line: Line, changes: Changes) -> str:
        """A line that is neither a node's nor a link's."""
        if not self._is_header(line):
            return line.start + line.text
        scales = {name: f"{value:g}" for name, value in (DECODER_SCALES | UNUSED).items()}
        text = replaced(parsed_fields(line), {**scales, **changes}, add=False)
        return line.start + (self.missing if line.number == self.sizes else "") + text

    def _before_nodes(self) -> str:
        """A comment with models, recombination, beam and weights."""
        made = self.expanded
        weights = " ".join(f"{name}={value:.6g}" for name, value in made.weighing.weights.items())
        return (
            f"{'' if self.sizes else self.missing}# charlm: {' '.join(made.models)} "
            f"recombine={made.recombine} beam={made.beam:g} merged={made.n_merged} "
            f"pruned={made.n_pruned} weights: {weights}{self.end}"
        )

    def _nodes(self) -> tuple[list[int], list[str]]:
        """The lattice's node of each node written, and the name of each expanded node."""
        ends = self.expanded.ends
        inner = [number for number in range(len(self.expanded.nodes)) if number not in ends]
        nodes = [self.expanded.nodes[number] for number in inner]
        names = [str(len(inner))] * len(self.expanded.nodes)
        for name, number in enumerate(inner):
            names[number] = str(name)
        return [*nodes, *self.expanded.lattice.finals], names

    def _link(self, arc: ExpandedArc, changes: Changes) -> str:
        score = self.scores.of_arc(arc)
        if arc.target in self.expanded.ends:
            score += self.scores.of_end(arc.target)
        score /= self.scores.am
        lattice = self.expanded.lattice
        if "pron" in lattice.names:  # a decoder adds it itself
            score -= lattice.arcs[arc.arc].values[lattice.names.index("pron")]
        changes = {**changes, "l": self.scores.text(self.original.unit.of_nats(score))}
        return replaced(self.original.links[arc.arc], changes, dropped=("n",))


def replaced(
    fields: Fields, changes: Changes, *, add: bool = True, dropped: tuple[str, ...] = ()
) -> str:
    """A line with new values, without `dropped` fields; with `add`, new fields come at its end."""
    text, pieces, end = fields.line.text, [], 0
    for name, (start, stop) in sorted(fields.spans.items(), key=lambda item: item[1]):
        if name in dropped:
            blank = max(text.rfind(" ", 0, start), text.rfind("\t", 0, start))
            pieces.append(text[end : max(blank, 0)])
            end = stop
        elif name in changes:
            pieces += [text[end:start], changes[name]]
            end = stop
    rest = [f"{name}={value}" for name, value in changes.items() if name not in fields.spans]
    line = "".join((*pieces, text[end:]))
    return " ".join((line, *rest)) if add else line
