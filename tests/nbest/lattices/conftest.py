"""Small lattices as files, and a model whose answers can be computed by hand."""

import hashlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import read_lattices
from charlm.nbest.reading.format import Source
from charlm.nbest.scorers import FunctionScorer

COMPACT = (
    "utt-A \n"
    "0\t1\twe\t2.5,100.25,3_1_2\n"
    "0\t2\tthey\t2,101,3_1\n"
    "1\t3\t<eps>\t0.5,0,\n"
    "2\t3\tknow\t1,20,5\n"
    "3\t4\tit\t1.25,30.5,7_7\n"
    "3\t0.125,0,\n"
    "4\n"
    "\n"
)
LATTICE = (
    "utt-A \n"
    "0\t1\t11\twe\t2.5,100.25\n"
    "0\t2\t12\tthey\t2,101\n"
    "1\t3\t0\t<eps>\t0.5,0\n"
    "2\t3\t13\tknow\t1,20\n"
    "3\t4\t14\tit\t1.25,30.5\n"
    "3\t0.125,0\n"
    "4\n"
    "\n"
)
SLF = """\
VERSION=1.0
UTTERANCE=utt-A
lmname=bg  lmscale=14.0  wdpenalty=-0.5  acscale=2.0
# decoded on a Tuesday
N=5  L=5
I=0 t=0.00
I=1 t=0.12 W=we v=1
I=2 t=0.13 W=they v=1
I=3 t=0.30 W=know v=1
I=4 t=0.31 W=!NULL
J=0 S=0 E=1 a=-223.04 l=-2.811
J=1 S=0 E=2 a=-224.0  l=-2.5
J=2 S=1 E=3 a=-301.0  l=-3.10
J=3 S=2 E=3 a=-300.0  l=-3.5
J=4 S=3 E=4 a=0.0     l=-1.0
"""


@pytest.fixture
def texts() -> dict[str, str]:
    """The same two or three hypotheses in each layout."""
    return {"compact": COMPACT, "lattice": LATTICE, "slf": SLF}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[Lattice]]:
    """Reads lattices out of a text."""

    def read_text(text: str, *, name: str = "lattices", **options: object) -> list[Lattice]:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return list(read_lattices(Source(path), **options))  # type: ignore[arg-type]

    return read_text


@pytest.fixture
def as_slf() -> Callable[[str], str]:
    """A CompactLattice of one utterance as HTK would have it: words on links, one end node."""

    def convert(text: str) -> str:
        name, *rows = text.strip().split("\n")
        links, states = [], set[str]()
        for row in (row.split("\t") for row in rows):
            states.update(row[: 2 if len(row) > 2 else 1])
            graph, am = row[-1].split(",")[:2] if len(row) > 1 else ("0", "0")
            target, word = (row[1], row[2]) if len(row) > 2 else ("99", "!NULL")
            word = word.replace("<eps>", "!NULL")
            links.append(f"S={row[0]} E={target} W={word} v=1 a=-{am} l=-{graph} d=x")
        nodes = [f"I={state}  t={state}.5" for state in [*sorted(states), "99"]]
        head = f"VERSION=1.0\nUTTERANCE={name}\nlmscale=2 acscale=0.5\n"
        head += f"N={len(nodes)}\tL={len(links)}\n"
        numbered = [f"J={number} {link}" for number, link in enumerate(links)]
        return head + "\n".join([*nodes, *numbered, ""])

    return convert


def log_probs_of(sentences: Sequence[Sequence[str]]) -> list[list[float]]:
    """Numbers between −5 and 0 that depend on the whole history of a word."""
    return [
        [_number(sentence[:n], word) for n, word in enumerate([*sentence, "</s>"])]
        for sentence in sentences
    ]


def _number(history: Sequence[str], word: str) -> float:
    digest = hashlib.sha256(" ".join([*history, "|", word]).encode()).digest()
    return -5 * int.from_bytes(digest[:4], "big") / (1 << 32)


@pytest.fixture
def scorer() -> FunctionScorer:
    return FunctionScorer(log_probs_of, name="hash")


@pytest.fixture
def random_lattice() -> Callable[..., str]:
    """A CompactLattice of a few nodes and few different words, so that histories meet again."""

    def make(seed: int, *, name: str = "utt") -> str:
        rng = random.Random(seed)
        n_nodes = rng.randint(2, 8)
        lines = [name]
        for node in range(n_nodes - 1):
            targets = {node + 1, *rng.sample(range(node + 1, n_nodes), 1)}
            for target in sorted(targets):
                for word in rng.sample(["a", "b", "c", "d", "<eps>", "[noise]"], rng.randint(1, 2)):
                    graph, am = rng.uniform(0, 5), rng.uniform(0, 50)
                    lines.append(f"{node}\t{target}\t{word}\t{graph:.4g},{am:.5g},1_2")
            if node and rng.random() < 0.2:
                lines.append(f"{node}\t{rng.uniform(0, 3):.4g},0,")
        return "\n".join([*lines, f"{n_nodes - 1}", "", ""])

    return make
