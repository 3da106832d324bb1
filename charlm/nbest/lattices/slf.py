"""HTK's lattices (SLF): a header, a line a node, a line a link.

Words stand on links, or on nodes, and then on the node where they end; here they are on arcs. The
header's scales say how the lattice was decoded: they are in no score, only beside them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from charlm.errors import DataError
from charlm.nbest.lattices.labels import SILENT
from charlm.nbest.lattices.lattice import Arc, Lattice
from charlm.nbest.lattices.slf_fields import Fields, Unit, fields_of
from charlm.nbest.list_lines import Line, Lines
from charlm.text.io.lines import split_words

E = 2.718281828459045
NULL = "!NULL"
DASH = "-"  # here it is no word either
FURTHER = tuple(f"x{number}" for number in range(1, 10))  # scores of whatever kind, in SRILM
FEATURES = {
    **{"a": "am", "l": "old_lm", "n": "ngram", "r": "pron", "ds": "duration"},
    **{name: name for name in FURTHER},
}
SCALES = {
    **{"acscale": "am", "lmscale": "old_lm", "prscale": "pron", "wdpenalty": "words"},
    **{"ngscale": "ngram", "duscale": "duration"},
    **{f"{name}scale": name for name in FURTHER},
}
HEADER = (
    *("VERSION=", "V=", "UTTERANCE=", "U=", "N=", "NODES=", "SUBLAT=", "base="),
    *(f"{scale}=" for scale in SCALES),
)
SUFFIXES = (".gz", ".bz2", ".xz", ".lat", ".slf", ".htk")


@dataclass(frozen=True)
class SlfOriginal:
    """The lines of a lattice, and what stands where."""

    lines: tuple[Line, ...]
    nodes: tuple[Fields, ...]
    links: tuple[Fields, ...]  # of each arc
    unit: Unit
    file: str  # its name within the folder that was read; empty where a file was
    end: int  # the node that all paths end in


def claims(lines: tuple[str, ...]) -> bool:
    """Whether a file that begins so is HTK's."""
    rows = [split_words(line) for line in lines]
    first = next((row[0] for row in rows if row and not row[0].startswith("#")), "")
    return first.startswith(HEADER)


def read(lines: Lines, *, file: str = "") -> Iterator[Lattice]:
    """The lattices of a file, mostly one: a header behind links begins the next.

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
        while (suffix := Path(stem).suffix) in SUFFIXES and suffix:
            stem = stem.removesuffix(suffix)
        yield _lattice(block, file, stem if number == 1 else f"{stem}-{number}")


class _Block:
    """The lines of one lattice as they come."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.header: dict[str, Fields] = {}  # which line says a field
        self.nodes: dict[str, Fields] = {}
        self.links: list[Fields] = []

    def takes(self, line: Line) -> bool:
        """Take a line in, unless it begins another lattice."""
        text = line.text.strip(" \t")
        if not text or text.startswith("#"):
            return True
        if text == ".":
            raise DataError(f"{line.place}: a sub-lattice; expected none; expand it with HTK first")
        fields = fields_of(line)
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
            raise DataError(f"{place}: a sub-lattice; expected none; expand it with HTK first")
        if name in self.nodes:
            raise DataError(f"{place}: node {name!r:.40} for the second time; expected it once")
        self.nodes[name] = fields

    def _take_header(self, fields: Fields) -> None:
        for name in fields.values:
            if name == "S":
                raise DataError(
                    f"{fields.line.place}: a sub-lattice; expected none; expand it with HTK first"
                )
            if name in self.header:
                raise DataError(
                    f"{fields.line.place}: field {name} for the second time; expected it once"
                )
            self.header[name] = fields

    @property
    def place(self) -> str:
        """Where it begins."""
        return next(
            line.place for line in self.lines if line.text and not line.text.startswith("#")
        )

    def number(self, name: str, default: float = 0.0) -> float:
        """A number of the header."""
        return self.header[name].number(name) if name in self.header else default

    def text(self, name: str) -> str:
        """A text of the header; empty where it is not said."""
        return self.header[name].text(name) if name in self.header else ""


def _lattice(block: _Block, file: str, stem: str) -> Lattice:
    _check_sizes(block)
    unit = Unit(block.number("base", E))
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
        original=SlfOriginal(tuple(block.lines), nodes, tuple(block.links), unit, file, end),
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
    says = any({"W", "a", "r"} & node.values.keys() for node in block.nodes.values())
    if says and direction not in ("", "f"):
        raise DataError(
            f"{block.header['dir'].line.place}: dir={direction!r:.20}: words on the nodes where "
            "they begin; expected them on links, or where they end (dir=f); SRILM's lattice-tool "
            "writes them so"
        )


def _feature_names(block: _Block) -> dict[str, str]:
    """Feature to field; where `n` is the only language model it is the old one."""
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
        # Scores of a word stand where it does; SRILM reads the node's where the link says none.
        places = (link,) if name in ("l", "n") else (link, target)
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
