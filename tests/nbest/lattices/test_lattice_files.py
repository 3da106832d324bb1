"""How the format of a lattice is detected, and where lattices are read from."""

import gzip
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_files import lattice_format, read_lattices
from charlm.nbest.reading.format import Sample, Source
from charlm.nbest.reading.list_lines import opened

Read = Callable[..., list[Lattice]]


def test_the_content_tells_the_format(texts: dict[str, str]) -> None:
    found = {
        kind: lattice_format(Sample("x", tuple(text.splitlines()), ()))
        for kind, text in texts.items()
    }
    assert found == {"compact": "kaldi-lattice", "lattice": "kaldi-lattice", "slf": "slf"}


@pytest.mark.parametrize(
    "lines",
    [
        ("u ", "0", "", "v", "0", ""),
        ("", "u", "0 1 we", "1", "", "v"),
        ("u", "0 1 3 we", "1 2 a 1,2,", "2 x"),
    ],
)
def test_short_and_empty_lattices_and_those_with_a_broken_line_are_detected(
    lines: tuple[str, ...],
) -> None:
    assert lattice_format(Sample("x", lines, ())) == "kaldi-lattice"


@pytest.mark.parametrize(
    "lines",
    [
        ("utt-A-1 we know", "utt-A-2 we do know"),
        ("0 ||| a ||| lm: -1 ||| -1",),
        ("-1792.12 -16.0727 2 a b",),
        ('{"id": "u"}',),
        ("utt1\t-12.3\twe know",),
        ("u", "v"),
        ("yes", "2", "no thanks", "we know"),
        ("yes", "2", "3"),
        ("yes", "2 3 four", "no", "we know it"),
        ("NBestList1.0", "(-15) i think"),
        ("a sentence",),
        (),
    ],
)
def test_a_list_is_no_lattice(lines: tuple[str, ...]) -> None:
    assert lattice_format(Sample("x", lines, ())) is None


def test_a_binary_archive_gets_the_command_that_converts_it(tmp_path: Path) -> None:
    path, packed = tmp_path / "lat.1", tmp_path / "lat.1.gz"
    binary = b"utt-A \0B\xd6\xfd\xb2\x7e\x06\0\0\0vector"
    path.write_bytes(binary)
    packed.write_bytes(gzip.compress(binary))
    for each, archive in ((path, f"ark:{path}"), (packed, f"'ark:gunzip -c {packed}|'")):
        with pytest.raises(DataError) as error:
            list(read_lattices(Source(each)))
        assert str(error.value) == (
            f"{each}: a binary archive of Kaldi; expected text; convert it: lattice-copy {archive} "
            "ark,t:-"
        )


def test_what_is_no_lattice_is_one_line(read: Read) -> None:
    with pytest.raises(DataError, match=r"lattices: no lattices; expected HTK's"):
        read("just a sentence\n")


@pytest.mark.parametrize("form", ["slf", "kaldi-lattice"])
def test_an_empty_file_is_one_line(read: Read, form: str) -> None:
    with pytest.raises(DataError, match="lattices: empty; expected lattices"):
        read("", form=form)


def test_blank_lines_are_no_lattice(read: Read) -> None:
    with pytest.raises(DataError, match="lattices: no lattice; expected the id of an utterance"):
        read("\n\n", form="kaldi-lattice")


def test_standard_input_and_packed_files_are_read(
    tmp_path: Path, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "lat.gz"
    packed.write_bytes(gzip.compress(texts["compact"].encode()))
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(texts["compact"].encode())))
    monkeypatch.setattr(sys, "stdin", stdin)
    for path in (packed, "-"):
        (found,) = read_lattices(Source(path))
        assert "".join(line.raw for line in found.original.lines) == texts["compact"]


def test_a_source_that_detection_has_opened_is_read_from_there(
    tmp_path: Path, texts: dict[str, str]
) -> None:
    path = tmp_path / "lat"
    path.write_text(texts["slf"])
    with opened(Source(path)) as ready:
        path.unlink()
        assert [lattice.id for lattice in read_lattices(ready)] == ["utt-A"]


