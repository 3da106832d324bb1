"""The recipes at work, on a copy of them, with a set-up that installs nothing.

The fake Python answers questions (`-c`, `-`) with the real one, but makes a `.venv` that holds only
itself, and writes down what pip is asked for. The fake charlm does nothing, successfully.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ["bash", "cat", "cp", "dirname", "grep", "mkdir", "rm", "uname"]
BASH = shutil.which("bash") or "bash"

FAKE_PYTHON = f"""#!{BASH}
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin"; cp "$0" "$3/bin/python"
elif [ "$1 $2" = "-m pip" ]; then
  echo "${{*:3}}" >>"$PIP_LOG"
  [ "${{PIP_FAILS_ON:-nothing}}" != "$6" ] # install --quiet --quiet WHAT
elif [[ $2 == *"(3, 13)"* ]]; then
  [ -z "${{NEWER:-}}" ] # 3.13 and newer
elif [[ $2 != "import charlm" && $2 != *ensurepip* && $2 != *Python.h* ]]; then
  exec "{sys.executable}" "$@"
fi
"""
OLD_PYTHON = f"#!{BASH}\nexit 1\n"
DOES_NOTHING = f"#!{BASH}\nexit 0\n"

Done = subprocess.CompletedProcess[str]


class Tree:
    """A copy of the recipes, and a PATH that holds nothing but what they may use."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a tree"
        self.bin = folder / "bin"
        self.pip_log = folder / "pip.log"
        shutil.copytree(ROOT / "recipes", self.root / "recipes")
        shutil.copy(ROOT / "pyproject.toml", self.root)
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        self.add("python3", FAKE_PYTHON)
        for tool in ("c++", "make", "charlm"):
            self.add(tool, DOES_NOTHING)

    def add(self, name: str, program: str) -> None:
        (self.bin / name).write_text(program)
        (self.bin / name).chmod(0o755)

    def set_up(self, then: str = "true", **environment: str) -> Done:
        """Source setup.sh and go on with `then`."""
        program = f'set -euo pipefail; . "{self.root}/recipes/setup.sh"; {then}'
        return self._bash("-c", program, environment=environment)

    def run(self, script: str, *arguments: str, **environment: str) -> Done:
        """Run a script of `recipes/`."""
        path = self.root / "recipes" / script
        return self._bash(str(path), *arguments, environment=environment)

    def _bash(self, *arguments: str, environment: dict[str, str]) -> Done:
        return subprocess.run(
            [BASH, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={"PATH": str(self.bin), "PIP_LOG": str(self.pip_log), **environment},
        )

    def installed(self) -> list[str]:
        """What pip was asked for since the last call."""
        lines = self.pip_log.read_text().splitlines() if self.pip_log.exists() else []
        self.pip_log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_set_up_installs_the_pinned_torch_and_then_charlm_and_puts_it_first_in_path(
    tree: Tree,
) -> None:
    done = tree.set_up("command -v python")
    assert (done.returncode, done.stdout) == (0, f"{tree.root}/.venv/bin/python\n"), done.stderr
    assert tree.installed() == [
        "install --quiet --quiet torch==2.13.0",
        f"install --quiet --quiet --editable {tree.root}[test] "
        f"--constraint {tree.root}/recipes/constraints.txt",
    ]


def test_a_second_set_up_installs_nothing_and_says_nothing(tree: Tree) -> None:
    tree.set_up()
    tree.installed()
    done = tree.set_up()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert tree.installed() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "recipes/constraints.txt"])
def test_a_changed_requirement_makes_the_venv_anew(tree: Tree, name: str) -> None:
    tree.set_up()
    tree.installed()
    with open(tree.root / name, "a") as file:
        file.write("\n# changed\n")
    assert tree.set_up().returncode == 0
    assert len(tree.installed()) == 2


def test_a_moved_tree_makes_its_venv_anew(tree: Tree) -> None:
    tree.set_up()
    tree.installed()
    tree.root = tree.root.rename(tree.root.with_name("moved"))
    assert tree.set_up().returncode == 0
    assert len(tree.installed()) == 2


