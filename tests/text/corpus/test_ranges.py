"""Several processes on one text give the same result as one, and stop in the same way."""

import gzip
import os
from pathlib import Path

import pytest

from charlm.errors import DataError, ProcessError
from charlm.text.corpus import ranges
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.ranges import Readers, line_ranges, n_readers
from charlm.text.io.lines import LONGEST
from charlm.text.vocabulary.counts import count_file
from charlm.text.vocabulary.encoding import encode_text
from charlm.text.vocabulary.vocabulary import inventory_of

RULES = Normalisation(lower=True)
LINES = ["The cat", "", "a zz b <unk>:qq", "\u00c9t\u00e9 zz", "<s> yy </s>", "the qq yy xx"] * 6
KILLED = "import os; os.kill(os.getpid(), 9)"
KILLED_WITHIN_AN_ANSWER = (
    "import os, pickle; os.write(1, pickle.dumps('all')[:-2]); os.kill(os.getpid(), 9)"
)
FULL = (
    "import os, pickle, time; os.write(1, pickle.dumps(OSError(28, 'No space', 'there')));"
    "time.sleep(60)"
)
IDLE = "import time; time.sleep(60)"


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small, but read by several processes, some lines each."""
    monkeypatch.setattr(ranges, "LEAST_BYTES", 1)
    monkeypatch.setattr(ranges, "RANGE_BYTES", 40)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES))
    return path


def test_two_processes_count_and_encode_as_one(text: Path, tmp_path: Path) -> None:
    assert len(list(line_ranges(text))) > 5  # more than are asked for at once
    one = count_file(text, normalisation=RULES, threads=1)
    two = count_file(text, normalisation=RULES, threads=2)
    assert dict(two.tokens.items()) == dict(one.tokens.items())
    assert two.n_sentences == one.n_sentences == len(LINES)
    inventory = inventory_of([["the", "the", "a", "\u00e9t\u00e9"]], size=5, normalisation=RULES)
    alone = encode_text(text, inventory, stem=tmp_path / "one", threads=1)
    found = encode_text(text, inventory, stem=tmp_path / "two", threads=2)
    assert found.ids.tolist() == alone.ids.tolist()
    assert found.spellings == alone.spellings == ("cat", "zz", "b", "qq", "yy", "qq", "xx")
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "one.json").read_bytes()


def test_an_error_names_its_line_in_the_whole_text(text: Path) -> None:
    text.write_bytes(text.read_bytes() + b"\na\n\xff\n")
    with pytest.raises(DataError) as alone:
        count_file(text, threads=1)
    with pytest.raises(DataError) as caught:
        count_file(text, threads=2)
    assert str(caught.value) == str(alone.value)
    assert str(caught.value).startswith(f"{text}:{len(LINES) + 2}: invalid UTF-8")


def test_a_line_too_long_is_named_with_its_number_in_the_whole_text(text: Path) -> None:
    os.truncate(text, text.stat().st_size + LONGEST)
    with pytest.raises(DataError) as caught:
        count_file(text, threads=2)
    assert str(caught.value) == (
        f"{text}:{len(LINES)}: longer than 64 MiB; expected shorter lines; cut it into sentences, "
        "or let `charlm prep --max-words N` leave it out"
    )


@pytest.mark.parametrize("program", [KILLED, KILLED_WITHIN_AN_ANSWER])
def test_a_killed_process_is_one_line(
    program: str, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "PROGRAM", program)
    with pytest.raises(ProcessError) as caught:
        count_file(text, threads=2)
    assert str(caught.value) == (
        f"{text}: a process that read it ended with status -9; expected it to read to the end; "
        "--threads 1 reads in one, with the least memory"
    )


def test_a_full_disk_under_a_process_is_told_as_ones_own(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "PROGRAM", FULL)
    with pytest.raises(OSError, match="No space") as caught:
        count_file(text, threads=2)
    assert caught.value.filename == "there"


def test_an_interruption_ends_all_processes(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "PROGRAM", IDLE)
    started = Readers(2, text, work=None, normalisation=None)
    with pytest.raises(KeyboardInterrupt), started:
        raise KeyboardInterrupt
    assert [each._process.returncode for each in started.readers] == [-9, -9]


@pytest.mark.parametrize("content", [b"a\nbb\n\nccc\n", b"a\nbb", b"\n", b"a" * 9, b""])
@pytest.mark.parametrize("n_bytes", [1, 3, 100])
def test_ranges_follow_each_other_and_begin_with_a_line(
    content: bytes, n_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE_BYTES", n_bytes)
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    parts = [content[start:end] for start, end in line_ranges(path)]
    assert b"".join(parts) == content
    assert all(part.endswith(b"\n") for part in parts[:-1])


def test_how_many_processes_there_are(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert n_readers(text, threads=3) == 3
    assert n_readers(text) >= 1
    assert n_readers(text, threads=99) == 9  # ranges of 40 bytes in 353
    packed = text.with_suffix(".gz")
    monkeypatch.chdir(text.parent)
    Path("-").write_bytes(text.read_bytes())  # a file exists, but the name means standard input
    packed.write_bytes(gzip.compress(text.read_bytes()))
    assert [n_readers(path, threads=3) for path in (packed, "-", text.parent)] == [1, 1, 1]
    monkeypatch.setattr(ranges, "LEAST_BYTES", 1_000_000)
    assert n_readers(text, threads=3) == 1


def test_processes_find_charlm_where_it_is_not_installed(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = (
        "import sys, sysconfig; own = sysconfig.get_path('stdlib'); "
        "sys.path[:] = [p for p in sys.path if p.startswith(own) and 'packages' not in p]; "
    )
    monkeypatch.setattr(ranges, "PROGRAM", bare + ranges.PROGRAM)
    assert count_file(text, threads=2).n_sentences == len(LINES)
