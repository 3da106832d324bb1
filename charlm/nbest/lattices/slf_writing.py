"""HTK's lattices written again: a field more, or other language scores; all else as it stood.

A node with several histories becomes several nodes with its time and word, and all ends become one,
since the format has one end; what the end of a sentence counts stands on the links that lead there.
"""

from charlm.nbest.contract import FEATURE
from charlm.nbest.lattices.expanded import Answers, ExpandedArc, ExpandedLattice
from charlm.nbest.lattices.new_scores import NewScores
from charlm.nbest.lattices.slf import SlfOriginal
from charlm.nbest.lattices.slf_fields import Fields, fields_of

Changes = dict[str, str]


def written(expanded: ExpandedLattice, scores: NewScores, *, note: str) -> str:
    """The lattice as text; `note` becomes a comment before its nodes."""
    original = expanded.lattice.original
    assert isinstance(original, SlfOriginal)
    writer = _Writer(expanded, scores, original)
    return writer.split(note) if expanded.is_split else writer.in_place(note)


class _Writer:
    """Writes the lines of one lattice."""

    def __init__(self, expanded: ExpandedLattice, scores: NewScores, original: SlfOriginal) -> None:
        self.expanded = expanded
        self.scores = scores
        self.original = original
        self.end = original.lines[0].end or "\n"
        said = {name for fields in original.links for name in fields.values}
        self.field = "n" if "n" in said and "l" not in said else "l"
        if scores.keeping == "field":
            self.field = FEATURE

    def in_place(self, note: str) -> str:
        """Every line where it was."""
        texts = {
            self.original.links[arc.arc].line.number: self._link(arc, {})
            for arc in self.expanded.arcs
        }
        body = {each.line.number for each in (*self.original.nodes, *self.original.links)}
        pieces = []
        for line in self.original.lines:
            if line.number in body and note:
                pieces.append(f"# {note}{self.end}")
                note = ""
            pieces.append(line.start + texts.get(line.number, line.text) + line.end)
        return "".join(pieces)

    def split(self, note: str) -> str:
        """Header and comments, the nodes, the links."""
        nodes, names = self._nodes()
        count = {"N": str(len(nodes)), "L": str(len(self.expanded.arcs))}
        terminals = {"start": names[0], "end": str(len(nodes) - 1)}
        body = {each.line.number for each in (*self.original.nodes, *self.original.links)}
        pieces = []
        for line in self.original.lines:
            if line.number not in body:
                text = line.text
                if text.strip(" \t") and not text.strip(" \t").startswith("#"):
                    text = replaced(fields_of(line), {**count, **terminals}, add=False)
                pieces.append(line.start + text + (line.end or self.end))
        pieces.append(f"# {note}{self.end}")
        for number, node in enumerate(nodes):
            text = replaced(self.original.nodes[node], {"I": str(number)})
            pieces.append(text + self.end)
        for number, arc in enumerate(self.expanded.arcs):
            places = {"J": str(number), "S": names[arc.source], "E": names[arc.target]}
            pieces.append(self._link(arc, places) + self.end)
        return "".join(pieces)

    def _nodes(self) -> tuple[list[int], list[str]]:
        """The lattice's node of each new one, and what each expanded node is called."""
        inner = [number for number in range(len(self.expanded.nodes)) if number not in self._ends]
        nodes = [self.expanded.nodes[number] for number in inner]
        names = [str(len(inner))] * len(self.expanded.nodes)
        for name, number in enumerate(inner):
            names[number] = str(name)
        return [*nodes, self.original.end], names

    @property
    def _ends(self) -> set[int]:
        return set(self.expanded.ends)

    def _link(self, arc: ExpandedArc, changes: Changes) -> str:
        answers: Answers = arc.answers
        end = self.expanded.ends.get(arc.target)
        if end is not None:
            answers = tuple(a + b for a, b in zip(answers, end, strict=True))
        values = self.expanded.lattice.arcs[arc.arc].values
        is_new = self.scores.keeping == "field"
        nats = self.scores.new(answers) if is_new else self.scores.score(values, answers)
        changes = {**changes, self.field: self.original.unit.written(nats)}
        return replaced(self.original.links[arc.arc], changes)


def replaced(fields: Fields, changes: Changes, *, add: bool = True) -> str:
    """A line with other values; those of fields that it has not come at its end."""
    text, pieces, end = fields.line.text, [], 0
    for name, (start, stop) in sorted(fields.spans.items(), key=lambda item: item[1]):
        if name in changes:
            pieces += [text[end:start], changes[name]]
            end = stop
    rest = [f"{name}={value}" for name, value in changes.items() if name not in fields.spans]
    line = "".join((*pieces, text[end:]))
    return " ".join((line, *rest)) if add and rest else line
