"""A decoder of a written lattice finds the paths that were found here.

The decoder below shares no code with charlm: it reads the text, takes each cost as a float32, and
adds them up at the reported scales.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log

import numpy as np
import pytest

from charlm.nbest.lattices.best_paths import best_paths
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.histories import ScorerHistories
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import decoder_scales, rescored_text
from charlm.nbest.lattices.lattice_options import LatticeOptions, default_weights
from charlm.nbest.lattices.rescore import rescore_with
from charlm.nbest.scorers import FunctionScorer

Read = Callable[..., list[Lattice]]
Make = Callable[..., str]
Words = tuple[str, ...]
ALL = 100_000
SEEDS = range(25)
NOTHING = ("<eps>", "!NULL", "<s>", "</s>")
KALDI_SCALES = ("--inv-acoustic-scale", "--lm-scale", "--word-ins-penalty")
SLF_SCALES = ("acscale", "lmscale", "prscale", "wdpenalty")


@dataclass
class Graph:
    """What a decoder sees: costs of arcs and ends, the smaller the better."""

    start: str = ""
    arcs: dict[str, list[tuple[str, str, float]]] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)

    def best(self) -> dict[Words, float]:
        """The least cost from the start to an end of each sequence of words."""
        costs: dict[Words, float] = {}
        for cost, words in self._paths(self.start):
            costs[words] = min(cost, costs.get(words, cost))
        return costs

    def _paths(self, node: str) -> Iterator[tuple[float, Words]]:
        if node in self.ends:
            yield self.ends[node], ()
        for target, word, cost in self.arcs.get(node, ()):
            for rest, words in self._paths(target):
                yield cost + rest, words if word in NOTHING else (word, *words)


def float32(text: str) -> float:
    return float(np.float32(text))


def kaldi_graph(text: str, scales: Mapping[str, float]) -> Graph:
    """Costs as `lattice-scale` and `lattice-add-penalty` make them, of either kind of lattice."""
    assert tuple(scales) == KALDI_SCALES
    inverse, lm, penalty = (float32(f"{each:.9g}") for each in scales.values())

    def cost(weight: str, word: str) -> float:
        graph, am, *_ = weight.split(",")
        return lm * float32(graph) + float32(am) / inverse + penalty * (word not in NOTHING)

    found = Graph(start="0")
    for row in (line.split("\t") for line in text.splitlines()[1:] if line):
        if len(row) > 2:
            found.arcs.setdefault(row[0], []).append((row[1], row[-2], cost(row[-1], row[-2])))
        else:
            found.ends[row[0]] = cost(row[1], "<eps>")
    return found


def slf_graph(text: str) -> Graph:
    """Costs by the header's scales, as SRILM takes them; HTK's rescorer has its own, the same ones.

    Scores of a word, and the word, stand on the link, or else on the node that it leads to; n and l
    on links. Further scores count where the header has a scale for them.
    """
    rows = [
        dict(item.split("=", 1) for item in line.split())
        for line in text.splitlines()
        if line and not line.startswith("#")
    ]
    header = {k: v for row in rows if not {"I", "J"} & row.keys() for k, v in row.items()}
    assert [header[name] for name in SLF_SCALES] == ["1", "1", "1", "0"]
    scales = dict.fromkeys("alnr", 1.0)
    for name, scale in (("ds", "duscale"), ("x1", "x1scale")):
        scales[name] = float(header.get(scale, "0"))
    unit = log(float(header.get("base", "2.718281828459045")))
    nodes = {row["I"]: row for row in rows if "I" in row}
    links = [row for row in rows if "J" in row]
    assert len(links) == int(header["L"])
    (start,) = {row["S"] for row in links} - {row["E"] for row in links}
    (end,) = {row["E"] for row in links} - {row["S"] for row in links}
    found = Graph(start, ends={end: 0.0})
    for row in links:
        both = nodes[row["E"]] | row
        cost = -unit * sum(scale * float32(both.get(name, "0")) for name, scale in scales.items())
        found.arcs.setdefault(row["S"], []).append((row["E"], both.get("W", "!NULL"), cost))
    return found


def decoded(found: RescoredLattice) -> dict[Words, float]:
    """The totals of the written lattice's paths, in nats and our unit."""
    text, scales = rescored_text(found).text, decoder_scales(found)
    unit = found.expanded.weighing.weights["am"] * scales.get("--inv-acoustic-scale", 1.0)
    is_kaldi = "--inv-acoustic-scale" in scales
    costs = (kaldi_graph(text, scales) if is_kaldi else slf_graph(text)).best()
    return {words: -cost * unit for words, cost in costs.items()}


