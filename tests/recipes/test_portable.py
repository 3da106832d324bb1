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


TEXT = "the cat sat on the mat\na zebra looked\nthe dog\n"


def compared(*models: Path) -> str:
    done = subprocess.run(
        [sys.executable, SCRIPT.with_name("compare.py"), *models, "9"],
        input=TEXT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_eight_bits_are_compared_behind_each_prefix(tiny_onnx: Path, tiny_int8: Path) -> None:
    prefixes = [
        line.split()[:n] for line in TEXT.splitlines() for n in range(len(line.split()) + 1)
    ][:9]
    differences, same, in_common = [], 0, 0
    for prefix in prefixes:
        found = []
        for path in (tiny_onnx, tiny_int8):
            model = charlm.load(path)
            state = model.start()
            for word in prefix:
                state = model.step(state, [word]).state
            found.append(dict(zip(model.words, model.distribution(state)[0], strict=True)))
        ranked = [sorted(each, key=lambda word: -each[word]) for each in found]
        same += ranked[0][0] == ranked[1][0]
        in_common += len({*ranked[0][:10]} & {*ranked[1][:10]})
        differences += [abs(found[0][word] - found[1][word]) for word in found[0]]
    assert compared(tiny_onnx, tiny_int8) == (
        f"9 contexts: the same likeliest word in {100 * same / 9:.2f} %, {in_common / 9:.2f} of "
        f"10 in common, {sum(differences) / len(differences):.2g} nats apart on average, "
        f"{max(differences):.2g} at most\n"
    )


def test_a_model_is_no_way_from_itself(tiny_onnx: Path) -> None:
    assert compared(tiny_onnx, tiny_onnx).endswith(
        "10.00 of 10 in common, 0 nats apart on average, 0 at most\n"
    )
