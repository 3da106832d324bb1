"""Lattices over the ten words of a run and `zz`, which it does not know; a module's own lists."""

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

KALDI = """\
utt-A
0\t1\ta\t2,30
0\t1\tb\t1,31
1\t2\t[noise]\t0.5,10
1\t2\t<eps>\t0.25,12
2\t3\tc\t1,20
2\t3\tzz\t1.5,18
3\t4\td\t0.5,5
3\t4\te\t0.75,5.5
4\t0.5,0

utt-B
0\t1\ta\t1,10
1

utt-C
0\t1\th\t1,10
0\t1\tg\t1,10
1

"""
SLF = """\
VERSION=1.0
UTTERANCE=utt-A
lmscale=14.0  acscale=2.0
N=4  L=4
I=0 t=0.00
I=1 t=0.12 W=a v=1
I=2 t=0.13 W=zz v=1
I=3 t=0.31 W=!NULL
J=0 S=0 E=1 a=-23.04 l=-2.811
J=1 S=0 E=2 a=-24.0  l=-2.5
J=2 S=1 E=3 a=0.0     l=-1.0
J=3 S=2 E=3 a=0.0     l=-1.0
"""


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """The text of a file of lattices in each layout."""
    return {"kaldi-lattice": KALDI, "slf": SLF}


@pytest.fixture
def lists(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The table `LISTS` of the test's module."""
    path = tmp_path / "lists.tsv"
    path.write_text(request.module.LISTS)
    return path


@pytest.fixture
def refs(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The references `REFS` of the test's module."""
    path = tmp_path / "refs"
    path.write_text(request.module.REFS)
    return path


@pytest.fixture
def set_stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Lets standard input hold some bytes."""

    def hold(content: bytes) -> None:
        raw = io.BufferedReader(io.BytesIO(content))  # type: ignore[arg-type]
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=raw))

    return hold
