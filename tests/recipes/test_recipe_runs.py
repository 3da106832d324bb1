"""The recipes at work, on a copy of them; the fake charlm does nothing, and succeeds."""

import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from charlm.presets import PRESETS, preset

BASH = shutil.which("bash") or "bash"
ROOT = Path(__file__).resolve().parents[2]
DOES_NOTHING = f"#!{BASH}\nexit 0\n"
Tree = Any  # the class of conftest.py, which tests cannot import
Done = subprocess.CompletedProcess[str]


STEPS = ["prep", "vocab", "train", "eval", "nn", "next"]


def commands(done: Done) -> list[str]:
    """The commands that a script showed before it ran them."""
    assert done.returncode == 0, done.stderr
    return commands_shown(done)


def commands_shown(done: Done) -> list[str]:
    return re.findall(r"^\$ charlm (.*)$", done.stdout, re.MULTILINE)


def test_another_vocabulary_than_the_one_that_is_made_is_refused(
    tree: Tree, tmp_path: Path
) -> None:
    tree.add("charlm", f'#!{BASH}\n: >"$5"\n')  # --out
    made = f'. "$setup_root/recipes/chain.sh"; corpus=mine; make_vocabulary "{tmp_path}"'
    asked = f"vocab --data mine --out {tmp_path}/vocab.json --size 9"
    assert commands(tree.set_up(f"{made} --size 9")) == [asked]
    assert commands(tree.set_up(f"{made} --size 9")) == []
    done = tree.set_up(made)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        f"run: {tmp_path}/vocab.json: made by 'charlm vocab --size 9', not by 'charlm vocab'; "
        "name another folder with OUT",
    )


@pytest.mark.parametrize("arguments", [[], ["--quick"]])
def test_the_demo_shows_each_step_before_it_runs_it(tree: Tree, arguments: list[str]) -> None:
    shown = commands(tree.run("demo.sh", *arguments))
    assert [command.split()[0] for command in shown] == STEPS
    assert "--corpus pydoc" in shown[0]
    assert all("exp/demo" in command for command in shown)


def test_the_demo_removes_what_it_made_before_and_nothing_else(tree: Tree, tmp_path: Path) -> None:
    demo = tmp_path / "demo"
    for name in ("corpus", "run", "mine"):
        (demo / name).mkdir(parents=True)
    tree.run("demo.sh", CHARLM_DEMO_DIR=str(demo))
    assert [path.name for path in demo.iterdir()] == ["mine"]


def test_the_demo_stops_where_a_step_fails(tree: Tree) -> None:
    tree.add("charlm", f'#!{BASH}\n[ "$1" != train ]\n')
    done = tree.run("demo.sh", "--quick")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("$ charlm train")


def test_the_demo_takes_no_other_option(tree: Tree) -> None:
    done = tree.run("demo.sh", "--fast")
    assert done.returncode == 2
    assert done.stderr.endswith("usage: bash recipes/demo.sh [--quick]\n")


@pytest.fixture
def ptb(tmp_path: Path) -> Path:
    """A folder with three files by Mikolov's names and of other content."""
    folder = tmp_path / "ptb"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        (folder / f"ptb.{split}.txt").write_text(f" the {split} set \n")
    return folder


def test_the_penn_treebank_is_trained_measured_and_looked_at_before_and_after_the_highway(
    tree: Tree, ptb: Path
) -> None:
    shown = commands(tree.run("ptb/run.sh", str(ptb), "--epochs", "1"))
    data, out = f"{tree.root}/exp/ptb-data", f"{tree.root}/exp/ptb-char-small"
    assert shown[0] == f"train --arch char-small --seed 3435 --data {data} --out {out} --epochs 1"
    assert [command.split()[0] for command in shown] == ["train", "eval", "nn", "nn"]
    assert [command.split()[-1] for command in shown[2:]] == ["char-cnn", "highway"]
    assert Path(data, "test.txt").read_text() == " the test set \n"


@pytest.mark.parametrize("arch", [name for name in PRESETS if name.startswith("char-")])
def test_the_words_are_looked_at_where_a_preset_has_a_place(
    tree: Tree, ptb: Path, arch: str
) -> None:
    shown = commands(tree.run("ptb/run.sh", str(ptb), ARCH=arch))
    places, encoder = [], preset(arch)["encoder"]
    while encoder:
        places.insert(0, encoder["type"])
        encoder = encoder.get("encoder")
    assert [command.split()[-1] for command in shown[2:]] == places


