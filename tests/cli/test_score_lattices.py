"""What `charlm score` reports on lattices."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app

pytestmark = pytest.mark.usefixtures("at_home")


def ask(*arguments: str) -> Result:
    options = ["--device", "cpu", "--threads", "1"]
    return CliRunner().invoke(app, ["score", *arguments, *options])


def test_lattices_say_how_they_were_searched() -> None:
    Path("a.lat").write_text("utt\n0\t1\tthe\t1,10\n0\t1\ta\t2,11\n1\t2\tcat\t1,5\n2\n\n")
    result = ask("a.lat", "--model", "exp/first", "--write", "nbest")
    assert [hyp["text"] for hyp in json.loads(result.stdout)["hyps"]] != []
    told = result.stderr.splitlines()
    assert "lattices: 1 of 1 searched exactly; 0 histories merged, 0 pruned" in told
    assert told[-1].startswith("graph: language model, transitions and lexicon of the lists togeth")
    unweighted = ask("a.lat", "--model", "exp/first", "--write", "nbest", "--weight", "graph=0")
    assert "\ngraph: " not in unweighted.stderr


HTK = "VERSION=1.0\nN=2 L=2\nI=0\nI=1\nJ=0 S=0 E=1 W=the a=-1\nJ=1 S=0 E=1 W=cat a=-2\n"


@pytest.mark.parametrize(
    ("text", "scales"),
    [
        (
            "utt\n0\t1\tthe\t1,10\n0\t1\ta\t2,11\n1\n\n",
            "--inv-acoustic-scale=14.2857143 --lm-scale=1 --word-ins-penalty=0",
        ),
        (HTK, "lmscale=1 acscale=1 prscale=1 wdpenalty=0"),
    ],
)
def test_lattices_that_are_written_say_at_which_scales_to_read_them(text: str, scales: str) -> None:
    Path("a.lat").write_text(text)
    weights = ("--weight", "am=.07", "--weight", "nn=.5")
    result = ask("a.lat", "--model", "exp/first", "--out", "new.lat", *weights)
    assert result.exit_code == 0, result.output
    line = f"written for decoders: they find these best paths at {scales}"
    assert line in result.stdout.splitlines()
    assert charlm.score("new.lat", model="exp/first").format in ("slf", "kaldi-lattice")


def test_lattices_that_mislead_a_decoder_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.lat").write_text("utt\n0\t1\tthe\t1,10\n0\t1\ta\t2,11\n1\n\n")
    monkeypatch.setattr("charlm.scoring.rescoring.lattices._is_misjudged", lambda found, item: True)
    result = ask("a.lat", "--model", "exp/first", "--out", "new.lat")
    assert (
        "but another one in 1 of them, whose histories were merged: a larger --recombine merges "
        "fewer, 0 none"
    ) in result.stdout.splitlines()
