"""Every command gives the same results for a text in Latin-1 as for the text in UTF-8."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

import charlm
from charlm.cli import app
from charlm.errors import ConfigError, DataError
from charlm.ngram.files.arpa_reading import read_arpa

ENCODING = "latin-1"
TEXT = "the naïve cat sat\nl' été\nthe cat looked\nnaïve\n" * 3
LISTS = "id\tam\ttext\nu\t-2\tthe naïve cat\nu\t-1\tl' été à\nv\t-1\tété\n"


class Pair(NamedTuple):
    """The same text twice."""

    utf_8: Path
    latin_1: Path


Write = Callable[..., Pair]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, text: str) -> Pair:
        pair = Pair(tmp_path / f"{name}.utf8", tmp_path / f"{name}.latin1")
        pair.utf_8.write_bytes(text.encode())
        pair.latin_1.write_bytes(text.encode(ENCODING))
        return pair

    return write


@pytest.fixture
def arpa(write: Write) -> Pair:
    text = write("train", TEXT)
    out = text.utf_8.with_name("kn.arpa")
    charlm.ngram_baseline(train=text.utf_8, order=2, out=out)
    return write("kn", out.read_text())


def test_prep_makes_the_same_corpus(write: Write, tmp_path: Path) -> None:
    raw = write("raw", TEXT)
    charlm.prep(raw.utf_8, out=tmp_path / "a", split="1,1,1")
    result = charlm.prep(raw.latin_1, out=tmp_path / "b", split="1,1,1", encoding=ENCODING)
    for name in ("train.txt", "valid.txt", "test.txt"):
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()
    assert result.to_dict()["options"]["encoding"] == ENCODING  # type: ignore[index]
    dropped = charlm.prep(raw.latin_1, out=tmp_path / "c", split="1,1,1", invalid="drop")
    assert dropped.drops["invalid encoding"] == 9


def test_eval_finds_the_same_perplexities_of_the_same_signature(
    write: Write, tiny_run: Path
) -> None:
    text = write("text", TEXT)
    (expected,) = charlm.evaluate(tiny_run, files=text.utf_8)
    (found,) = charlm.evaluate(tiny_run, files=text.latin_1, encoding=ENCODING)
    assert found.by_state == expected.by_state
    assert found.signatures == expected.signatures


def test_an_estimate_is_of_the_same_text(write: Write, arpa: Pair, tmp_path: Path) -> None:
    train = write("train", TEXT).latin_1
    charlm.ngram_baseline(train=train, order=2, out=tmp_path / "a.arpa", encoding=ENCODING)
    assert (tmp_path / "a.arpa").read_bytes() == arpa.utf_8.read_bytes()


def test_an_arpa_file_knows_the_same_words_and_is_written_in_utf_8(
    write: Write, arpa: Pair, tmp_path: Path
) -> None:
    text, out = write("text", TEXT), tmp_path / "again.arpa"
    by_us = charlm.ngram_baseline(text.utf_8, lm=arpa.utf_8, engine="charlm")
    found = charlm.ngram_baseline(text.latin_1, lm=arpa.latin_1, encoding=ENCODING)
    assert found.texts[0].by_state == by_us.texts[0].by_state
    assert found.texts[0].counts.n_oov == 0
    ours = charlm.ngram_baseline(text.latin_1, lm=arpa.utf_8, encoding=ENCODING)  # as we write it
    assert ours.texts[0].by_state == by_us.texts[0].by_state
    charlm.ngram_baseline(lm=arpa.latin_1, out=out, encoding=ENCODING)
    assert "\tnaïve" in out.read_text()
    with pytest.raises(ConfigError, match="KenLM reads UTF-8 alone; expected an ARPA file for --e"):
        charlm.ngram_baseline(text.latin_1, lm=arpa.latin_1, encoding=ENCODING, engine="kenlm")
    with pytest.raises(DataError, match=r"invalid UTF-8 .*; say what it is by --encoding, or conv"):
        charlm.ngram_baseline(text.latin_1, lm=arpa.latin_1, engine="charlm")


def test_an_encoding_whose_bytes_are_ascii_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    text = "\\data\\\nngram 1=2\n\n\\1-grams:\n-0.3\t</s>\n-0.3\t日本\n\n\\end\\\n"
    path.write_bytes(text.encode("iso2022_jp"))
    assert "日本" in read_arpa(path, encoding="iso2022_jp").words


def test_a_mixture_has_the_same_weights(write: Write, arpa: Pair, tiny_run: Path) -> None:
    text = write("text", TEXT)
    expected = charlm.mix([tiny_run, arpa.utf_8], text=text.utf_8)
    found = charlm.mix([tiny_run, arpa.latin_1], text=text.latin_1, encoding=ENCODING)
    assert [each.weight for each in found.streams] == pytest.approx(
        [each.weight for each in expected.streams],
        abs=1e-5,  # KenLM's fp32 and ours
    )
    assert found.words == expected.words


def test_score_writes_lists_as_they_came_and_other_layouts_in_utf_8(
    write: Write, arpa: Pair, tmp_path: Path
) -> None:
    lists, refs = write("lists", LISTS), write("refs", "u the naïve cat\nv été\n")
    text, out = write("text", TEXT), tmp_path / "out"
    utf_8 = {"lm": [arpa.utf_8] * 2, "mix": text.utf_8, "refs": refs.utf_8, "out": out}
    latin_1 = {"lm": [arpa.latin_1] * 2, "mix": text.latin_1, "refs": refs.latin_1, "out": out}
    expected = charlm.score(lists.utf_8, weight=["am=1"], **utf_8)  # type: ignore[arg-type]
    in_utf_8 = out.read_text()
    found = charlm.score(lists.latin_1, encoding=ENCODING, weight=["am=1"], **latin_1)  # type: ignore[arg-type]
    assert out.read_bytes().decode(ENCODING) == in_utf_8
    assert found.report is not None
    assert found.report == expected.report
    charlm.score(lists.latin_1, encoding=ENCODING, write="text", **latin_1)  # type: ignore[arg-type]
    assert out.read_text() == "the naïve cat\nété\n"


def test_score_streams_a_list_as_it_came(write: Write, arpa: Pair) -> None:
    lists = write("lists", LISTS)
    command = f"score {lists.latin_1} --lm {arpa.latin_1} --encoding {ENCODING}"
    result = CliRunner().invoke(app, [*command.split(), "--write", "scored"])
    assert result.exit_code == 0, result.stderr
    lines = result.stdout_bytes.decode(ENCODING).splitlines()
    assert [line.split("\t")[-1] for line in lines] == [
        line.split("\t")[-1] for line in LISTS.splitlines()
    ]
    best = CliRunner().invoke(app, [*command.split(), "--write", "text"])
    assert best.stdout_bytes.decode().splitlines()[1] == "été"


@pytest.mark.parametrize("command", ["score lists --lm kn", "ngram --lm kn lists", "mix kn kn"])
def test_an_unknown_encoding_is_one_line(
    command: str, write: Write, arpa: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(arpa.utf_8.parent)
    lists = write("lists", LISTS)
    lists.utf_8.rename("lists")
    arpa.utf_8.rename("kn")
    more = ["--text", "lists"] if command.startswith("mix") else []
    result = CliRunner().invoke(app, [*command.split(), *more, "--encoding", "klingon"])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("charlm: --encoding 'klingon': expected one t")