def test_another_text_than_the_papers_is_named(tree: Tree, ptb: Path) -> None:
    done = tree.run("ptb/run.sh", PTB_DATA=str(ptb))
    assert done.stderr.splitlines()[-1] == (
        f"ptb: {tree.root}/exp/ptb-data/test.txt: not the file that the papers use; "
        "the figures will differ"
    )


def test_a_run_that_exists_is_gone_on_with(tree: Tree, ptb: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").touch()
    shown = commands(tree.run("ptb/run.sh", PTB_DATA=str(ptb), OUT=str(run), ARCH="word-small"))
    assert shown[0].startswith("train --arch word-small ")
    assert shown[0].endswith(f"--out {run} --resume")
    assert len(shown) == 2


def test_a_missing_penn_treebank_is_one_line_that_says_where_it_is_from(tree: Tree) -> None:
    done = tree.run("ptb/run.sh", "/nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "ptb: no ptb.train.txt in '/nowhere'; name the folder that has Mikolov's ptb.train.txt, "
        "ptb.valid.txt and ptb.test.txt (recipes/ptb/get.sh fetches them from his RNNLM page)"
    )


def halves(tree: Tree, lists: bytes, refs: bytes) -> dict[str, bytes]:
    """What rescoring/run.sh gives to charlm tune (dev) and to charlm score (test)."""
    out = tree.root / "out"
    (tree.root / "lists").write_bytes(lists)
    (tree.root / "refs").write_bytes(refs)
    paths = (f"{tree.root}/lists", f"{tree.root}/refs")
    assert len(commands(tree.run("rescoring/run.sh", *paths, OUT=str(out)))) == 2
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_every_second_recording_is_tuned_on_and_both_halves_have_the_header(tree: Tree) -> None:
    lists = b"id\ttext\n" + b"".join(b"%b-1\tx\n%b-2\tx\n" % (n, n) for n in (b"a", b"b"))
    refs = b"utt\tref\n" + b"a-1\tx\na-2\tx\nb-1\tx\nb-2\tx\n"
    assert halves(tree, lists, refs) == {
        "dev.lists.tsv": b"id\ttext\na-1\tx\na-2\tx\n",
        "dev.refs.txt": b"utt\tref\na-1\tx\na-2\tx\n",
        "test.lists.tsv": b"id\ttext\nb-1\tx\nb-2\tx\n",
        "test.refs.txt": b"utt\tref\nb-1\tx\nb-2\tx\n",
    }


def test_a_header_is_no_recording_and_bytes_of_any_encoding_are_kept(tree: Tree) -> None:
    found = halves(tree, b"a-1\t\xe9\r\na-2\t\xe9\r\n", b"id\ttext\na-1\tx\na-2\tx\n")
    assert found["dev.lists.tsv"] == b"a-1\t\xe9\r\n"
    assert found["test.lists.tsv"] == b"a-2\t\xe9\r\n"


def test_lists_that_are_packed_in_part_are_one_line(tree: Tree) -> None:
    for name, content in (("refs", b"a-1\tx\n"), ("lists.gz", gzip.compress(b"a-1\tx\n")[:-9])):
        (tree.root / name).write_bytes(content)
    done = tree.run("rescoring/run.sh", f"{tree.root}/lists.gz", f"{tree.root}/refs")
    assert (done.returncode, commands_shown(done)) == (1, [])
    assert done.stderr.splitlines()[-1] == (
        f"rescoring: {tree.root}/lists.gz: Compressed file ended before the end-of-stream marker "
        "was reached; expected a whole file"
    )


def test_references_are_there_whole_or_not_at_all(tree: Tree, tmp_path: Path) -> None:
    for name in ("test.json", "train.json"):
        (tmp_path / name).write_text('[{"input": ["a"], "am_score": [0], "output": "a"}]')
    (tmp_path / "atis.ref.txt.part").symlink_to("/dev/full")
    recipes = tree.root / "recipes"
    done = subprocess.run(
        [sys.executable, recipes / "rescoring" / "lists.py", "test.json", "train.json", "."],
        cwd=tmp_path,
        env={"PYTHONPATH": str(recipes)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, (tmp_path / "atis.nbest.tsv").exists()) == (1, True), done.stderr
    assert not (tmp_path / "atis.ref.txt").exists()


# Models must be there; scores and tuned weights are always the same.
MEASURES = f"""#!{BASH}
for word in "$@"; do
  case $before$1 in
    --outprep) [ ! -e "$word" ] || exit 2; mkdir "$word"; : >"$word/corpus.json" ;;
    --out*) [ ! -e "$word.fails" ] || {{ rm "$word.fails"; exit 2; }}; : >"$word" ;;
    --lm*) [ -f "$word" ] || exit 2 ;;
  esac
  before=$word
done
[[ $1 != score && $1 != tune ]] || echo '{{"seconds": 1, "report": {{"n_lists": 2, "first":
  {{"error": 0.5}}, "rescored": {{"error": 0.25}}, "oracle": {{"error": 0}}}}, "tuned": {{
  "held_out_error": 0.25, "held_out_gain": {{"difference": -1, "low": -1, "high": 0, "p": 1}}}}}}'
"""


def test_a_table_is_made_where_blanks_are_in_names_and_of_no_list_that_is_there_in_part(
    tree: Tree, tmp_path: Path
) -> None:
    tree.add("charlm", MEASURES)
    for tool in ("cut", "gzip", "sed"):
        (tree.bin / tool).symlink_to(shutil.which(tool) or tool)
    data, out, lists = tmp_path / "all data", tmp_path / "my table", b"a\t1\t2\tx\n"
    for name in ("wikitext-2/train.txt", "nbest-hyporadise/atis_train.ref.txt"):
        (data / name).parent.mkdir(parents=True)
        (data / name).write_text("a\tb\n")
    for name in ("swbd", "cv", "ls_clean", "ls_other"):
        (data / f"nbest-hyporadise/{name}.nbest.tsv.gz").write_bytes(gzip.compress(lists))
    packed = data / "nbest-hyporadise/swbd.nbest.tsv.gz"
    packed.write_bytes(gzip.compress(lists)[:-9])
    assert tree.run("rescoring/table.sh", str(data), "swbd", OUT=str(out)).returncode == 1
    packed.write_bytes(gzip.compress(lists))
    (out / "atis.arpa").unlink()
    (out / "atis.arpa.fails").touch()  # as if it had been interrupted behind prep
    assert tree.run("rescoring/table.sh", str(data), "swbd", OUT=str(out)).returncode == 2
    done = tree.run("rescoring/table.sh", str(data), "swbd", OUT=str(out))
    assert done.stdout.startswith("| swbd | 2 | 50.00 | 25.00 | 25.00 | 0.00 |"), done.stderr
    assert (out / "swbd.tsv").read_bytes() == b"a\t1\tx\n"
    done = tree.run("rescoring/table.sh", str(data), "swbd", "swb", OUT=str(out))
    assert (done.returncode, done.stdout[:8]) == (1, "| swbd |")
    told = "rescoring: swb: no set of this table; expected some of atis swbd cv ls_clean ls_other "
    assert done.stderr.splitlines()[-1].startswith(told)


def test_a_folder_without_the_text_of_the_table_is_one_line(tree: Tree, tmp_path: Path) -> None:
    done = tree.run("rescoring/table.sh", str(tmp_path), OUT=str(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (1, "")
    told = f"rescoring: {tmp_path}: no wikitext-2/train.txt; see --help"
    assert done.stderr.splitlines()[-1] == told


@pytest.mark.parametrize("missing", ["processed_wordinfo.tsv", "blimp/a.jsonl"])
def test_what_is_read_behind_the_trainings_is_looked_for_before_them(
    tree: Tree, tmp_path: Path, missing: str
) -> None:
    data = tmp_path / "stories"
    names = [f"wikitext-2/{split}.txt" for split in ("train", "valid", "test")]
    for name in [*names, "all_stories.tok", "processed_wordinfo.tsv", "blimp/a.jsonl"]:
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).touch()
    (data / missing).unlink()
    done = tree.run("reading-times/run.sh", str(data), OUT=str(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"run: {data}: no processed_wordinfo.tsv, or no blimp/*.jsonl; run get.sh first"
    )


def test_what_goes_in_is_tested_against_kenlm(tree: Tree) -> None:
    shutil.copytree(ROOT / ".ci", tree.root / ".ci")
    tree.add("chromium", DOES_NOTHING)
    done = tree.run("../.ci/run")
    assert "CHARLM_REQUIRE_KENLM=1" in done.stdout
