"""KenLM's binary files: its tool makes them, and each of its failures is one line."""

import os
import re
from pathlib import Path

import pytest

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import estimate
from charlm.ngram.files.kenlm_binary import find_build_binary, wants_binary, write_binary
from charlm.ngram.files.load import load_ngram
from charlm.ngram.word_ids import WordIds, encode

COPIES = '#!/bin/sh\n[ "$1" = -s ] || exit 3\n{ echo binary; cat "$2"; } > "$3"\n'
FAILS = '#!/bin/sh\necho reading >&2\necho "no space" >&2\nexit 7\n'


def tool(folder: Path, script: str) -> Path:
    path = folder / "build_binary"
    path.write_text(script)
    path.chmod(0o755)
    return path


@pytest.fixture
def model() -> BackoffModel:
    word_ids = WordIds()
    ids = encode([["a", "b"], ["b"]], word_ids)
    return estimate(ids, words=word_ids.words, order=2).model


def test_the_tool_gets_an_arpa_file_and_its_result_is_kept(
    model: BackoffModel, tmp_path: Path
) -> None:
    out = tmp_path / "a.bin"
    write_binary(model, out, tool=tool(tmp_path, COPIES))
    assert out.read_text().startswith("binary\n\\data\\\nngram 1=5\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", "build_binary"]


def test_only_what_the_next_one_replaces_lies_in_the_folder_while_the_tool_runs(
    model: BackoffModel, tmp_path: Path
) -> None:
    lists = f'#!/bin/sh\ncat "$2" > "$3"\nls -A {tmp_path} > {tmp_path}/seen\n'
    write_binary(model, tmp_path / "a.bin", tool=tool(tmp_path, lists))
    seen = (tmp_path / "seen").read_text().split()
    assert sorted(seen) == [".a.bin.partial", "build_binary", "seen"]
    assert (tmp_path / "a.bin").read_text().startswith("\\data\\\n")


def test_a_failing_tool_leaves_the_old_file_and_its_last_words(
    model: BackoffModel, tmp_path: Path
) -> None:
    out = tmp_path / "a.bin"
    out.write_text("old")
    with pytest.raises(DataError, match=r"build_binary: status 7; expected 0; it said: no space$"):
        write_binary(model, out, tool=tool(tmp_path, FAILS))
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", "build_binary"]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ("no space\\nERROR", "no space"),
        (
            "reading\\nm.cc:1 in f() threw E.\\nOrder 7, not 6. Recompile:\\n c=7\\nERROR",
            "Order 7, not 6. Recompile: c=7",
        ),
        ("ERROR", "no message"),
    ],
)
def test_what_kenlm_writes_below_each_message_is_left_out(
    model: BackoffModel, tmp_path: Path, messages: str, said: str
) -> None:
    fails = tool(tmp_path, f"#!/bin/sh\nprintf '{messages}\\n' >&2\nexit 1\n")
    with pytest.raises(DataError, match=f"status 1; expected 0; it said: {re.escape(said)}$"):
        write_binary(model, tmp_path / "a.bin", tool=fails)


def test_a_tool_that_does_not_run_is_one_line(model: BackoffModel, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"nowhere: does not run \(No such file or directory\); exp"
    ):
        write_binary(model, tmp_path / "a.bin", tool=tmp_path / "nowhere")


def test_the_tool_is_looked_for_on_the_path_and_beside_lmplz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    made = tool(tmp_path, COPIES)
    assert find_build_binary(beside=tmp_path / "lmplz") == made
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_build_binary() == made


@pytest.mark.parametrize(
    ("name", "wanted"), [("a.bin", True), ("a.klm", True), ("a.binary", True), ("a.arpa", False)]
)
def test_the_suffix_says_whether_a_binary_is_wanted(name: str, wanted: bool) -> None:
    assert wants_binary(name) is wanted


@pytest.mark.parametrize("name", ["a.klm.gz", "a.bin.xz"])
def test_a_packed_binary_is_refused(name: str) -> None:
    ending = name[1:5]
    with pytest.raises(ConfigError) as caught:
        wants_binary(name)
    assert str(caught.value) == (
        f"{name}: KenLM's binary is never packed; expected a name that ends with {ending}, or "
        f".arpa{name[5:]}"
    )


@pytest.mark.usefixtures("kenlm")
def test_kenlm_reads_what_its_tool_made(model: BackoffModel, tmp_path: Path) -> None:
    try:
        made = find_build_binary()
    except ConfigError:
        pytest.skip(f"no build_binary on the PATH {os.environ['PATH']}")
    write_binary(model, tmp_path / "a.bin", tool=made)
    ours = model.score([["a", "b", "c"]]).log10_probs
    theirs = load_ngram(tmp_path / "a.bin").score([["a", "b", "c"]]).log10_probs
    assert theirs == pytest.approx(ours, abs=1e-5)
