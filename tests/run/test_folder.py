"""The contents of run.json, and the lock that ends with its process."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import charlm
from charlm.errors import DataError, TrainingError
from charlm.run.folder import (
    RUN,
    RunInfo,
    learned_single_sentences,
    load_info,
    load_resumable,
    locked,
)
from charlm.settings import Settings

INFO = RunInfo(
    arch="char-small",
    settings={"encoder": {"type": "word"}, "recipe": {"clip": 5.0}},
    corpus={
        "name": "ptb",
        "train": {"sha256": "0", "n_sentences": 1, "n_tokens": 2},
        "valid": {"sha256": "1", "n_sentences": 1, "n_tokens": 2},
        "max_tokens": 0,
    },
    vocabulary_sha256="ab",
    seed=1,
    threads=2,
    device="cpu",
    precision="fp32",
    versions={"torch": "2.13.0"},
    command=["charlm", "train"],
    charlm="0.1.0",
)


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    INFO.save(tmp_path)
    assert load_info(tmp_path) == INFO == load_resumable(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"format": 1, ', "not valid JSON (Expecting property name "),
        (b"[1]", "not a run's description; expected what `charlm train` writes"),
        (b'{"arch": "char-small"}', "not a run's description; expected what `charlm train` writes"),
        (b'{"format": true}', "not a run's description; expected what `charlm train` writes"),
        (
            b'{"format": 2}',
            "format 2; this charlm reads format 1; use the charlm that wrote it, or a newer one",
        ),
        (b'{"format": 1}', "'arch' is missing; the run is damaged"),
    ],
)
def test_a_run_json_that_is_none_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / RUN).write_bytes(content)
    with pytest.raises(DataError) as caught:
        load_info(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / RUN}: {message}")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("arch", 3),
        ("settings", []),
        ("corpus", None),
        ("vocabulary_sha256", 1),
        ("seed", True),
        ("threads", 1.0),
        ("device", None),
        ("precision", 32),
        ("versions", "2.13"),
        ("command", "charlm train"),
        ("charlm", 1),
        ("init", "exp/first"),
        ("speller", []),
        ("counts_sha256", 1),
        ("weights_sha256", {}),
    ],
)
def test_a_field_of_a_wrong_type_is_named(tmp_path: Path, key: str, value: Any) -> None:
    INFO.save(tmp_path)
    path = tmp_path / RUN
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(DataError) as caught:
        load_info(tmp_path)
    assert str(caught.value) == f"{path}: {key!r} is of a wrong type; the run is damaged"


@pytest.mark.parametrize(
    "damage",
    [
        {"corpus": {}},
        {"corpus": {"train": 1, "valid": [], "max_tokens": 0, "name": "x"}},
        {"threads": 10**9},
        {"seed": -1},
        {"command": [["rm"]]},
        {"init": {}},
        {"init": {"run": "first"}},
        {"init": {"run": 1, "sha256": "0"}},
    ],
)
def test_a_run_that_says_nothing_to_go_on_with_is_refused(
    tmp_path: Path, damage: dict[str, Any]
) -> None:
    replace(INFO, **damage).save(tmp_path)
    assert load_info(tmp_path)
    with pytest.raises(DataError) as caught:
        load_resumable(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / RUN}: says nothing to go on with; the run is damaged"
    )


@pytest.mark.parametrize("make", [lambda folder: None, lambda folder: (folder / RUN).mkdir()])
def test_a_folder_without_run_json_is_no_run(tmp_path: Path, make: Any) -> None:
    make(tmp_path)
    with pytest.raises(DataError) as caught:
        load_info(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: not a run (run.json is missing); expected what `charlm train` writes"
    )


def test_a_folder_of_runs_names_them_and_none_is_called_none(tmp_path: Path) -> None:
    for name in "dcba":
        (tmp_path / name).mkdir()
        (tmp_path / name / RUN).touch()
    with pytest.raises(DataError) as caught:
        load_info(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: a folder of runs; expected one of them; name it: {tmp_path}/a, {tmp_path}/b, "
        f"{tmp_path}/c and 1 more"
    )
    with pytest.raises(DataError, match=f"^{tmp_path}/e: no such folder or file; expected a run"):
        load_info(tmp_path / "e")


def test_a_file_of_a_run_is_answered_with_its_folder(tiny_run: Path) -> None:
    with pytest.raises(DataError, match=f"a file of a run; expected its folder: {tiny_run}$"):
        load_info(tiny_run / "model.safetensors")
    for name in ("model.safetensors", "run.json"):
        with pytest.raises(DataError, match=f"a file of a run; expected its folder: {tiny_run}$"):
            charlm.load(tiny_run / name)


def test_an_ngram_model_in_the_place_of_a_run_is_sent_to_its_option(tmp_path: Path) -> None:
    (tmp_path / "kn.arpa").write_text("\\data\\\n")
    os.mkfifo(tmp_path / "pipe")
    for name in ("kn.arpa", "pipe"):
        with pytest.raises(DataError, match="a file, and no run; .* models go to --lm of ngram"):
            load_info(tmp_path / name)


@pytest.mark.parametrize(
    ("batching", "expected"),
    [
        ({"type": "streams"}, False),
        ({"type": "streams", "reset": 0.01}, False),
        ({"type": "streams", "reset": 0.5}, True),
        ({"type": "sentences"}, True),
    ],
)
def test_a_state_that_seldom_begins_anew_makes_no_model_of_single_sentences(
    batching: Settings, expected: bool
) -> None:
    assert learned_single_sentences({"recipe": {"batching": batching}}) is expected


def test_an_exported_folder_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text("{}")
    with pytest.raises(DataError, match="an exported model; expected the run that it was made of"):
        load_info(tmp_path)


HOLDER = """
import sys, time
from pathlib import Path
from charlm.run.folder import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_is_refused_while_another_process_lives_and_free_after_its_kill(
    tmp_path: Path,
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(TrainingError) as caught, locked(tmp_path):
        pass
    assert str(caught.value) == (
        f"{tmp_path}: another process trains into this run; wait for it, or choose another --out"
    )
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with locked(tmp_path):
        pass


def test_a_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        _ = 1 / 0
    with locked(tmp_path):
        pass


def test_a_file_system_without_locks_holds_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))  # Lustre's, mounted without flock

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with locked(tmp_path) as check:
        check()
        (tmp_path / "lock").unlink()
        with pytest.raises(TrainingError, match="its lock is gone or another's"):
            check()


def test_a_lock_admits_whom_the_umask_admits(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with locked(tmp_path):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o664  # the group goes on with the run


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError) as caught, locked(tmp_path):
        pass
    assert str(caught.value) == (
        f"{tmp_path / 'lock'}: is a link; expected charlm's own empty file; remove the link"
    )
    assert not (tmp_path / "elsewhere").exists()
