"""run.sh of the data sets: the whole chain on tiny data, and what a second call skips."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from charlm.presets import PRESETS

BASH = shutil.which("bash") or "bash"
ROOT = Path(__file__).resolve().parents[2]
Tree = Any  # the class of conftest.py, which tests cannot import
Done = subprocess.CompletedProcess[str]
SPLITS = ("train", "valid", "test")
WHOLE = f"""#!{BASH}
PYTHONPATH="{ROOT}" exec "{sys.executable}" -m charlm "$@"
"""
# Creates the files of each command, and prints an empty object.
LEAVES_FILES = f"""#!{BASH}
out= seed=
for word in "$@"; do
  case $before in --out) out=$word ;; --seed) seed=$word ;; esac
  before=$word
done
case $1 in
  prep) mkdir -p "$out"; : >"$out/corpus.json" ;;
  vocab) echo '{{"words": ["</s>", "<unk>", "because", "a", "windows"]}}' >"$out" ;;
  train) mkdir -p "$out"; echo "{{\\"seed\\": $seed}}" >"$out/run.json"; : >"$out/model.safetensors"
    [ -z "${{STOPS:-}}" ] && rm -f "$out/encoded" || : >"$out/encoded" ;;
  report) : >"$out" ;;
  eval) echo '{{"texts": [{{"n_sentences": 2, "open_vocabulary":
    {{"carried": {{"log10_prob": -6.020599913279624}}}}}}]}}' ;;
  *) echo '{{}}' ;;
