"""recipes/setup.sh at work on a copy, with a pip that records what it is asked for."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

BASH = shutil.which("bash") or "bash"
OLD_PYTHON = f"#!{BASH}\nexit 1\n"
DOES_NOTHING = f"#!{BASH}\nexit 0\n"
Tree = Any  # the class of conftest.py, which tests cannot import
Done = subprocess.CompletedProcess[str]


def only_line(done: Done) -> str:
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr.removesuffix("\n")


def test_a_fake_tool_leaves_the_one_that_it_stands_for_alone(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "system").write_text("the system's own")
    (tree.bin / "tool").symlink_to(tmp_path / "system")
    tree.add("tool", DOES_NOTHING)
    assert (tmp_path / "system").read_text() == "the system's own"


def built_and_installed(tree: Tree, *asked: str) -> bool:
    """Whether kenlm's wheel was built, which happens beside the other things, then installed."""
    wheels = f"{tree.root}/.venv/kenlm"
    pins = f"--constraint {tree.root}/recipes/constraints.txt"
    return asked == (
        f"wheel --no-deps kenlm {pins} --wheel-dir {wheels}",
        f"install {wheels}/kenlm-*.whl",  # the fake pip builds none
    )


def test_set_up_installs_the_pinned_torch_then_charlm_then_kenlm_and_puts_them_first_in_path(
    tree: Tree,
) -> None:
    done = tree.set_up("command -v python")
    assert (done.returncode, done.stdout) == (0, f"{tree.root}/.venv/bin/python\n"), done.stderr
    *asked, last = tree.installed()
    (wheel,) = (line for line in asked if line.startswith("wheel "))
    asked.remove(wheel)
    assert asked == [
        "install --quiet --quiet torch==2.13.0",
        f"install --quiet --quiet --editable {tree.root}[test] "
        f"--constraint {tree.root}/recipes/constraints.txt",
    ]
    assert built_and_installed(tree, wheel, last)
    assert not (tree.root / ".venv" / "kenlm").exists()


def test_a_second_set_up_installs_nothing_and_says_nothing(tree: Tree) -> None:
    tree.set_up()
    tree.installed()
    done = tree.set_up()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert tree.installed() == []


def test_of_scripts_that_are_begun_side_by_side_one_sets_up_and_the_others_wait(tree: Tree) -> None:
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: tree.set_up("echo went on"), range(3)))
    assert [(each.returncode, each.stdout) for each in done] == [(0, "went on\n")] * 3
    assert len(tree.installed()) == 4
    assert not (tree.root / ".venv.lock").is_symlink()


def test_who_waits_says_for_which_process_and_goes_on_when_that_is_done(tree: Tree) -> None:
    lock = tree.root / ".venv.lock"
    lock.symlink_to(str(os.getpid()))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(tree.set_up)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=1)
        lock.unlink()
        done = waiting.result()
    first, *others = done.stderr.splitlines()
    assert (done.returncode, first) == (
        0,
        f"setup: process {os.getpid()} is making {tree.root}/.venv; waiting for it",
    )
    assert not any("waiting" in line for line in others)


def test_a_lock_that_is_let_go_while_it_is_looked_at_is_no_error(
    tree: Tree, tmp_path: Path
) -> None:
    tried, ln = tmp_path / "tried", shutil.which("ln")
    tree.add("ln", f'#!{BASH}\n[ -e "{tried}" ] || {{ : >"{tried}"; exit 1; }}\nexec {ln} "$@"\n')
    assert tree.set_up().returncode == 0
    assert tried.exists()


def test_a_folder_that_nothing_can_be_written_to_is_named(tree: Tree) -> None:
    tree.add("ln", f"#!{BASH}\nexit 1\n")
    assert only_line(tree.set_up("echo went on")) == (
        f"setup: could not make {tree.root}/.venv.lock; make {tree.root} writable"
    )


