"""Damaged files: an error of one line, or lattices with words from the file alone.

CHARLM_MUTATIONS is the number per format; CHARLM_TEST_DATA is a folder whose real lattices
(lattices-kaldi/*.lat.txt.gz) are added.
"""

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.errors import CharlmError
from charlm.nbest.lattices.expanded import RescoredLattice
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import (
    FORMATS,
    decoder_scales,
    read_lattices,
    rescored_text,
)
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.lattices.rescore import rescore_with
from charlm.nbest.reading.format import Source

N_MUTATIONS = int(os.environ.get("CHARLM_MUTATIONS", "300"))
ODD = [
    *(b"\0", b"\xff", b"\xc3", b"\r", b"\n", b"\n\n", b"\t", b" ", b"=", b",", b'"', b"'", b"\\"),
    *(b"1e999", b"-1e400", b"9" * 5000, b"nan", b"inf", b"-", b"#", b".", b"\xe2\x80\xa8"),
    *(b"\xc2\xa0", b"\x1b[2J", b"99999999999999999999", b"\\777", b"\\303", b"\xd9\xa1", b"1_0"),
    *(
        b"I=0",
        b"J=0",
        b"S=",
        b"SUBLAT=x",
        b"base=0",
        b"N=1",
        b"0 0 a 0,0,",
        b"0 1",
        b"\xef\xbb\xbf",
    ),
]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The content with one to four damages."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        other = min(len(content), at + rng.randint(1, 30))
        lines = content.split(b"\n")
        line = rng.randrange(len(lines))
        fields = lines[line].split()
        kind = rng.randrange(8)
        if kind == 0:
            content = content[:at]
        elif kind == 1:
            content = content[:at] + rng.choice(ODD) + content[at:]
        elif kind == 2:
            content = content[:at] + content[other:]
        elif kind == 3:
            content = content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
        elif kind == 4:
            lines.insert(rng.randrange(len(lines)), lines[line])
            content = b"\n".join(lines)
        elif kind == 5:
            del lines[line]
            content = b"\n".join(lines)
        elif fields:
            field = rng.randrange(len(fields))
            fields[field] = rng.choice([*ODD, rng.choice(content.split() or [b""])])
            lines[line] = rng.choice([b"\t", b" "]).join(fields)
            content = b"\n".join(lines)
    return content


def check(content: bytes, form: str, path: Path) -> bool:
    """Whether it was read; anything but an error of one line fails the test."""
    path.write_bytes(content)
    try:
        lattices = list(read_lattices(Source(path), form=form))
        options = LatticeOptions(n_best=3)
        found = list(rescore_with(lattices, {}, options=options))
    except CharlmError as error:
        assert "\n" not in str(error)
        assert str(path) in str(error)
        return False
    text = content.decode()
    assert text == "".join(line.raw for lattice in lattices for line in lattice.original.lines)
    for lattice in lattices:
        assert all(is_in(arc.word, text) for arc in lattice.arcs)
    check_written(found, path)
    return True


def check_written(found: list[RescoredLattice], path: Path) -> None:
    """The output can be read again with the same totals; or one line says why not."""
    try:
        text = "".join(rescored_text(each).text for each in found)
        scales = [decoder_scales(each) for each in found]
    except CharlmError as error:
        assert "\n" not in str(error)
        assert str(path) in str(error)
        return
    path.write_bytes(text.encode())
    form = "slf" if "acscale" in scales[0] else "kaldi-lattice"
    lattices = list(read_lattices(Source(path), form=form))
    for before, lattice, said in zip(found, lattices, scales, strict=True):
        weights, unit = {}, before.expanded.weighing.weights["am"]  # HTK's scales are in the file
        if form == "kaldi-lattice":
            weights = {"am": 1 / said["--inv-acoustic-scale"], "graph": 1.0}
            unit = before.expanded.weighing.scale
        options = LatticeOptions(weights=weights, beam=0, n_best=1)
        (again,) = rescore_with([lattice], {}, options=options)
        assert again.totals[0] * unit == pytest.approx(before.totals[0], rel=1e-6, abs=1e-3)


def is_in(word: str, text: str) -> bool:
    return word in text or word in ("<eps>", "!NULL") or "\\" in text


def contents(form: str, texts: dict[str, str]) -> list[bytes]:
    if form == "slf":
        return [texts["slf"].encode()]
    found = [(texts["compact"] + texts["lattice"].replace("utt-A", "utt-B")).encode()]
    folder = os.environ.get("CHARLM_TEST_DATA")
    if folder:
        for path in sorted(Path(folder).glob("lattices-kaldi/*.lat.txt.gz")):
            found.append(b"\n\n".join(gzip.decompress(path.read_bytes()).split(b"\n\n")[:4]))
    return found


@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_file_is_one_line_or_lattices_of_its_words(
    tmp_path: Path, texts: dict[str, str], form: str
) -> None:
    originals = contents(form, texts)
    n_read = 0
    for seed in range(N_MUTATIONS):
        rng = random.Random(seed)
        content = mutated(rng.choice(originals), rng)
        n_read += check(content, rng.choice(["auto", form]), tmp_path / "lattices")
    assert 0 < n_read < N_MUTATIONS  # some damages do harm, some do not


def test_a_stranger_cannot_make_states_cost_memory(read: Callable[..., list[Lattice]]) -> None:
    lattice = read("u\n0 999999999 a\n999999999\n\n")[0]
    assert lattice.nodes == ("0", "999999999")
