"""HTK's lattices written again: new language scores, scales of 1; all else as it stood.

Language scores are in the unit of the acoustic ones: HTK's own rescorer takes scales of 1 and no
word penalty whatever the header says, so both say the same. A node with several histories becomes
several nodes with its time and word, and all ends become one, since the format has one end; what
the end of a sentence counts stands on the links that lead there.
"""

from charlm.errors import DataError
from charlm.nbest.lattices.expanded import ExpandedArc, ExpandedLattice
from charlm.nbest.lattices.new_scores import NewScores
from charlm.nbest.lattices.slf import FURTHER, SlfOriginal
from charlm.nbest.lattices.slf_fields import Fields, fields_of
from charlm.nbest.list_lines import Line

SCALES = {"lmscale": 1.0, "acscale": 1.0, "prscale": 1.0, "wdpenalty": 0.0}
# What counts of durations and further scores, SRILM's, is in the language scores.
UNUSED = dict.fromkeys(("duscale", *(f"{name}scale" for name in FURTHER)), 0.0)

Changes = dict[str, str]


def written(expanded: ExpandedLattice, scores: NewScores, *, note: str) -> str:
    """The lattice as text; `note` becomes a comment before its nodes.

    Raises:
        DataError: probabilities in the place of logarithms: most new scores are far too small.
    """
    original = expanded.lattice.original
    assert isinstance(original, SlfOriginal)
    if not original.unit.base:
        raise DataError(
            f"{expanded.lattice.place}: base=0, probabilities, too coarse for the new scores; "
            "expected a base of logarithms; convert the file, or give --write nbest"
        )
    writer = _Writer(expanded, scores, original)
    return writer.split(note) if expanded.is_split else writer.in_place(note)


class _Writer:
    """Writes the lines of one lattice."""

    def __init__(self, expanded: ExpandedLattice, scores: NewScores, original: SlfOriginal) -> None:
        self.expanded = expanded
        self.scores = scores
        self.original = original
        self.end = original.lines[0].end or "\n"
        self.body = {each.line.number for each in (*original.nodes, *original.links)}
        header = [fields_of(line) for line in original.lines if self._is_header(line)]
        said = {name for fields in header for name in fields.values}
        missing = [f"{name}={value:g}" for name, value in SCALES.items() if name not in said]
        self.missing = " ".join(missing) + self.end if missing else ""
        # HTK reads no header behind the sizes.
        sizes = (fields.line.number for fields in header if {"N", "L"} & fields.values.keys())
        self.sizes = next(sizes, None)

    def _is_header(self, line: Line) -> bool:
        text = line.text.strip(" \t")
        return line.number not in self.body and bool(text) and not text.startswith("#")

    def in_place(self, note: str) -> str:
        """Every line where it was."""
        texts = {
            self.original.links[arc.arc].line.number: self._link(arc, {})
            for arc in self.expanded.arcs
        }
        pieces, first = [], min(self.body)
        for line in self.original.lines:
            if line.number == first:
                pieces.append(self._before_nodes(note))
            if line.number in self.body:
                pieces.append(line.start + texts.get(line.number, line.text) + line.end)
            else:
                pieces.append(self._outside(line, {}) + line.end)
        return "".join(pieces)

    def split(self, note: str) -> str:
        """Header and comments, the nodes, the links."""
        nodes, names = self._nodes()
        count = {"N": str(len(nodes)), "L": str(len(self.expanded.arcs))}
        terminals = {"start": names[0], "end": str(len(nodes) - 1)}
        pieces = [
            self._outside(line, {**count, **terminals}) + (line.end or self.end)
            for line in self.original.lines
            if line.number not in self.body
        ]
        pieces.append(self._before_nodes(note))
        for number, node in enumerate(nodes):
            text = replaced(self.original.nodes[node], {"I": str(number)})
            pieces.append(text + self.end)
        for number, arc in enumerate(self.expanded.arcs):
            places = {"J": str(number), "S": names[arc.source], "E": names[arc.target]}
            pieces.append(self._link(arc, places) + self.end)
        return "".join(pieces)

    def _outside(self, line: Line, changes: Changes) -> str:
        """A line that is no node's and no link's."""
        if not self._is_header(line):
            return line.start + line.text
        scales = {name: f"{value:g}" for name, value in (SCALES | UNUSED).items()}
        text = replaced(fields_of(line), {**scales, **changes}, add=False)
        return line.start + (self.missing if line.number == self.sizes else "") + text

    def _before_nodes(self, note: str) -> str:
        return ("" if self.sizes else self.missing) + f"# {note}{self.end}"

    def _nodes(self) -> tuple[list[int], list[str]]:
        """The lattice's node of each new one, and what each expanded node is called."""
        ends = self.expanded.ends
        inner = [number for number in range(len(self.expanded.nodes)) if number not in ends]
        nodes = [self.expanded.nodes[number] for number in inner]
        names = [str(len(inner))] * len(self.expanded.nodes)
        for name, number in enumerate(inner):
            names[number] = str(name)
        return [*nodes, self.original.end], names

    def _link(self, arc: ExpandedArc, changes: Changes) -> str:
        score = self.scores.of_arc(arc)
        if arc.target in self.expanded.ends:
            score += self.scores.of_end(arc.target)
        score /= self.scores.am
        lattice = self.expanded.lattice
        if "pron" in lattice.names:  # a decoder adds it
            score -= lattice.arcs[arc.arc].values[lattice.names.index("pron")]
        changes = {**changes, "l": self.scores.text(self.original.unit.of_nats(score))}
        return replaced(self.original.links[arc.arc], changes, dropped=("n",))


def replaced(
    fields: Fields, changes: Changes, *, add: bool = True, dropped: tuple[str, ...] = ()
) -> str:
    """A line with other values, and some fields less; those that it has not come at its end."""
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
    return " ".join((line, *rest)) if add and rest else line
