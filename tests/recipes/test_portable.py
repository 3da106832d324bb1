"""`recipes/portable/score.py`: an exported model without charlm and without torch."""

import subprocess
import sys
from pathlib import Path

import pytest

import charlm

SCRIPT = Path(__file__).resolve().parents[2] / "recipes" / "portable" / "score.py"


def test_twenty_lines_score_a_sentence_as_charlm_does(tiny_onnx: Path) -> None:
    sentences = ["the cat sat on the mat", "a zebra looked"]
    program = f"""
import runpy, sys
sys.modules |= dict.fromkeys(("charlm", "torch"))  # importing them fails
sys.argv = ["score.py", {str(tiny_onnx)!r}]
runpy.run_path({str(SCRIPT)!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="\n".join(sentences),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = [line.split("\t") for line in done.stdout.splitlines()]
    assert [text for _, text in found] == sentences
    expected = [each.log10_prob for each in charlm.load(tiny_onnx).score_many(sentences)]
    assert [float(number) for number, _ in found] == pytest.approx(expected, abs=1e-3)


def test_the_script_is_as_short_as_its_page_says() -> None:
    code = SCRIPT.read_text().partition("InferenceSession\n")[2].splitlines()
    assert len([line for line in code if line.strip()]) <= 20
