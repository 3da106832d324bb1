"""Output paths that a user gives: links, streams, and paths where no file can be."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.text.io.files import atomic_write, write_bytes
from charlm.text.io.paths import is_pipe, require_place

PROC = pytest.mark.skipif(sys.platform != "linux", reason="this system has no /proc")


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_is_written_goes_through_links_to_their_file() -> None:
    Path("folder").mkdir()
    Path("folder/file").write_bytes(b"old")
    Path("folder/inner").symlink_to("file")
    Path("outer").symlink_to("folder/inner")
    write_bytes("outer", b"new", through_links=True)
    assert (Path("outer").is_symlink(), Path("folder/inner").is_symlink()) == (True, True)
    assert Path("folder/file").read_bytes() == b"new"
    assert sorted(os.listdir("folder")) == ["file", "inner"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it() -> None:
    Path("folder").mkdir()
    Path("link").symlink_to("folder/new")
    require_place("link", option="--out")
    write_bytes("link", b"new", through_links=True)
    assert (Path("link").is_symlink(), Path("folder/new").read_bytes()) == (True, b"new")


def test_a_link_in_a_folder_of_charlms_own_is_replaced_and_not_followed() -> None:
    Path("precious").write_bytes(b"mine")
    Path("model").symlink_to("precious")
    write_bytes("model", b"new")
    assert (Path("model").is_symlink(), Path("precious").read_bytes()) == (False, b"mine")


def refusal(path: str | Path, check: Callable[[str | Path], object]) -> str:
    with pytest.raises((ConfigError, DataError)) as caught:
        check(path)
    return str(caught.value)


def before(path: str | Path) -> None:
    require_place(path, option="--out")


def at_last(path: str | Path) -> None:
    write_bytes(path, b"new", through_links=True)


@pytest.mark.parametrize("check", [before, at_last])
@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("link", "leads in a circle; expected a file or a new name"),
        ("folder", "is a folder; expected a file or a new name"),
        ("pipe", "is a device or a pipe; expected a file or a new name"),
        ("/dev/null", "is a device or a pipe; expected a file or a new name"),
    ],
)
def test_a_link_to_what_takes_no_file_is_refused(
    target: str, found: str, check: Callable[[str | Path], object]
) -> None:
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("link").symlink_to(target)
    assert refusal("link", check).removeprefix("--out ") == f"link: {found}"
    assert Path("link").is_symlink()


def test_a_link_into_a_folder_that_is_missing_is_refused_before_the_work(tmp_path: Path) -> None:
    Path("link").symlink_to("none/file")
    assert refusal("link", before) == (
        f"--out link: no folder {tmp_path}/none; expected one; make it first"
    )


def test_a_folder_that_may_not_be_written_to_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root could write anywhere
    assert refusal("file", before) == (
        "--out file: folder . may not be written to; expected one that may; choose another"
    )


def test_a_packed_file_of_a_kind_that_is_not_written_is_refused_before_the_work() -> None:
    assert refusal("list.zst", before) == (
        "--out list.zst: nothing here packs as .zst; expected .gz, .bz2, .xz or none"
    )


@PROC
@pytest.mark.parametrize("check", [before, at_last])
@pytest.mark.parametrize("path", ["/dev/charlm-no-such-device", "/proc/sys/kernel/hostname"])
def test_the_systems_own_folders_are_no_place_for_files(
    path: str, check: Callable[[str | Path], object]
) -> None:
    assert refusal(path, check).removeprefix("--out ") == (
        f"{path}: is the system's own; expected a file of yours or a new name"
    )


@PROC
@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"])
def test_an_open_pipe_is_written_to_as_a_stream(folder: str) -> None:
    reader, writer = os.pipe()
    path = f"{folder}/{writer}"
    require_place(path, option="--out")
    write_bytes(path, b"new", through_links=True)
    assert os.path.lexists(path)  # the stream is neither closed nor replaced
    os.close(writer)
    with open(reader, "rb") as file:
        assert file.read() == b"new"


def test_an_open_file_is_read_once_where_its_name_does_not_open_it_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("file").write_bytes(b"text")
    with open("file", "rb") as file:
        path = f"/dev/fd/{file.fileno()}"
        monkeypatch.setattr(sys, "platform", "darwin")
        assert (is_pipe(path), is_pipe("file")) == (True, False)
        monkeypatch.setattr(sys, "platform", "linux")
        assert not is_pipe(path)


def test_a_file_that_is_a_stream_is_written_on_where_it_stands() -> None:
    with open("file", "wb") as file:
        file.write(b"before ")
        file.flush()
        inode = os.fstat(file.fileno()).st_ino
        Path("link").symlink_to(f"/dev/fd/{file.fileno()}")
        with atomic_write("link", through_links=True) as stream:
            stream.write(b"new")
        file.write(b" after")
    assert (Path("file").read_bytes(), Path("file").stat().st_ino) == (b"before new after", inode)
    assert Path("link").is_symlink()


def test_a_stream_that_cannot_be_written_to_is_refused_before_the_work() -> None:
    with open(os.devnull, "rb") as file:
        for number in (987, file.fileno()):
            assert refusal(f"/dev/fd/{number}", before) == (
                f"--out /dev/fd/{number}: is not open for writing; expected a file or a new name"
            )


@PROC
@pytest.mark.parametrize("check", [before, at_last])
def test_an_open_file_of_another_process_is_refused(
    check: Callable[[str | Path], object],
) -> None:
    with open("file", "wb") as file:
        sleeper = subprocess.Popen(["sleep", "60"], stdout=file)
    try:
        path = f"/proc/{sleeper.pid}/fd/1"
        assert refusal(path, check).removeprefix("--out ") == (
            f"{path}: is the system's own; expected a file of yours or a new name"
        )
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_behind_a_stream_names_the_stream() -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        path = f"/dev/fd/{full.fileno()}"
        with pytest.raises(OSError) as caught:
            write_bytes(path, b"new", through_links=True)
    assert caught.value.filename == path
