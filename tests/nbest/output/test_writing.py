"""Where lists are written: whole files or none, and nothing outside the given folder."""

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.output.writing import write_file, write_folder, write_stream
from charlm.nbest.reading.format import Piece


def interrupted() -> Iterator[Piece]:
    yield Piece("", "half\n")
    raise KeyboardInterrupt


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


def test_a_stream_gets_each_piece_when_it_comes() -> None:
    got: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        write_stream(interrupted(), got.append)
    assert got == ["half\n"]


def test_an_interrupted_file_keeps_what_it_had(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_file(interrupted(), path)
    assert path.read_text() == "old"
    assert hidden(tmp_path) == []


def test_an_interrupted_folder_keeps_what_it_had(tmp_path: Path) -> None:
    (tmp_path / "main").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_folder(interrupted(), tmp_path, main="main")
    assert [path.name for path in tmp_path.iterdir()] == ["main"]
    assert (tmp_path / "main").read_text() == "old"


def test_nothing_lies_in_the_folder_that_a_killed_process_would_leave_there(tmp_path: Path) -> None:
    def pieces() -> Iterator[Piece]:
        for name in ("a", "b", "a"):
            yield Piece(name, "x")
            assert list(tmp_path.iterdir()) == []

    write_folder(pieces(), tmp_path, main="main")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "xx", "b": "x"}


def test_pieces_go_to_the_files_of_their_names_in_their_order(tmp_path: Path) -> None:
    names = [f"output.{i}/text" for i in range(70)]
    pieces = [Piece(name, f"{turn} {name}\n") for turn in (1, 2) for name in ["", *names]]
    write_folder(pieces, tmp_path / "new" / "out", main="main")
    for name in ["", *names]:
        path = tmp_path / "new" / "out" / (name or "main")
        assert path.read_text() == f"1 {name}\n2 {name}\n"
    assert hidden(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "unpack"),
    [("a.gz", gzip.decompress), ("a.bz2", bz2.decompress), ("a.xz", lzma.decompress)],
)
def test_a_name_that_says_packed_is_packed(
    name: str, unpack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    write_file([Piece("", "é\r\n"), Piece("", "b")], tmp_path / name)
    write_folder([Piece(name, "é\r\n"), Piece(name, "b")], tmp_path / "out", main="main")
    for path in (tmp_path / name, tmp_path / "out" / name):
        assert unpack(path.read_bytes()) == "é\r\nb".encode()
        # gzip's header would have room for a time and the name of the neighbour.
        assert b"partial" not in path.read_bytes()
        assert path.suffix != ".gz" or path.read_bytes()[4:8] == bytes(4)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a//b", "..", "a/./b", "a\nb", "a\x1b", "a/"])
def test_a_name_that_leaves_the_folder_is_refused_and_nothing_written(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        write_folder([Piece("fine", "x"), Piece(name, "x")], tmp_path / "out", main="main")
    assert "cannot be the name of a file in the folder of the output" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("write", [lambda p: write_stream(p, print), lambda p: write_file(p, "x")])
def test_several_files_need_a_folder(
    write: Callable[[list[Piece]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="'acwt' is one of them; expected a folder"):
        write([Piece("acwt", "x")])
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_should_be_is_refused_and_the_other_way_round(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "a").mkdir(parents=True)
    with pytest.raises(DataError, match="file: is a file; expected a folder or a new name"):
        write_folder([Piece("a", "x")], tmp_path / "file", main="main")
    with pytest.raises(DataError, match="folder: is a folder; expected a file or a new name"):
        write_file([Piece("", "x")], tmp_path / "folder")
    with pytest.raises(DataError, match="a: is a folder; expected a file or a new name"):
        write_folder([Piece("a", "x")], tmp_path / "folder", main="main")
    (tmp_path / "folder" / "b").touch()
    with pytest.raises(DataError, match="b: is a file; expected a folder or a new name"):
        write_folder([Piece("c", "x"), Piece("b/d", "x")], tmp_path / "folder", main="main")
    assert not (tmp_path / "folder" / "c").exists()
