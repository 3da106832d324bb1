"""A process that reads for another, asked here without being one."""

import errno
import io
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from charlm.text.corpus.normalisation import Normalisation
from charlm.text.vocabulary import counts, reader_process


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(b"a zz\nqq zz a\n\xff\n")
    return path


def answers(
    monkeypatch: pytest.MonkeyPatch, path: Path, *questions: object, **job: object
) -> io.BytesIO:
    said = {**job, "path": str(path), "normalisation": Normalisation().to_dict()}
    asked = "".join(json.dumps(line) + "\n" for line in (said, *questions)).encode()
    told = io.BytesIO()
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(asked)))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=told))
    reader_process.main()
    told.seek(0)
    return told


def test_each_range_numbers_its_own_further_tokens(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["</s>", "<unk>", "a"]
    ranges = [[5, 13], [0, 5]]
    told = answers(monkeypatch, text, *ranges, job="encode", words=words, oov_input="spelling")
    for tokens, ids in ((["qq", "zz"], [3, 4, 2, 0]), (["zz"], [2, 3, 0])):
        head = json.loads(told.readline())
        assert head == {"n_lines": 1, "n_sentences": 1, "tokens": tokens, "n_bytes": 4 * len(ids)}
        assert np.frombuffer(told.read(head["n_bytes"]), np.int32).tolist() == ids
    assert told.read() == b""


def test_a_byte_order_mark_is_one_where_the_text_begins_alone(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text.write_bytes(b"a\n\xef\xbb\xbf")  # the last line is read as one without words
    job = {"job": "encode", "words": ["</s>", "<unk>", "a"], "oov_input": "unk"}
    told = answers(monkeypatch, text, [2, 5], **job)
    assert json.loads(told.readline())["n_sentences"] == 1
    assert np.frombuffer(told.read(), np.int32).tolist() == [0]


def test_a_line_that_is_refused_is_left_to_the_caller(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = answers(monkeypatch, text, [5, 15], job="count")
    assert json.loads(told.read()) == {"is_refused": True, "n_bytes": 0}


def test_counts_are_told_part_by_part(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = answers(monkeypatch, text, [0, 5], [5, 13], *range(counts.N_PARTS), job="count")
    for _ in range(2):
        assert json.loads(told.readline()) == {"n_lines": 1, "n_sentences": 1, "n_bytes": 0}
    parts = [told.read(json.loads(told.readline())["n_bytes"]) for _ in range(counts.N_PARTS)]
    assert told.read() == b""
    assert dict(counts.merged([part] for part in parts).items()) == {"a": 2, "qq": 1, "zz": 2}


def test_what_the_system_refuses_is_told_with_its_file(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "there")

    monkeypatch.setattr(counts, "TemporaryFile", full)
    told = answers(monkeypatch, text, [0, 5], 0, job="count")
    first, second = map(json.loads, told.read().splitlines())
    assert first == {"n_lines": 1, "n_sentences": 1, "n_bytes": 0}
    assert second == {"error": [28, "No space left on device", "there"], "n_bytes": 0}


def test_what_names_no_file_is_told_in_its_own_words(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    told = json.loads(answers(monkeypatch, text, 0, job="count").read())
    reason = "No usable temporary directory found in []"
    assert told == {"error": [errno.ENOENT, reason, None], "n_bytes": 0}


def test_a_lack_of_memory_is_told_as_the_system_would(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(reader_process.Tally, "add", fail)
    told = answers(monkeypatch, text, [0, 5], job="count")
    assert json.loads(told.read()) == {
        "error": [12, os.strerror(12), str(text)],
        "n_bytes": 0,
    }
