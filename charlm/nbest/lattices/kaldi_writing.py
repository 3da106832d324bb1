"""Kaldi's lattices written again: new graph costs, all else as it stood.

Graph costs are divided by what the language models weigh together, and so stay near what they were.
A state with several histories becomes several states; they are numbered anew then, the start first,
as Kaldi wants it. The format has no place for the scales that it is to be read at, nor for how it
was made: whoever writes tells them elsewhere.
"""

import re

from charlm.nbest.lattices.expanded import ExpandedArc, ExpandedLattice
from charlm.nbest.lattices.kaldi import KaldiOriginal
from charlm.nbest.lattices.new_scores import NewScores
from charlm.nbest.list_lines import Line

FIELD = re.compile(r"[^ \t]+")


def decoder_scales(scores: NewScores) -> dict[str, float]:
    """The options of Kaldi's tools at which the best path is ours."""
    inverse = scores.expanded.weighing.scale / scores.am
    return {"--inv-acoustic-scale": inverse, "--lm-scale": 1.0, "--word-ins-penalty": 0.0}


def written(expanded: ExpandedLattice, scores: NewScores) -> str:
    """The lattice as text."""
    original = expanded.lattice.original
    assert isinstance(original, KaldiOriginal)
    writer = _Writer(expanded, scores, original)
    return writer.split() if expanded.is_split else writer.in_place()


class _Writer:
    """Writes the lines of one lattice."""

    def __init__(
        self, expanded: ExpandedLattice, scores: NewScores, original: KaldiOriginal
    ) -> None:
        self.expanded = expanded
        self.scores = scores
        self.original = original
        self.end = original.lines[0].end or "\n"

    def in_place(self) -> str:
        """Every line where it was."""
        texts = {number: line.text for number, line in enumerate(self.original.lines)}
        for arc in self.expanded.arcs:
            number = self.original.arcs[arc.arc]
            texts[number] = self._arc(arc, states=())
        for node in self.expanded.ends:
            texts[self._final_line(node)] = self._final(node, name="")
        lines = enumerate(self.original.lines)
        return "".join(line.start + texts[number] + line.end for number, line in lines)

    def split(self) -> str:
        """The lines of each state in their order, under its new number."""
        rows: list[list[tuple[int, str]]] = [[] for _ in self.expanded.nodes]
        for arc in self.expanded.arcs:
            text = self._arc(arc, states=(str(arc.source), str(arc.target)))
            rows[arc.source].append((self.original.arcs[arc.arc], text))
        for node in self.expanded.ends:
            rows[node].append((self._final_line(node), self._final(node, name=str(node))))
        used = {*self.original.arcs, *self.original.finals.values()}
        body = [f"{text}{self.end}" for node in rows for _, text in sorted(node)]
        before, after = self._around(used)
        return "".join((*before, *body, *after))

    def _around(self, used: set[int]) -> tuple[list[str], list[str]]:
        lines = self.original.lines
        before = [_ended(line, self.end) for line in lines[: min(used)]]
        return before, [line.raw for line in lines[max(used) + 1 :]]

    def _arc(self, arc: ExpandedArc, *, states: tuple[str, ...]) -> str:
        line = self.original.lines[self.original.arcs[arc.arc]]
        score = self.scores.of_arc(arc)
        return self._with_cost(line.text, score, states, column=self.original.word_column + 1)

    def _final(self, node: int, *, name: str) -> str:
        line = self.original.lines[self._final_line(node)]
        return self._with_cost(
            line.text, self.scores.of_end(node), (name,) if name else (), column=1
        )

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


def _ended(line: Line, end: str) -> str:
    return line.start + line.text + (line.end or end)