def rescored(lattice: Lattice, scorer: FunctionScorer, **said: object) -> RescoredLattice:
    """By two models, `old_lm` one more where it is weighed; every path, with its own history."""
    flat = FunctionScorer(lambda sentences: [[-2.5] * (len(s) + 1) for s in sentences])
    models = {"nn": ScorerHistories(scorer), "kn": ScorerHistories(flat)}
    weights = said.get("weights")
    if "graph_nolm" in (weights if isinstance(weights, dict) else {}):
        models["old_lm"] = ScorerHistories(scorer)
    exact = {"recombine": 0, "beam": 0, "n_best": ALL, "is_known": set("ab").__contains__}
    options = LatticeOptions(**{**exact, **said})  # type: ignore[arg-type]
    return next(rescore_with([lattice], models, options=options))


def some_weights(seed: int, *names: str) -> dict[str, float]:
    """A third of them 0, a third negative; the acoustic one is positive."""
    rng = random.Random(seed)
    drawn = {name: rng.choice([0.0, rng.uniform(-2, 0), rng.uniform(0, 2)]) for name in names}
    return {"am": rng.uniform(0.01, 2), **drawn}


def assert_found(found: RescoredLattice) -> None:
    """A decoder finds our paths, the best one among them, and each counts the same."""
    totals = {path.words: path.total for path in best_paths(found.expanded, ALL)}
    assert decoded(found) == pytest.approx(totals, abs=1e-3)


@pytest.mark.parametrize("own", [("graph",), ("graph_nolm", "old_lm")], ids=["graph", "old-lm"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_decoder_of_kaldis_finds_our_paths_whatever_the_weights(
    read: Read, random_lattice: Make, scorer: FunctionScorer, seed: int, own: tuple[str, ...]
) -> None:
    weights = some_weights(seed, *own, "nn", "kn", "words", "oov")
    assert_found(rescored(read(random_lattice(seed))[0], scorer, weights=weights))


@pytest.mark.parametrize("base", ["", "base=10\n", "base=1.0001\n"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_decoder_of_htks_finds_our_paths_whatever_the_weights(
    read: Read, random_lattice: Make, as_slf: Make, scorer: FunctionScorer, seed: int, base: str
) -> None:
    rng = random.Random(seed)

    def with_more(found: re.Match[str]) -> str:
        return f" n=-{rng.random():.3f}{found[0]} r=-{rng.random():.3f}"

    text = base + re.sub(r" l=\S+", with_more, as_slf(random_lattice(seed)))
    weights = some_weights(seed, "old_lm", "ngram", "pron", "nn", "kn", "words", "oov")
    assert_found(rescored(read(text, form="slf")[0], scorer, weights=weights))


NODES = """\
VERSION=1.0
start=0 end=5
lmscale=14.0  wdpenalty=-0.5  acscale=2.0 duscale=3 x1scale=4
N=6  L=8
I=0 W=<s>
I=1 W=we a=-3 r=-1
I=2 W=they a=-2.5 r=-2
I=3 W=a a=-4 r=-.5
I=4 W=b a=-3.5 r=-.25
I=5 W=</s>
J=0 S=0 E=1 l=-2 n=-3 ds=-1 x1=-1
J=1 S=0 E=2 l=-1 ds=-3 x1=-2
J=2 S=1 E=3 l=-1 r=-3 ds=-2 x1=-3
J=3 S=1 E=4 l=-2 a=-1 ds=-1 x1=-4
J=4 S=2 E=3 l=-3 ds=-2 x1=-1
J=5 S=2 E=4 l=-2 ds=-9 x1=-1
J=6 S=3 E=5 l=-1 ds=-2 x1=-7
J=7 S=4 E=5 l=-2 ds=-3 x1=-1
"""


@pytest.mark.parametrize("seed", range(10))
def test_scores_of_words_on_nodes_are_theirs_and_what_we_do_not_count_nobody_does(
    read: Read, scorer: FunctionScorer, seed: int
) -> None:
    own = "old_lm", "pron", "ngram", "duration", "x1"
    weights = some_weights(seed, *own[: seed % 4 + 2], "nn", "kn", "words", "oov")
    assert_found(rescored(read(NODES)[0], scorer, weights=weights))


def test_what_the_header_says_of_further_scores_counts(read: Read, scorer: FunctionScorer) -> None:
    lattice = read(NODES)[0]
    assert_found(rescored(lattice, scorer))
    assert default_weights(lattice, ["nn"]) == {
        **{"am": 2.0, "old_lm": 7.0, "nn": 7.0, "words": -0.5},
        **{"ngram": 1.0, "pron": 1.0, "duration": 3.0, "x1": 4.0},
    }


@pytest.mark.parametrize(
    ("kind", "own"), [("compact", "graph"), ("lattice", "graph"), ("slf", "old_lm")]
)
@pytest.mark.parametrize("seed", range(10))
def test_a_lattice_whose_lines_stay_in_place_is_decoded_so_too(
    read: Read, texts: dict[str, str], scorer: FunctionScorer, kind: str, own: str, seed: int
) -> None:
    lattice = read(texts[kind].replace("<eps>", "know"))[0]
    weights = some_weights(seed, own, "nn", "kn", "words", "oov")
    found = rescored(lattice, scorer, weights=weights, recombine=1)
    assert not found.expanded.is_split
    assert_found(found)  # histories were merged, and are written so