def test_the_lock_of_a_process_that_is_gone_or_has_failed_holds_nobody_up(tree: Tree) -> None:
    gone = subprocess.Popen([BASH, "-c", "exit 0"])
    gone.wait()
    (tree.root / ".venv.lock").symlink_to(str(gone.pid))
    assert tree.set_up(PIP_FAILS_ON="torch").returncode == 1
    assert not (tree.root / ".venv.lock").is_symlink()
    done = tree.set_up()
    assert (done.returncode, "waiting" in done.stderr) == (0, False)


def test_a_lock_with_the_number_of_the_process_itself_is_of_one_that_is_gone(tree: Tree) -> None:
    program = f'ln -s "$$" "{tree.root}/.venv.lock"; . "{tree.root}/recipes/setup.sh"'
    done = subprocess.run(
        [BASH, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": str(tree.bin), "PIP_LOG": str(tree.pip_log)},
    )
    assert (done.returncode, "waiting" in done.stderr) == (0, False)
    assert not (tree.root / ".venv.lock").is_symlink()


@pytest.mark.parametrize("name", ["pyproject.toml", "recipes/constraints.txt"])
def test_a_changed_requirement_makes_the_venv_anew(tree: Tree, name: str) -> None:
    tree.set_up()
    tree.installed()
    with open(tree.root / name, "a") as file:
        file.write("\n# changed\n")
    assert tree.set_up().returncode == 0
    assert len(tree.installed()) == 4


def test_a_moved_tree_makes_its_venv_anew(tree: Tree) -> None:
    tree.set_up()
    tree.installed()
    tree.root = tree.root.rename(tree.root.with_name("moved"))
    assert tree.set_up().returncode == 0
    assert len(tree.installed()) == 4


@pytest.mark.parametrize("failing", ["torch==2.13.0", "[test]"])
def test_a_failed_set_up_stops_and_is_not_taken_for_a_good_one(tree: Tree, failing: str) -> None:
    done = tree.set_up("echo went on", PIP_FAILS_ON=failing)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "setup: pip failed, see above; mend that and run this again (the .venv is begun anew)"
    )
    tree.installed()
    assert tree.set_up().returncode == 0
    assert len(tree.installed()) == 4


def test_another_index_is_asked_for_torch_alone(tree: Tree) -> None:
    done = tree.set_up(CHARLM_TORCH_INDEX="https://index.invalid/cpu")
    (asked,) = (line for line in tree.installed() if "index.invalid" in line)
    assert asked == "install --quiet --quiet torch==2.13.0 --index-url https://index.invalid/cpu"
    assert "CUDA" not in done.stderr


def test_the_size_of_torch_is_said_before_it_is_fetched_on_linux(tree: Tree) -> None:
    tree.add("uname", f"#!{BASH}\necho Linux\n")
    done = tree.set_up(PIP_FAILS_ON="torch==2.13.0")
    assert done.stderr.splitlines()[3] == (
        "setup:   it may bring gigabytes of CUDA; CHARLM_TORCH_INDEX=URL names another index, "
        "such as PyTorch's own for the CPU alone"
    )


def test_an_old_python_is_named_in_one_line(tree: Tree) -> None:
    tree.add("python3", OLD_PYTHON)
    assert only_line(tree.set_up("echo went on")) == (
        "setup: found no Python 3.11 or newer in PATH; install one (python.org, your system's "
        "packages)"
    )


def test_a_newer_python_beside_an_old_one_is_found(tree: Tree) -> None:
    (tree.bin / "python3").rename(tree.bin / "python3.12")
    tree.add("python3", OLD_PYTHON)
    assert tree.set_up().returncode == 0


def python_without(tree: Tree, what: str) -> str:
    """The fake Python, whose question about `what` fails."""
    return str((tree.bin / "python3").read_text()).replace(
        "#!", f'#!{BASH}\ncase "$2" in *{what}*) exit 1 ;; esac\n#', 1
    )


