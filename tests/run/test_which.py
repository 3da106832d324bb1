"""Which run a command takes."""

import os
from pathlib import Path

import pytest

from charlm.errors import ConfigError
from charlm.run.which import which_run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run_of_age(
    name: str, age: int, *, files: tuple[str, ...] = ("run.json", "model.safetensors")
) -> None:
    folder = Path("exp", name)
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).touch()
        os.utime(folder / file, (10**9 - age, 10**9 - age))


def test_the_run_that_is_said_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARLM_MODEL", "from-outside")
    assert which_run("said") == Path("said")
    assert which_run(None) == Path("from-outside")
    assert which_run(None, newest_allowed=False) == Path("from-outside")


def test_the_newest_finished_run_is_taken_where_none_is_said() -> None:
    run_of_age("old", 300)
    run_of_age("new", 100)
    run_of_age("middle", 200)
    run_of_age("without-weights", 0, files=("run.json",))
    run_of_age("no-run", 0, files=("model.safetensors",))
    run_of_age("unfinished", 0)
    (Path("exp") / "unfinished" / "encoded").mkdir()
    assert which_run(None) == Path("exp/new")


def test_a_run_is_as_new_as_its_last_epoch_not_as_its_best() -> None:
    both = ("run.json", "model.safetensors", "log.jsonl")
    run_of_age("best-epoch-later", 200, files=both)
    run_of_age("last-epoch-later", 100, files=both)
    for name, age in (("best-epoch-later", 250), ("last-epoch-later", 300)):
        os.utime(Path("exp", name, "model.safetensors"), (10**9 - age, 10**9 - age))
    run_of_age("no-log", 150)
    assert which_run(None) == Path("exp/last-epoch-later")


def test_a_run_without_a_log_is_as_new_as_its_weights() -> None:
    run_of_age("log", 200, files=("run.json", "model.safetensors", "log.jsonl"))
    run_of_age("no-log", 100)
    assert which_run(None) == Path("exp/no-log")


def test_of_two_runs_of_one_moment_the_last_by_name_is_taken() -> None:
    run_of_age("b", 5)
    run_of_age("a", 5)
    assert which_run(None) == Path("exp/b")


def test_no_run_at_all_is_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        which_run(None)
    assert str(caught.value) == (
        "no model was given and exp/ holds no finished one; train one, or use --model RUN or "
        "set CHARLM_MODEL"
    )


def test_a_command_that_wants_it_said_takes_no_newest_run() -> None:
    run_of_age("new", 0)
    with pytest.raises(ConfigError) as caught:
        which_run(None, newest_allowed=False)
    assert str(caught.value) == "no model was given; use --model RUN or set CHARLM_MODEL"
