"""A process that reads part of a text for another, called here in the same process."""

import errno
import io
import os
import pickle
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from charlm.text.corpus import ranges
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.ranges import REFUSED
from charlm.text.vocabulary import counts
from charlm.text.vocabulary.counts import CountFiles, ProcessCounts
from charlm.text.vocabulary.encoding import BlockEncoder
from charlm.text.vocabulary.vocabulary import Inventory

INVENTORY = Inventory(("</s>", "<unk>", "a"), (1, 1, 1), ("a",))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(b"a zz\nqq zz a\n\xff\n")
    return path


def answers(
    monkeypatch: pytest.MonkeyPatch, path: Path, work: object, *questions: object
) -> list[Any]:
    asked = b"".join(map(pickle.dumps, ((str(path), work), *questions)))
    told = io.BytesIO()
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(asked)))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=told))
    ranges.main()
    told.seek(0)
    found = [pickle.load(told) for _ in questions]
    assert told.read() == b""
    return found


def counting() -> ProcessCounts:
    return ProcessCounts(None, files=CountFiles())


def test_each_range_numbers_its_own_further_tokens(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = BlockEncoder(INVENTORY, oov_input="spelling")
    found = answers(monkeypatch, text, encoder, (5, 13), (0, 5))
    assert [(ids.tolist(), n, tokens) for ids, n, tokens in found] == [
        ([3, 4, 2, 0], 1, ["qq", "zz"]),
        ([2, 3, 0], 1, ["zz"]),
    ]


def test_a_range_forgets_the_numbers_of_the_one_before_it_though_rules_change_words(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text.write_bytes(b"ZZ zz zz\nqq zz\n")
    lower = replace(INVENTORY, normalisation=Normalisation(lower=True))
    encoder = BlockEncoder(lower, oov_input="spelling")
    found = answers(monkeypatch, text, encoder, (0, 9), (9, 15))
    assert [(ids.tolist(), n, tokens) for ids, n, tokens in found] == [
        ([3, 3, 3, 0], 1, ["zz"]),
        ([3, 4, 0], 1, ["qq", "zz"]),
    ]


def test_a_byte_order_mark_is_one_where_the_text_begins_alone(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text.write_bytes(b"a\n\xef\xbb\xbf")  # the last line counts as one without words
    encoder = BlockEncoder(INVENTORY, oov_input="unk")
    [(ids, n_sentences, _)] = answers(monkeypatch, text, encoder, (2, 5))
    assert (ids.tolist(), n_sentences) == ([0], 1)


def test_a_range_that_is_no_longer_there_holds_nothing(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = BlockEncoder(INVENTORY, oov_input="unk")
    [(ids, *found)] = answers(monkeypatch, text, encoder, (16, 20))
    assert (ids.tolist(), *found) == ([], 0, [])


def test_a_line_that_is_refused_is_left_to_the_caller(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answers(monkeypatch, text, counting(), (5, 15)) == [REFUSED]


def test_counts_are_told_part_by_part(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = ((0, 5), (5, 13), *range(counts.N_PARTS))
    first, second, *parts = answers(monkeypatch, text, counting(), *questions)
    assert (first, second) == (1, 1)
    assert dict(counts.merged([part] for part in parts).items()) == {"a": 2, "qq": 1, "zz": 2}


def test_what_the_system_refuses_is_told_with_its_file(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "there")

    monkeypatch.setattr(counts, "TemporaryFile", full)
    first, second = answers(monkeypatch, text, counting(), (0, 5), 0)
    assert first == 1
    assert second.errno == errno.ENOSPC
    assert (second.strerror, second.filename) == ("No space left on device", "there")


def test_what_names_no_file_is_told_in_its_own_words(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    [told] = answers(monkeypatch, text, counting(), 0)
    reason = "No usable temporary directory found in []"
    assert (told.errno, told.strerror, told.filename) == (errno.ENOENT, reason, None)


def test_a_lack_of_memory_is_told_as_the_system_would(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ProcessCounts, "take", fail)
    [told] = answers(monkeypatch, text, counting(), (0, 5))
    assert (told.errno, told.strerror, told.filename) == (12, os.strerror(12), str(text))
