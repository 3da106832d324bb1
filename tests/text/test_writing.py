"""Writing so that a crash at any moment leaves the old content or the new, and no leftover."""

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import DataError
from charlm.text import files
from charlm.text.files import atomic_write, read_json, scratch_file, write_bytes, write_json


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_what_is_written_replaces_the_old_content(tmp_path: Path) -> None:
    path = written(tmp_path / "file", b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_that_waits_under_the_temporary_name_is_not_followed(tmp_path: Path) -> None:
    precious = written(tmp_path / "precious", b"mine")
    (tmp_path / ".file.partial").symlink_to(precious)
    files.write_bytes(tmp_path / "file", b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        "file": b"new",
        "precious": b"mine",
    }
    assert not (tmp_path / "file").is_symlink()


class _FullDisk(io.BytesIO):
    """A file on a disk that takes no byte."""

    def write(self, _: object, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def fail(*_: object, **__: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


@contextmanager
def broken(call: str) -> Iterator[None]:
    """A disk on which one system call fails."""
    real_open = open

    def full_open(path: Path, mode: str) -> Any:
        real_open(path, mode).close()
        return _FullDisk()

    with pytest.MonkeyPatch.context() as patch:
        if call == "write":
            patch.setattr(files, "open", full_open, raising=False)
        elif call == "open":
            patch.setattr(files, "open", fail, raising=False)
        else:
            patch.setattr(os, call, fail)
        yield


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("old", [b"old", None])
def test_a_failing_call_leaves_the_old_content_and_no_leftover(
    tmp_path: Path, call: str, old: bytes | None
) -> None:
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    with broken(call), pytest.raises(OSError), atomic_write(path) as file:
        file.write(b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == ({"file": old} if old else {})


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_an_interrupted_writer_leaves_the_old_content(
    tmp_path: Path, stop: type[BaseException]
) -> None:
    path = written(tmp_path / "file", b"old")
    with pytest.raises(stop), atomic_write(path) as file:
        file.write(b"new")
        raise stop
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"old"}


def test_a_full_disk_names_the_file_that_did_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with broken("write"), pytest.raises(OSError) as caught, atomic_write(path) as file:
        file.write(b"new")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))


@pytest.mark.parametrize(("code", "lasts"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_a_file_system_that_cannot_sync_folders_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, lasts: bool
) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if lasts:
        files.write_bytes(tmp_path / "file", b"new")
    else:
        with pytest.raises(OSError):
            files.write_bytes(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_scratch_file_never_shows_in_its_folder(tmp_path: Path) -> None:
    with scratch_file(tmp_path) as file:
        file.write(b"abc")
        file.seek(0)
        assert (file.read(), os.listdir(tmp_path)) == (b"abc", [])


def test_half_a_character_in_a_name_is_written_as_an_escape(tmp_path: Path) -> None:
    write_json(tmp_path / "value.json", {"name": "caf\udce9"})
    assert read_json(tmp_path / "value.json") == {"name": "caf\udce9"}


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError) as caught, atomic_write(pipe):
        pass
    assert str(caught.value) == f"{pipe}: is a device or a pipe; expected a file or a new name"
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["", "."])
def test_a_folder_is_not_written_over(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="is a folder; expected a file or a new name"):
        write_bytes(tmp_path / name, b"new")