def test_a_python_without_venv_is_named_in_one_line(tree: Tree) -> None:
    tree.add("python3", python_without(tree, "ensurepip"))
    assert re.fullmatch(
        r"setup: Python 3\.\d+ has no venv module; install it \(Debian, Ubuntu: python3.*\)",
        only_line(tree.set_up()),
    )


WITHOUT = "charlm works without it, but reads no KenLM binaries"
NO_COMPILER = "working C++ compiler (c++; Debian, Ubuntu: g++; macOS: xcode-select --install)"


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("c++", NO_COMPILER),
        ("a c++ that works", NO_COMPILER),
        ("make", "make"),
        ("Python.h", "Python.h (Debian, Ubuntu: python3-dev)"),
    ],
)
def test_kenlm_is_left_out_in_one_line_where_nothing_can_compile_it(
    tree: Tree, missing: str, message: str
) -> None:
    if missing == "Python.h":
        tree.add("python3", python_without(tree, missing))
    elif missing == "a c++ that works":
        tree.add("c++", f"#!{BASH}\necho 'no developer tools were found' >&2\nexit 1\n")
    else:
        (tree.bin / missing).unlink()
    done = tree.set_up("echo went on")
    assert (done.returncode, done.stdout) == (0, "went on\n")
    lines = done.stderr.splitlines()
    assert lines[1] == f"setup: found no {message} to compile kenlm with; {WITHOUT}"
    assert lines[-1] == "setup: done"
    assert len(tree.installed()) == 2
    again = tree.set_up()
    assert (again.returncode, again.stderr, tree.installed()) == (0, "", [])


def test_a_compiler_that_comes_later_brings_kenlm_and_nothing_else(tree: Tree) -> None:
    (tree.bin / "c++").unlink()
    tree.set_up()
    tree.installed()
    tree.add("c++", DOES_NOTHING)
    done = tree.set_up()
    assert done.stderr.splitlines() == [
        "setup: compiling kenlm, which takes a minute",
        "setup: done",
    ]
    assert built_and_installed(tree, *tree.installed())
    (tree.bin / "c++").unlink()
    assert tree.set_up().stderr == ""  # a second run removes nothing


def test_a_kenlm_that_does_not_compile_is_one_line_and_not_tried_again(tree: Tree) -> None:
    done = tree.set_up("echo went on", PIP_FAILS_ON="wheel")
    log = tree.root / ".venv" / "kenlm.log"
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert done.stderr.splitlines()[-2:] == [
        f"setup: could not install kenlm, see {log}; {WITHOUT}; remove .venv to try again",
        "setup: done",
    ]
    assert log.read_text() == "pip: an error of many lines\n"
    tree.installed()
    again = tree.set_up()
    assert (again.returncode, again.stderr, tree.installed()) == (0, "", [])


def test_kenlms_python_part_is_made_anew_for_a_newer_python_and_leaves_nothing_behind(
    tree: Tree,
) -> None:
    tree.add(
        "tar", f'#!{BASH}\nmkdir -p "$4/kenlm-0.3.0/python"\n>"$4/kenlm-0.3.0/python/kenlm.pyx"\n'
    )
    done = tree.set_up(NEWER="yes")
    assert "could not" not in done.stderr
    asked = [line for line in tree.installed() if "--quiet" not in line]
    folder = tree.root / ".venv" / "kenlm"
    pins = f"--constraint {tree.root}/recipes/constraints.txt"
    assert asked == [
        f"download --no-deps --no-binary kenlm kenlm {pins} --dest {folder}",
        f"install cython>=3 --target {folder}/cython",
        f"cython --cplus -3 {folder}/kenlm-0.3.0/python/kenlm.pyx",
        f"wheel --no-deps {folder}/kenlm-0.3.0/ {pins} --wheel-dir {folder}",
        f"install {folder}/kenlm-*.whl",
    ]
    assert not folder.exists()
