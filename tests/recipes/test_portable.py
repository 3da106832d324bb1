"""`recipes/portable/score.py`: an exported model without charlm and without torch."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import charlm

SCRIPT = Path(__file__).resolve().parents[2] / "recipes" / "portable" / "score.py"


SENTENCES = [
    "the cat sat on the mat",
    "a zebra looked",
    "<unk>:cat <unk> the\u00a0cat",
    "the voilà",
    "the voila\u0300",  # the same in another Unicode form
    "\ufeffthe cat",  # as a file of Windows begins
]
LATIN_1 = {**os.environ, "PYTHONIOENCODING": "latin-1"}  # as in a locale that is not UTF-8


def scored(folder: Path) -> tuple[list[float], str]:
    """What the script says of SENTENCES: log10s, and its standard error."""
    program = f"""
import runpy, sys
sys.modules |= dict.fromkeys(("charlm", "torch"))  # importing them fails
sys.argv = ["score.py", {str(folder)!r}]
runpy.run_path({str(SCRIPT)!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="\n".join(SENTENCES),
        capture_output=True,
        encoding="utf-8",
        env=LATIN_1,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [line.split("\t") for line in done.stdout.splitlines()]
    assert [text for _, text in found] == SENTENCES
    return [float(number) for number, _ in found], done.stderr


def judged(folder: Path) -> list[float]:
    return [each.log10_prob for each in charlm.load(folder).score_many(SENTENCES)]


def test_forty_lines_score_a_sentence_as_charlm_does(tiny_onnx: Path) -> None:
    found, said = scored(tiny_onnx)
    assert found == pytest.approx(judged(tiny_onnx), abs=1e-3)
    assert said == ""


def test_they_know_spellings_of_one_length_and_a_state_that_was_learned(
    can_export: None, corpus_dir: Path, tmp_path: Path
) -> None:
    small = ["context.dim=8", "encoder.word.encoder.dim=8", "encoder.char.dim=8"]
    small += ["encoder.char.buckets=50", "recipe.bptt=5", "context.initial_state=learned"]
    options = {"epochs": 2, "lr": 0.5, "batch_size": 2, "threads": 1, "device": "cpu"}
    run = tmp_path / "run"
    charlm.train(arch="word-ngram-modern", data=corpus_dir, out=run, overrides=small, **options)
    charlm.export(run, onnx=tmp_path / "onnx", threads=1)
    found, _ = scored(tmp_path / "onnx")
    assert found == pytest.approx(judged(tmp_path / "onnx"), abs=1e-3)


def test_a_model_that_reads_morphs_is_refused_in_one_line(
    can_export: None, corpus_dir: Path, tmp_path: Path
) -> None:
    vocab, run, folder = tmp_path / "vocab.json", tmp_path / "run", tmp_path / "onnx"
    charlm.vocab(data=corpus_dir, out=vocab, morphs="sentencepiece:40")
    small = ["context.dim=8", "encoder.dim=8", "context.layers=1"]
    options = {"epochs": 1, "batch_size": 2, "bptt": 5, "threads": 1, "device": "cpu"}
    charlm.train(
        arch="morph-small", data=corpus_dir, vocab=vocab, out=run, overrides=small, **options
    )
    charlm.export(run, onnx=folder, threads=1)
    done = subprocess.run(
        [sys.executable, SCRIPT, folder], input="", capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"{folder}: reads words as morphs; expected letters; charlm score reads both\n"
    )


def test_rules_of_a_text_that_they_leave_out_are_told(tiny_onnx: Path, tmp_path: Path) -> None:
    folder = tmp_path / "onnx"
    shutil.copytree(tiny_onnx, folder)
    vocabulary = json.loads((folder / "vocab.json").read_text())
    vocabulary["normalisation"] |= {"lower": True}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    assert scored(folder)[1] == "note: lines are not put through the text's rules (lower)\n"


def test_a_folder_that_was_not_exported_is_answered_with_the_head(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], input="", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1,
        SCRIPT.read_text().split("\n")[0][3:],
    )


def test_the_script_is_as_short_as_its_page_says() -> None:
    assert len([line for line in SCRIPT.read_text().splitlines() if line.strip()]) <= 40


TEXT = "the cat sat\u00a0on the mat\na zebra looked\nthe dog\n"


def compared(*models: Path) -> str:
    done = subprocess.run(
        [sys.executable, SCRIPT.with_name("compare.py"), *models, "9"],
        input=TEXT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("script", ["compare.py", "speed.py"])
def test_a_folder_without_a_model_is_one_line(tmp_path: Path, script: str) -> None:
    command = [sys.executable, SCRIPT.with_name(script), tmp_path, tmp_path]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert done.stderr.startswith(f"{tmp_path}: ")


def test_eight_bits_are_compared_behind_each_prefix(tiny_onnx: Path, tiny_int8: Path) -> None:
    prefixes = [
        line.split(" ")[:n] for line in TEXT.splitlines() for n in range(line.count(" ") + 2)
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