esac
"""


def commands(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return re.findall(r"^\$ charlm (.*)$", done.stdout, re.MULTILINE)


def texts(folder: Path, text: str = "a window because a window <unk>\n") -> Path:
    folder.mkdir(parents=True)
    for split in SPLITS:
        (folder / f"{split}.txt").write_text(text)
    return folder


STEPS = ["vocab", "train", "train", "train", "compare-kn", "compare-kn", "report", "nn", "table"]


def test_every_step_is_done_once_and_a_second_call_does_what_is_missing(
    tree: Tree, tmp_path: Path
) -> None:
    tree.add("charlm", LEAVES_FILES)
    data, out = texts(tmp_path / "wiki"), tmp_path / "out"
    first = commands(tree.run("wikitext-2/run.sh", str(data), "--device", "cpu", OUT=str(out)))
    assert [each.split()[0] for each in first] == STEPS
    assert first[0] == f"vocab --data {data} --out {out}/vocab.json --morphs sentencepiece:5000"
    assert first[1] == (
        f"train --arch word-small --seed 1 --data {data} --vocab {out}/vocab.json "
        f"--out {out}/word-small --device cpu"
    )
    assert first[6].startswith(  # the first one is shown in detail
        f"report {out}/char-small {out}/word-small {out}/morph-small --data {data} "
    )
    assert first[7].startswith(f"nn because windows --model {out}/char-small")
    second = commands(tree.run("wikitext-2/run.sh", str(data), OUT=str(out)))
    assert [each.split()[0] for each in second] == ["table"]
    more = tree.run("wikitext-2/run.sh", str(data), OUT=str(out), ARCHS="word-small word-large")
    redone = [each.split()[0] for each in commands(more)]
    assert redone == ["train", "compare-kn", "report", "nn", "table"]


@pytest.mark.parametrize(
    ("word", "asked"), [("परमेश्वर", ["nn परमेश्वर"]), ("耶和華", [])], ids=["Hindi", "Chinese"]
)
def test_words_with_vowel_signs_are_looked_at_and_short_words_are_not(
    tree: Tree, tmp_path: Path, word: str, asked: list[str]
) -> None:
    tree.add("charlm", LEAVES_FILES.replace("windows", word).replace("because", "का"))
    data, out = texts(tmp_path / "mine"), tmp_path / "out"
    shown = commands(tree.run("wikitext-2/run.sh", str(data), OUT=str(out), ARCHS="char-small"))
    assert [each.partition(" --")[0] for each in shown if each.startswith("nn")] == asked
    assert shown[-1].startswith("table ")


def test_a_training_that_was_stopped_is_gone_on_with(tree: Tree, tmp_path: Path) -> None:
    tree.add("charlm", LEAVES_FILES)
    data, out = texts(tmp_path / "wiki"), tmp_path / "out"
    environment = {"OUT": str(out), "ARCHS": "word-small"}
    done = tree.run("wikitext-2/run.sh", str(data), STOPS="1", **environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"run: {out}/word-small: stopped before its end; call this again to go on"
    )
    shown = commands(tree.run("wikitext-2/run.sh", str(data), **environment))
    assert shown[0].endswith(f"--out {out}/word-small --resume")


def test_raw_text_is_prepped_and_spelling_is_read_only_where_a_model_reads_it(
    tree: Tree, tmp_path: Path
) -> None:
    tree.add("charlm", LEAVES_FILES)
    texts(tmp_path / "imdb" / "raw")
    shown = commands(tree.run("imdb/run.sh", str(tmp_path / "imdb"), OUT=str(tmp_path / "out")))
    assert shown[0].startswith(f"prep {tmp_path}/imdb/raw/train.txt --valid ")
    assert shown[0].endswith("--lower --tokenise simple")
    assert shown[1].endswith("vocab.json --size 30000")
    assert "spelling" not in shown[2]
    assert shown[3].endswith("--set recipe.oov_input=spelling --set recipe.schedule.epochs=1")


@pytest.mark.parametrize(
    ("name", "end"),
    [("bbc", " --state sentence"), ("imdb", " --state sentence"), ("wikitext-2", "")],
)
def test_models_of_single_sentences_have_their_figures_in_the_table(
    tree: Tree, tmp_path: Path, name: str, end: str
) -> None:
    tree.add("charlm", LEAVES_FILES)
    data, out = texts(tmp_path / "mine"), tmp_path / "out"
    shown = commands(tree.run(f"{name}/run.sh", str(data), OUT=str(out)))
    assert shown[-1] == f"table {out}/compare-kn.json {out}/kn4.json{end}"


def test_spelling_is_read_by_every_preset_that_can(tree: Tree, tmp_path: Path) -> None:
    tree.add("charlm", LEAVES_FILES)
    texts(tmp_path / "imdb" / "raw")
    environment = {"OUT": str(tmp_path / "out"), "ARCHS": " ".join(PRESETS)}
    shown = commands(tree.run("imdb/run.sh", str(tmp_path / "imdb"), **environment))
    trainings = [line for line in shown if line.startswith("train ")]
    told = {arch for arch, line in zip(PRESETS, trainings, strict=True) if "oov_input" in line}
    assert told == {arch for arch in PRESETS if "'char-" in str(PRESETS[arch]["encoder"])}


def test_languages_end_with_bits_a_sentence_and_one_table(tree: Tree, tmp_path: Path) -> None:
    tree.add("charlm", LEAVES_FILES)
    for code in ("cs", "old english"):
        texts(tmp_path / "bible" / code, "a window because a window\n")
    (tmp_path / "bible" / "downloads").mkdir()
    out = tmp_path / "out"
    done = tree.run("languages/run.sh", str(tmp_path / "bible"), OUT=str(out), ARCHS="char-small")
    shown = commands(done)
    files = [
        f"{out}/{code}/{name}.json"
        for code in ("cs", "old english")
        for name in ("compare-kn", "kn4")
    ]
    assert shown[-1] == " ".join(["table", *files])
    tables = " ".join(f"--table {file}" for file in files)
    assert shown[-2] == f"report {out}/old english/char-small {tables} --out {out}/report.html"
    # 10^-6.02 is 2^-20, of two sentences.
    assert f"   10.00 bits a sentence: {out}/old english/eval-char-small.json" in done.stdout
    assert "--set recipe.schedule.least_gain_share=0.01 --epochs 15 --speller" in shown[1]


@pytest.mark.parametrize(
    ("script", "folder"),
    [
        ("languages/run.sh", "bible"),
        ("multi30k/run.sh", "bible"),
        ("languages/table8.sh", "bible/cs"),
    ],
)
def test_a_rate_that_valid_does_not_halve_is_not_told_when(
    tree: Tree, tmp_path: Path, script: str, folder: str
) -> None:
    tree.add("charlm", LEAVES_FILES)
    texts(tmp_path / "bible" / "cs", "a window because a window\n")
    environment = {"OUT": str(tmp_path / "out"), "LANGS": "cs", "TOKENS": "all", "SIZES": "all"}
    done = tree.run(script, str(tmp_path / folder), ARCHS=" ".join(PRESETS), **environment)
    shown = commands(done)
    trainings = [line for line in shown if line.startswith("train ")]
    told = {arch for arch, line in zip(PRESETS, trainings, strict=True) if "least_gain" in line}
    schedules = {arch: preset["recipe"]["schedule"]["type"] for arch, preset in PRESETS.items()}
    assert told == {arch for arch, schedule in schedules.items() if schedule == "halving"}


@pytest.mark.parametrize("place", [".", "raw"])
def test_the_folder_of_one_language_is_not_taken_for_that_of_all(
    tree: Tree, tmp_path: Path, place: str
) -> None:
    texts(tmp_path / "bible/cs" / place)
    done = tree.run("languages/run.sh", f"{tmp_path}/bible/cs", OUT=str(tmp_path / "out"))
    assert (done.returncode, commands_shown(done)) == (1, [])
    assert done.stderr.splitlines()[-1] == (
        f"run: {tmp_path}/bible/cs: holds the texts of one language; expected the folder of all, "
        f"as {tmp_path}/bible; LANGS=cs chooses"
    )


def test_table_8_cuts_texts_and_vocabularies_and_trains_no_vocabulary_twice(
    tree: Tree, tmp_path: Path
) -> None:
    tree.add("charlm", LEAVES_FILES)
    data, out = texts(tmp_path / "de", "a window\n" * 3), tmp_path / "out"
    environment = {"OUT": str(out), "ARCHS": "word-small", "TOKENS": "8 all", "SIZES": "3 9 all"}
    shown = commands(tree.run("languages/table8.sh", str(data), **environment))
    # The vocabularies that the fake charlm leaves hold 5 words: 9 are all of them.
    assert [each.split()[0] for each in shown] == [
        *(["vocab", "vocab", "train", "compare-kn", "train", "compare-kn"] * 2),
        *(["table"] * 3),
    ]
    assert shown[1] == f"vocab --data {out}/texts/8 --out {out}/3/8/vocab.json --size 3"
    assert [(out / "texts" / n / "train.txt").read_text() for n in ("8", "all")] == [
        "a window\n" * 2,
        "a window\n" * 3,
    ]
    assert shown[-2] == f"table {out}/9/8/compare-kn.json {out}/9/all/compare-kn.json"
    again = commands(tree.run("languages/table8.sh", str(data), **environment))
    assert [each.split()[0] for each in again] == ["table"] * 3


def test_low_resource_cuts_a_text_and_trains_in_the_words_of_each_beginning(
    tree: Tree, tmp_path: Path
) -> None:
    tree.add("charlm", LEAVES_FILES)
    data, out = texts(tmp_path / "mine", "a window\n" * 3), tmp_path / "out"
    (data / "corpus.json").write_text('{"normalisation": {"lower": true}}')
    environment = {"OUT": str(out), "TOKENS": "8 all"}
    shown = commands(tree.run("low-resource/run.sh", str(data), "--threads", "1", **environment))
    assert [each.split()[0] for each in shown] == [
        *(["vocab", "train", "train", "train", "compare-kn"] * 2),
        "table",
    ]
    assert shown[2] == (
        f"train --arch word-char-modern --seed 3435 --data {out}/texts/8 "
        f"--vocab {out}/8/vocab.json --out {out}/8/word-char-modern --threads 1"
    )
    assert (out / "texts" / "8" / "train.txt").read_text() == "a window\n" * 2
    # So the runs read raw text by the rules of theirs.
    assert "lower" in (out / "texts" / "8" / "corpus.json").read_text()
    again = commands(tree.run("low-resource/run.sh", str(data), **environment))
    assert again == [f"table {out}/8/compare-kn.json {out}/all/compare-kn.json"]


def test_another_seed_than_that_of_what_is_trained_is_refused(tree: Tree, tmp_path: Path) -> None:
    tree.add("charlm", LEAVES_FILES)
    data, out = texts(tmp_path / "mine", "a window\n" * 3), tmp_path / "out"
    environment = {"OUT": str(out), "TOKENS": "all", "ARCHS": "char-small"}
    assert commands(tree.run("low-resource/run.sh", str(data), **environment))
    done = tree.run("low-resource/run.sh", str(data), **environment, SEED="1")
    assert (done.returncode, commands_shown(done)) == (1, [])
    assert done.stderr.splitlines()[-1] == (
        f"run: {out}/all/char-small: trained with seed 3435, not 1; name another folder with OUT"
    )
    assert commands(tree.run("low-resource/run.sh", str(data), "--seed", "3435", **environment))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--seed 4", "seed 1, not 4"),
        ("--seed=4", "seed 1, not 4"),
        ("--epochs 3", "epochs 2, not 3"),
        ("--set context.dim=9", "context.dim 4, not 9"),
        ("--seed 1 --epochs 2 --set context.dim=4.0 --set context.sizes=3,4", ""),
    ],
)
def test_other_options_than_those_of_what_is_trained_are_refused(
    tree: Tree, tmp_path: Path, option: str, message: str
) -> None:
    tree.add("charlm", LEAVES_FILES)
    data, out = texts(tmp_path / "mine"), tmp_path / "out"
    arguments, environment = (str(data),), {"OUT": str(out), "ARCHS": "char-small"}
    assert commands(tree.run("wikitext-2/run.sh", *arguments, **environment))
    settings = {"recipe": {"epochs": 2}, "context": {"dim": 4, "sizes": [3, 4]}}
    run = out / "char-small"
    (run / "run.json").write_text(json.dumps({"seed": 1, "settings": settings}))
    done = tree.run("wikitext-2/run.sh", *arguments, *option.split(), **environment)
    told = f"run: {run}: trained with {message}; name another folder with OUT"
    assert (done.stderr.splitlines() or [""])[-1] == (told if message else ""), done.stderr
    assert (done.returncode, commands_shown(done) == []) == (bool(message), bool(message))


def test_a_text_that_is_shorter_than_a_beginning_is_trained_on_once(
    tree: Tree, tmp_path: Path
) -> None:
    tree.add("charlm", LEAVES_FILES)
    data, out = texts(tmp_path / "mine", "a window\n" * 3), tmp_path / "out"
    environment = {"OUT": str(out), "TOKENS": "8 99 100 all", "ARCHS": "char-small"}
    done = tree.run("low-resource/run.sh", str(data), **environment)
    shown = commands(done)
    assert [each.split()[0] for each in shown] == [*(["vocab", "train", "compare-kn"] * 2), "table"]
    assert shown[-1] == f"table {out}/8/compare-kn.json {out}/99/compare-kn.json"
    assert done.stderr.count(": the text ends before, and is trained on once") == 2


@pytest.mark.parametrize(
    "script", ["wikitext-2/run.sh", "low-resource/run.sh", "languages/table8.sh"]
)
def test_results_of_one_text_are_not_gone_on_with_for_another(
    tree: Tree, tmp_path: Path, script: str
) -> None:
    tree.add("charlm", LEAVES_FILES)
    first, other = texts(tmp_path / "cs", "a window\n"), texts(tmp_path / "de", "ein Fenster\n")
    environment = {"OUT": str(tmp_path / "out"), "TOKENS": "8", "ARCHS": "char-small"}
    commands(tree.run(script, str(first), **environment))
    done = tree.run(script, str(other), **environment)
    assert (done.returncode, commands_shown(done)) == (1, [])
    assert done.stderr.splitlines()[-1] == (
        f"run: {tmp_path}/out: its results are of other texts than {other}; "
        "name another folder with OUT"
    )


@pytest.mark.parametrize(
    ("script", "own"), [("rescoring/train.sh", ""), ("reading-times/run.sh", "wikitext-2")]
)
def test_a_corpus_made_of_other_texts_is_not_gone_on_with(
    tree: Tree, tmp_path: Path, script: str, own: str
) -> None:
    folder = texts(tmp_path / "set" / own).resolve()
    (tmp_path / "set" / "all_stories.tok").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "texts.sha256").write_text("of other texts\n")
    (tmp_path / "out" / "vocab.json").touch()
    done = tree.run(script, f"{tmp_path}/set", OUT=f"{tmp_path}/out")
    assert (done.returncode, commands_shown(done)) == (1, [])
    assert done.stderr.splitlines()[-1] == (
        f"run: {tmp_path}/out: its results are of other texts than {folder}; "
        "name another folder with OUT"
    )


def test_an_out_without_results_takes_other_texts_but_is_not_their_folder(
    tree: Tree, tmp_path: Path
) -> None:
    folder = texts(tmp_path / "cs")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "texts.sha256").write_text("of texts with which nothing came out\n")
    asked = f'. "$setup_root/recipes/chain.sh"; require_same_texts "{folder}"'
    assert tree.set_up(f'{asked} "{tmp_path}/out"').returncode == 0
    assert "train.txt" in (tmp_path / "out" / "texts.sha256").read_text()
    assert tree.set_up(f'{asked} "{folder}"').stderr.splitlines()[-1] == (
        f"run: {folder}: holds the texts, and results would lie among them; name another folder "
        "with OUT"
    )


def test_low_resource_preps_raw_text_as_the_recipes_of_its_sets(tree: Tree, tmp_path: Path) -> None:
    tree.add("charlm", LEAVES_FILES.replace(': >"$out/corpus.json" ;;', ': >"$out/train.txt" ;;'))
    texts(tmp_path / "cs" / "raw")
    done = tree.run("low-resource/run.sh", str(tmp_path / "cs"), OUT=str(tmp_path / "out"))
    assert commands_shown(done)[0].endswith(f"--out {tmp_path}/out/cs --lower --tokenise simple")


def test_a_folder_whose_name_begins_with_a_dash_is_no_option(tree: Tree, tmp_path: Path) -> None:
    tree.add("charlm", LEAVES_FILES)
    texts(tmp_path / "-mine")
    texts(tmp_path / "-raw" / "raw")
    steps = (
        f'cd "{tmp_path}"; . "$setup_root/recipes/chain.sh"',
        'make_corpus -mine out; cut_corpus all "$corpus" out/all',
        "make_corpus -raw out",
    )
    done = tree.set_up("; ".join(steps))
    assert [each.split()[:2] for each in commands(done)] == [["prep", "./-raw/raw/train.txt"]]
    assert (tmp_path / "out" / "all" / "test.txt").exists()


@pytest.mark.parametrize("name", ["TOKENS", "SIZES"])
def test_table_8_of_no_number_is_one_line(tree: Tree, tmp_path: Path, name: str) -> None:
    data = texts(tmp_path / "de")
    done = tree.run("languages/table8.sh", str(data), OUT=str(tmp_path / "out"), **{name: "5 1k"})
    assert (done.returncode, commands_shown(done)) == (1, [])
    assert done.stderr.splitlines()[-1] == (
        "run: TOKENS, SIZES: found '1k'; expected numbers from 1, or all"
    )


def test_words_that_cannot_be_spelled_leave_the_table_as_it_is(tree: Tree, tmp_path: Path) -> None:
    obstacle = '"open_vocabulary": {{"obstacle": "why not"}}}}]}}'
    before, _, after = LEAVES_FILES.partition('"open_vocabulary":')
    end = after.partition("' ;;")[2]
    tree.add("charlm", f"{before}{obstacle.format()}' ;;{end}")
    texts(tmp_path / "bible" / "cs", "a window because a window\n")
    done = tree.run(
        "languages/run.sh", f"{tmp_path}/bible", OUT=f"{tmp_path}/out", ARCHS="char-small"
    )
    assert commands(done)[-1].startswith("table ")
    assert "no bits a sentence: " in done.stdout
    assert "(why not)" in done.stdout


@pytest.mark.parametrize("place", [".", "raw"])
def test_words_that_stand_as_unk_have_no_speller(tree: Tree, tmp_path: Path, place: str) -> None:
    tree.add("charlm", LEAVES_FILES)
    texts(tmp_path / "news" / "cs" / place)
    out = tmp_path / "out"
    done = tree.run("languages/run.sh", str(tmp_path / "news"), OUT=str(out), ARCHS="char-small")
    assert not any("--speller" in each or each.startswith("eval") for each in commands(done))
    assert "bits" not in done.stdout


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (["valid"], "FOLDER: train.txt without valid.txt or test.txt; expected all three; "),
        (SPLITS, "FOLDER: no train.txt, valid.txt and test.txt in it or in its raw/; run get.sh"),
    ],
)
def test_a_folder_without_one_of_the_three_texts_is_one_line(
    tree: Tree, tmp_path: Path, missing: list[str], message: str
) -> None:
    data = texts(tmp_path / "wiki")
    for split in missing:
        (data / f"{split}.txt").unlink()
    done = tree.run("wikitext-2/run.sh", str(data), OUT=str(tmp_path / "out"))
    assert (done.returncode, commands_shown(done)) == (1, [])
    assert not (tmp_path / "out").exists()
    assert done.stderr.splitlines()[-1].startswith(f"run: {message}".replace("FOLDER", str(data)))


def commands_shown(done: Done) -> list[str]:
    return re.findall(r"^\$ (.*)$", done.stdout, re.MULTILINE)


def test_the_whole_chain_runs_in_small(tree: Tree, tmp_path: Path) -> None:
    tree.add("charlm", WHOLE)
    line = "the windows were open because the window was broken <unk>\n"
    data, out = texts(tmp_path / "wiki", line * 30), tmp_path / "out"
    options = ["--epochs", "1", "--set", "context.dim=4", "--device", "cpu", "--threads", "1"]
    arguments = (str(data), *options)
    environment = {"OUT": str(out), "ARCHS": "char-small", "MORPHS": "none"}
    done = tree.run("wikitext-2/run.sh", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    rows = [each.split() for each in done.stdout.splitlines()[-20:]]
    names = [row[0] for row in rows if row]
    assert [name for name in names if name in ("KN-4", "KN-5", "char-small")][:3] == [
        "KN-4",
        "KN-5",
        "char-small",
    ]
    assert (out / "report.html").stat().st_size > 10_000
    assert "windows" in (out / "nn.txt").read_text()
    assert json.loads((out / "compare-kn.json").read_text())["order"] == 5
