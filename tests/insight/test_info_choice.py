"""Which run a command would take, in `info` and in the commands themselves."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from charlm.errors import ConfigError
from charlm.insight import info_choice
from charlm.insight.info_choice import Choice, KnownRun, choice
from charlm.run.folder import EXPORT, RUN, RunInfo, load_info
from charlm.run.which import which_run


@pytest.fixture
def runs(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder exp/ with an older and a newer finished run, and three others."""
    monkeypatch.chdir(tmp_path)
    for age, name in enumerate(["begun", "unfinished", "new", "old", "broken"]):
        folder = Path("exp", name)
        shutil.copytree(tiny_run, folder)
        if name == "begun":
            (folder / "model.safetensors").unlink()
        if name == "unfinished":
            (folder / "encoded").mkdir()
        if name == "broken":
            (folder / "run.json").write_text("{}")
        os.utime(folder / "log.jsonl", (10**9 - age, 10**9 - age))
    Path("exp", "no-run").mkdir()
    return Path("exp")


def test_the_newest_finished_run_is_named_with_all_others(runs: Path) -> None:
    found = choice()
    assert isinstance(found, Choice)
    assert found.run == str(which_run(None)) == "exp/new"
    assert found.reason == "the newest finished run in exp/; $CHARLM_MODEL is not set"
    wrong = "exp/broken/run.json: not a run's description; expected what `charlm train` writes"
    assert found.known == (
        KnownRun("exp/begun", "char-small", 1, "without weights"),
        KnownRun("exp/unfinished", "char-small", 1, "unfinished"),
        KnownRun("exp/new", "char-small", 1, "finished"),
        KnownRun("exp/old", "char-small", 1, "finished"),
        KnownRun("exp/broken", None, None, wrong),
    )
    assert found.to_dict()["run"] == "exp/new"


def test_runs_without_a_log_stand_in_the_order_in_which_they_are_chosen(runs: Path) -> None:
    for name, age in (("new", 200), ("old", 100)):
        (runs / name / "log.jsonl").unlink()
        os.utime(runs / name / "model.safetensors", (2 * 10**9 - age, 2 * 10**9 - age))
        os.utime(runs / name / RUN, (2 * 10**9 + age, 2 * 10**9 + age))
    found = choice()
    assert found.run == found.known[0].path == "exp/old"
    assert found.known[1].path == "exp/new"


def test_the_variable_comes_first_and_a_wrong_one_is_told(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHARLM_MODEL", "exp/old")
    assert (choice().run, choice().reason) == ("exp/old", "$CHARLM_MODEL names it")
    monkeypatch.setenv("CHARLM_MODEL", "exp/old/")  # with the slash of a shell's completion
    assert choice().run == "exp/old"
    monkeypatch.setenv("CHARLM_MODEL", "elsewhere")
    found = choice()
    assert found.reason == "$CHARLM_MODEL names it, but run.json is missing there"
    assert (found.run, len(found.known)) == ("elsewhere", 5)


def test_the_variable_may_name_an_exported_model(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs / "onnx").mkdir()
    (runs / "onnx" / EXPORT).touch()
    monkeypatch.setenv("CHARLM_MODEL", "exp/onnx")
    assert (choice().run, choice().reason) == ("exp/onnx", "$CHARLM_MODEL names it")


def test_runs_of_which_none_is_finished_are_listed_all_the_same(runs: Path) -> None:
    shutil.rmtree(runs / "new")
    shutil.rmtree(runs / "old")
    shutil.rmtree(runs / "broken")
    found = choice()
    assert found.run is None
    assert found.reason.startswith("no model was given and exp/ holds no finished one; train one")
    assert [each.path for each in found.known] == ["exp/begun", "exp/unfinished"]


def test_no_run_at_all_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no model was given and exp/ holds no finished one"):
        choice()


def test_a_run_that_may_not_be_read_is_listed_with_the_others(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_unless_new(run: Path) -> RunInfo:
        if run.name == "new":
            raise PermissionError(errno.EACCES, "Permission denied", str(run / RUN))
        return load_info(run)

    monkeypatch.setattr(info_choice, "load_info", read_unless_new)
    states = {each.path: each.state for each in choice().known}
    assert states["exp/new"] == "exp/new/run.json: permission denied"
    assert states["exp/old"] == "finished"


def test_a_folder_named_as_a_description_is_no_run(runs: Path) -> None:
    before = choice()
    (runs / "none/run.json").mkdir(parents=True)
    assert choice() == before
