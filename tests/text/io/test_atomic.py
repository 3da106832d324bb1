"""Atomic writes: a crash at any moment leaves the old or the new content, and no leftover."""

import errno
import fcntl
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.text.io import atomic, files
from charlm.text.io.atomic import open_neighbour
from charlm.text.io.files import atomic_write, read_json, scratch_file, write_bytes, write_json


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


def test_of_two_who_write_a_file_at_a_time_neither_takes_the_others_away(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with atomic_write(path) as first:
        first.write(b"first, ")
        with atomic_write(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
        first.write(b"and whole")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"first, and whole", ["file"])


def test_what_a_crash_left_of_a_file_goes_when_it_is_written_again(tmp_path: Path) -> None:
    written(tmp_path / ".file.partial", b"half of a much longer content")
    write_bytes(tmp_path / "file", b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"new"}


def hold(name: Path) -> None:
    fcntl.flock(os.open(name, os.O_RDWR), fcntl.LOCK_EX)


@pytest.mark.parametrize("call", [os.unlink, hold])
def test_a_neighbour_that_another_writer_saw_before_it_was_locked_is_left_to_him(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[Path], None]
) -> None:
    opened: list[Path] = []

    def seen(name: Path, mode: str, opener: Callable[[str, int], int]) -> io.FileIO:
        file = io.FileIO(name, mode, opener=opener)
        if not opened:
            call(name)
        opened.append(name)
        return file

    monkeypatch.setattr(atomic, "open", seen, raising=False)
    write_bytes(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [name.name for name in opened] == [".file.partial", ".file.partial1"]


def test_a_neighbour_of_another_user_is_left_to_him(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(name: str | Path, flags: int, mode: int = 0o777) -> int:
        if Path(name).exists() or not Path(name).parent.exists():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))
        return real_open(name, flags, mode)

    real_open = os.open
    written(tmp_path / ".file.partial", b"his")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", denied)
        with open_neighbour(tmp_path / "file") as (name, _):
            assert name == tmp_path / ".file.partial1"
        with (
            pytest.raises(OSError, match=r"\.file\.partial"),
            open_neighbour(tmp_path / "no" / "file"),
        ):
            pass
    assert (tmp_path / ".file.partial").read_bytes() == b"his"


def test_a_file_system_without_locks_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    written(tmp_path / ".file.partial", b"half")
    write_bytes(tmp_path / "file", b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"new"}


def test_a_file_can_be_handed_in_at_a_folder_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def denied(path: Path, *arguments: int, **options: int) -> int:
        if path == tmp_path:  # root, who runs tests in containers, may read all
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", denied)
    write_bytes(tmp_path / "file", b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"new"}


def test_a_folder_in_the_place_of_the_neighbour_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / ".file.partial").mkdir()
    write_bytes(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_folder_that_is_missing_is_told_by_the_name_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        write_bytes(tmp_path / "missing" / "file", b"new")
    assert caught.value.filename == str(tmp_path / "missing" / "file")
    assert str(caught.value).endswith(f"No such file or directory: '{caught.value.filename}'")


class _FullDisk(io.FileIO):
    """A file on a disk that takes no byte."""

    def write(self, _: object, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def fail(*_: object, **__: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


@contextmanager
def broken(call: str) -> Iterator[None]:
    """A disk on which one system call fails."""
    with pytest.MonkeyPatch.context() as patch:
        if call == "write":
            patch.setattr(atomic, "open", _FullDisk, raising=False)
        elif call == "open":
            patch.setattr(atomic, "open", fail, raising=False)
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


def test_a_writer_that_is_interrupted_before_it_begins_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fcntl, "flock", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_write(tmp_path / "file"):
        pytest.fail("it began")
    assert os.listdir(tmp_path) == []


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


def test_any_name_that_the_system_takes_can_be_written(tmp_path: Path) -> None:
    names = [letter * n for letter, n in (("x", 255), ("é", 127), ("\U0001f600", 63))]
    for name in names:
        write_bytes(tmp_path / name, name.encode())
    assert {p.name: p.read_bytes().decode() for p in tmp_path.iterdir()} == {n: n for n in names}


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o750])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "file", b"old")
    path.chmod(mode)
    with atomic_write(path) as file:
        (unfinished,) = set(tmp_path.iterdir()) - {path}
        assert unfinished.stat().st_mode & 0o777 == mode  # nobody else may read its content either
        file.write(b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", mode)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(
    tmp_path: Path, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write another user's files")
def test_a_file_that_root_replaces_stays_its_owners(tmp_path: Path) -> None:
    path = written(tmp_path / "file", b"old")
    os.chown(path, 65534, 65533)
    write_bytes(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65533)


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