@pytest.mark.parametrize("failing", ["torch==2.13.0", "--editable"])
def test_a_failed_set_up_stops_and_is_not_taken_for_a_good_one(tree: Tree, failing: str) -> None:
    done = tree.set_up("echo went on", PIP_FAILS_ON=failing)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "setup: pip failed, see above; mend that and run this again (the .venv is begun anew)"
    )
    tree.installed()
    assert tree.set_up().returncode == 0
    assert len(tree.installed()) == 2


def test_another_index_is_asked_for_torch_alone(tree: Tree) -> None:
    done = tree.set_up(CHARLM_TORCH_INDEX="https://index.invalid/cpu")
    first, second = tree.installed()
    assert first == "install --quiet --quiet torch==2.13.0 --index-url https://index.invalid/cpu"
    assert "index.invalid" not in second
    assert "CUDA" not in done.stderr


def test_the_size_of_torch_is_said_before_it_is_fetched_on_linux(tree: Tree) -> None:
    tree.add("uname", f"#!{BASH}\necho Linux\n")
    done = tree.set_up(PIP_FAILS_ON="torch==2.13.0")
    assert done.stderr.splitlines()[-2] == (
        "setup:   it may bring gigabytes of CUDA; CHARLM_TORCH_INDEX=URL names another index, "
        "such as PyTorch's own for the CPU alone"
    )


def only_line(done: Done) -> str:
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr.removesuffix("\n")


def test_an_old_python_is_named_in_one_line(tree: Tree) -> None:
    tree.add("python3", OLD_PYTHON)
    assert only_line(tree.set_up("echo went on")) == (
        "setup: found no Python 3.11 or newer in PATH; install one (python.org, your system's "
        "packages)"
    )


def test_a_newer_python_beside_an_old_one_is_found(tree: Tree) -> None:
    tree.add("python3", OLD_PYTHON)
    tree.add("python3.12", FAKE_PYTHON)
    assert tree.set_up().returncode == 0


def python_without(what: str) -> str:
    """The fake Python, whose question about `what` fails."""
    return FAKE_PYTHON.replace("#!", f'#!{BASH}\ncase "$2" in *{what}*) exit 1 ;; esac\n#', 1)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("ensurepip", r"Python 3\.\d+ has no venv module; install it \(Debian, Ubuntu: python3.*"),
        ("Python.h", r"Python 3\.\d+ has no C headers; install them \(Debian, Ubuntu: python3.*"),
    ],
)
def test_a_python_without_its_parts_is_named_in_one_line(
    tree: Tree, what: str, message: str
) -> None:
    tree.add("python3", python_without(what))
    assert re.fullmatch(f"setup: {message}", only_line(tree.set_up()))


@pytest.mark.parametrize("how", ["missing", "broken"])
def test_a_missing_or_broken_compiler_is_named_in_one_line_before_pip_starts(
    tree: Tree, how: str
) -> None:
    (tree.bin / "c++").unlink()
    if how == "broken":
        tree.add("c++", f"#!{BASH}\necho 'no developer tools were found' >&2\nexit 1\n")
    assert only_line(tree.set_up()) == (
        "setup: found no working C++ compiler (c++), which kenlm is built with; install one "
        "(Debian, Ubuntu: g++; macOS: xcode-select --install)"
    )
    assert tree.installed() == []
    assert not (tree.root / ".venv").exists()


def test_a_missing_make_is_named_where_kenlm_is_built_and_not_missed_elsewhere(tree: Tree) -> None:
    (tree.bin / "make").unlink()
    assert only_line(tree.set_up()) == (
        "setup: found no make, which kenlm is built with; install it (Debian, Ubuntu: make)"
    )
    assert tree.set_up(NEWER="yes").returncode == 0


STEPS = ["prep", "vocab", "train", "eval", "nn"]


def commands(done: Done) -> list[str]:
    """The commands that a script showed before it ran them."""
    assert done.returncode == 0, done.stderr
    return re.findall(r"^\$ charlm (.*)$", done.stdout, re.MULTILINE)


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
    assert only_line(tree.run("ptb/run.sh", "/nowhere")).splitlines()[-1] == (
        "ptb: no ptb.train.txt in '/nowhere'; name the folder that has Mikolov's ptb.train.txt, "
        "ptb.valid.txt and ptb.test.txt (simple-examples.tgz from his RNNLM page, under data/)"
    )