def test_a_folder_is_read_file_by_file_and_each_keeps_its_name(
    tmp_path: Path, texts: dict[str, str]
) -> None:
    for name in ("b.lat", "a.lat"):
        text = texts["slf"].replace("UTTERANCE=utt-A\n", "")
        (tmp_path / name).write_text(text)
    found = list(read_lattices(Source(tmp_path)))
    assert [lattice.id for lattice in found] == ["a", "b"]
    assert [lattice.original.file for lattice in found] == ["a.lat", "b.lat"]


def test_two_files_of_one_utterance_are_one_line(tmp_path: Path, texts: dict[str, str]) -> None:
    for name in ("a.lat", "b.lat"):
        (tmp_path / name).write_text(texts["slf"])
    found = read_lattices(Source(tmp_path))
    assert next(found).id == "utt-A"
    with pytest.raises(DataError) as error:
        next(found)
    assert str(error.value) == (
        f"{tmp_path / 'b.lat'}:1: utterance 'utt-A' for the second time, after "
        f"{tmp_path / 'a.lat'}:1; expected each once; give each an id of its own, as UTTERANCE= in "
        "HTK's files"
    )


@pytest.fixture
def folder(tmp_path: Path, texts: dict[str, str]) -> Path:
    """A lattice, plain and packed, and between them what else lies in such folders."""
    (tmp_path / "b.lat").write_text("# by a decoder\n\n" + texts["slf"])
    (tmp_path / "README.txt").write_text("Lattices of the decoder.\n")
    packed = gzip.compress(texts["slf"].replace("utt-A", "utt-C").encode())
    (tmp_path / "c.lat.gz").write_bytes(packed)
    (tmp_path / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")  # a pipe without a writer
    return tmp_path


@pytest.mark.parametrize("form", ["auto", "slf"])
def test_what_is_no_lattice_in_a_folder_is_left_out_and_told(folder: Path, form: str) -> None:
    source = Source(folder)
    found = list(read_lattices(source, form=form))
    assert [lattice.original.file for lattice in found] == ["b.lat", "c.lat.gz"]
    assert source.notices.passed_over == {
        "files that are no lattices (README.txt, dangling, pipe, plot.png)": 4
    }


def test_of_many_files_that_are_no_lattices_the_first_are_named(folder: Path) -> None:
    for number in range(20):
        (folder / f"a{number:02}.txt").write_text("a\n")
    source = Source(folder)
    assert len(list(read_lattices(source))) == 2
    assert source.notices.passed_over == {
        "files that are no lattices (README.txt, a00.txt, a01.txt, a02.txt and 20 more)": 24
    }


def test_the_names_of_a_folder_are_gone_through_before_its_first_lattice(folder: Path) -> None:
    (folder / "z.lat").touch()
    with pytest.raises(DataError) as caught:
        next(read_lattices(Source(folder)))
    assert str(caught.value) == (
        f"{folder}/z.lat: empty; expected a lattice; remove it to leave it out"
    )


def test_an_empty_or_broken_file_makes_no_folder_one_of_lattices(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b half")
    with opened(Source(tmp_path)) as ready:
        assert lattice_format(ready.sample) is None


def test_a_folder_without_a_lattice_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("none yet\n")
    with pytest.raises(DataError) as caught:
        list(read_lattices(Source(tmp_path), form="slf"))
    assert str(caught.value) == (
        f"{tmp_path}: no lattices; expected HTK's (SLF, begins with VERSION=) or Kaldi's as text "
        "(an utterance's id, then lines of numbers)"
    )


def test_a_folder_of_kaldis_is_refused(tmp_path: Path, texts: dict[str, str]) -> None:
    (tmp_path / "lat.1").write_text(texts["compact"])
    with pytest.raises(ConfigError, match="a folder; expected an archive of Kaldi's, or HTK's"):
        list(read_lattices(Source(tmp_path), form="kaldi-lattice"))
