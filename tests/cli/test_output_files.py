"""Where commands write their files: through links, to streams, and what is refused."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from charlm.cli import app
from charlm.text.io.files import open_bytes

LISTS = "id\tam\ttext\nu\t-1\tthe cat\nu\t-2\tthe mat\nv\t-1\ta dog\nv\t-2\ta log\n"
REFS = "u\tthe cat\nv\ta dog\n"
WRITERS = [
    ["vocab", "--data", "corpus", "--out"],
    ["ngram", "--data", "corpus", "--order", "2", "--out"],
    ["mix", "run", "run", "--data", "corpus", "--split", "test", "--weights", "0.5,0.5", "--out"],
    ["export", "--model", "run", "--data", "corpus", "--tokens", "50", "--order", "2", "--arpa"],
    ["score", "lists.tsv", "--model", "run", "--out"],
    ["tune", "lists.tsv", "--refs", "refs.tsv", "--model", "run", "--out"],
    ["nn", "--model", "run", "--vectors"],
    ["report", "run", "--out"],
]


@pytest.fixture(autouse=True)
def folder(
    tiny_run: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").symlink_to(tiny_run)
    Path("corpus").symlink_to(corpus_dir)
    Path("lists.tsv").write_text(LISTS)
    Path("refs.tsv").write_text(REFS)
    Path("elsewhere").mkdir()


def call(*args: str) -> None:
    result = CliRunner().invoke(app, args)
    assert (result.exit_code, result.exception) == (0, None), result.stderr


def refused(*args: str) -> str:
    result = CliRunner().invoke(app, args)
    assert (result.exit_code, result.stdout) == (1, "")
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize("args", WRITERS, ids=" ".join)
def test_a_link_keeps_being_one_and_its_file_gets_what_is_written(args: Sequence[str]) -> None:
    Path("link").symlink_to("elsewhere/result")
    call(*args, "link")
    assert Path("link").is_symlink()
    assert os.listdir("elsewhere") == ["result"]
    assert Path("elsewhere/result").stat().st_size


def test_a_file_that_may_be_written_but_not_read_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Asked instead of a file's mode, which does not keep root from reading.
    monkeypatch.setattr(os, "access", lambda _path, mode, **_: mode != os.R_OK)
    Path("result").touch()
    call("ngram", "--data", "corpus", "--order", "2", "--out", "result")
    assert Path("result").stat().st_size


def test_a_page_goes_to_the_file_at_the_end_of_a_link(tiny_int8: Path) -> None:
    Path("link").symlink_to("elsewhere/page.html")
    call("export", "--model", str(tiny_int8), "--page", "link")
    assert Path("link").is_symlink()
    assert Path("elsewhere/page.html").stat().st_size


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")
@pytest.mark.parametrize("args", WRITERS, ids=" ".join)
def test_an_open_file_gets_the_bytes_that_a_name_would_get(args: Sequence[str]) -> None:
    call(*args, "file")
    with open("stream", "wb") as stream:
        call(*args, f"/dev/fd/{stream.fileno()}")
    assert Path("stream").read_bytes() == Path("file").read_bytes()


@pytest.mark.parametrize("args", WRITERS, ids=" ".join)
@pytest.mark.parametrize(
    ("out", "found"),
    [
        ("missing/x", "missing/x: no folder missing; expected one; make it first"),
        ("lists.tsv/x", "lists.tsv/x: no folder lists.tsv; expected one; make it first"),
        ("circle", "circle: leads in a circle; expected a file or a new name"),
        ("/dev/full", "/dev/full: is a device or a pipe; expected a file or a new name"),
    ],
)
def test_what_takes_no_file_is_one_line_before_anything_is_read(
    args: Sequence[str], out: str, found: str
) -> None:
    Path("circle").symlink_to("circle")
    Path("run").unlink()
    assert refused(*args, out) == f"charlm: {args[-1]} {found}"


def test_the_name_that_was_given_says_how_it_is_packed_and_not_its_file() -> None:
    Path("kn.arpa.gz").symlink_to("elsewhere/result")
    call("ngram", "--data", "corpus", "--order", "2", "--out", "kn.arpa.gz")
    assert Path("elsewhere/result").read_bytes().startswith(b"\x1f\x8b")
    with open_bytes("kn.arpa.gz") as file:
        assert file.readline() == b"\\data\\\n"


@pytest.mark.parametrize(
    ("args", "name"), [(WRITERS[0], "v.json.gz"), (WRITERS[5], "w.json.xz"), (WRITERS[7], "r.gz")]
)
def test_what_no_command_used_to_pack_is_packed_by_its_name(args: Sequence[str], name: str) -> None:
    call(*args, "plain")
    call(*args, name)
    with open_bytes(name) as file:
        assert file.read() == Path("plain").read_bytes() != Path(name).read_bytes()


def test_a_link_to_a_text_that_is_read_is_not_written_through(corpus_dir: Path) -> None:
    Path("kn.arpa").symlink_to("corpus/train.txt")
    before = (corpus_dir / "train.txt").read_bytes()
    assert refused("ngram", "--data", "corpus", "--out", "kn.arpa") == (
        "charlm: kn.arpa: would be overwritten, but is also read (data); expected another "
        "file; choose a new name"
    )
    assert (corpus_dir / "train.txt").read_bytes() == before


def test_a_link_in_the_folder_that_lists_go_to_is_replaced() -> None:
    Path("precious").write_text("mine")
    Path("elsewhere/lists.tsv").symlink_to("../precious")
    call("score", "lists.tsv", "--model", "run", "--out", "elsewhere")
    assert Path("precious").read_text() == "mine"
    assert Path("elsewhere/lists.tsv").read_text().startswith("id\tam\t")


@pytest.mark.parametrize("args", [["prep", "lists.tsv"], ["train", "--data", "corpus"]])
def test_a_link_to_nothing_is_no_folder(args: Sequence[str]) -> None:
    Path("link").symlink_to("nothing")
    assert refused(*args, "--out", "link") == (
        "charlm: link: is a link to nothing; expected a folder or a new name"
    )


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["train", "--data", "corpus", "--out"], "is a link to nothing; expected a folder"),
        (["train", "--data", "corpus", "--init"], "not a run (run.json is missing); expected"),
        (["compare-kn", "--data", "corpus", "--model"], "not a run (run.json is missing); expec"),
        (["report"], "not a run (run.json is missing); expected"),
    ],
)
def test_links_in_a_circle_are_one_line_where_a_folder_is_expected(
    args: Sequence[str], found: str
) -> None:
    Path("circle").symlink_to("circle")
    assert refused(*args, "circle").startswith(f"charlm: circle: {found}")


def test_prep_takes_a_link_in_its_folder_for_a_corpus() -> None:
    Path("elsewhere/train.txt").symlink_to("nothing")
    assert refused("prep", "lists.tsv", "--out", "elsewhere").startswith(
        "charlm: elsewhere: holds train.txt already; expected a folder without a corpus"
    )


def test_two_results_do_not_go_to_one_file() -> None:
    Path("link").symlink_to("same.png")
    asked = ("report", "run", "--picture", "curves")
    assert refused(*asked, "--out", "same.png", "--data-out", "link") == (
        "charlm: --out same.png and --data-out link: one file for two results; expected two; "
        "choose another"
    )


def test_a_name_that_ends_in_a_slash_is_that_of_a_folder() -> None:
    call("score", "lists.tsv", "--model", "run", "--out", "new/")
    assert os.listdir("new") == ["lists.tsv"]
    assert refused("score", "lists.tsv", "--model", "run", "--out", "refs.tsv/") == (
        "charlm: refs.tsv: is a file; expected a folder or a new name"
    )


def test_a_link_to_a_folder_is_that_folder() -> None:
    Path("link").symlink_to("elsewhere")
    call("prep", "corpus/train.txt", "--split", "50,25,25", "--out", "link")
    assert sorted(os.listdir("elsewhere")) == ["corpus.json", "test.txt", "train.txt", "valid.txt"]


def test_the_numbers_of_a_picture_do_not_go_to_the_name_that_it_has_by_itself() -> None:
    found = refused("report", "run", "--picture", "curves", "--data-out", "curves.png")
    assert found.startswith("charlm: --out curves.png and --data-out curves.png: one file for two")
