"""Lattices read and written again without new scores are the same bytes, however odd."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from charlm.nbest.lattices.lattice_files import read_lattices
from charlm.nbest.reading.format import Source

WORD = st.text("abcé\u00a0\u2028'\"\\[]<>/=|", min_size=1, max_size=6)
GAP = st.sampled_from([" ", "\t", "  ", " \t "])
END = st.sampled_from(["\n", "\r\n"])
COST = st.one_of(
    st.floats(-1e6, 1e6).map(repr), st.sampled_from(["1.50", "+2", ".5", "1e-3", "0", "-0"])
)
EXAMPLES = 50


@st.composite
def kaldi_archives(draw: st.DrawFn) -> str:
    """Some lattices of a chain each, with parallel arcs, of either kind."""
    end, pieces = draw(END), [draw(st.sampled_from(["", "\ufeff", "\n"]))]
    for number in range(draw(st.integers(1, 3))):
        is_compact = draw(st.booleans())
        pieces.append(f"utt-{number}-{draw(WORD)}{draw(st.sampled_from(['', ' ']))}{end}")
        n_nodes = draw(st.integers(1, 4))
        for node in range(n_nodes):
            for _ in range(draw(st.integers(1, 2))):
                labels = [f"x{draw(WORD)}"] if is_compact else ["7", f"x{draw(WORD)}"]
                weight = f"{draw(COST)},{draw(COST)}" + (",3_1" if is_compact else "")
                row = [str(node), str(node + 1), *labels, weight]
                pieces.append(draw(GAP).join(row) + end)
        pieces.append(draw(st.sampled_from([f"{n_nodes}", f"{n_nodes} {draw(COST)},0"])) + end)
        pieces.append(draw(st.sampled_from([end, end + end, f" {end}"])))
    return "".join(pieces).rstrip("\r\n") if draw(st.booleans()) else "".join(pieces)


@st.composite
def slf_files(draw: st.DrawFn) -> str:
    """One lattice with fields in any order, comments and blank lines."""
    end = draw(END)
    n_nodes = draw(st.integers(2, 5))
    lines = ["VERSION=1.0", "UTTERANCE=u lmscale=1" + draw(GAP) + "other=5", f"N={n_nodes}"]
    for node in range(n_nodes):
        fields = [f"I={node}", f"t={draw(COST)}", f"whatever={draw(WORD)}"]
        lines.append(draw(GAP).join(draw(st.permutations(fields))))
    for node in range(n_nodes - 1):
        fields = [f"J={node}", f"S={node}", f"E={node + 1}", f"a={draw(COST)}", f"W=x{draw(WORD)}"]
        lines.append(draw(GAP).join(draw(st.permutations(fields))))
        lines += draw(st.sampled_from([[], ["# said nothing"], [""]]))
    return (
        draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(st.sampled_from(["", end]))
    )


def written_again(text: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lattices"
        path.write_bytes(text.encode())
        found = read_lattices(Source(path))
        return "".join(line.raw for lattice in found for line in lattice.original.lines)


@settings(max_examples=EXAMPLES)
@given(kaldi_archives())
def test_kaldis_archives_come_back_byte_for_byte(text: str) -> None:
    assert written_again(text) == text


@settings(max_examples=EXAMPLES)
@given(slf_files())
def test_htks_files_come_back_byte_for_byte(text: str) -> None:
    assert written_again(text) == text
