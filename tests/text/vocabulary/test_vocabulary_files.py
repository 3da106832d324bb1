"""What is no vocabulary's file is told with what was found, and what was expected."""

from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.text.vocabulary.vocabulary import load_inventory, vocabulary_at


def test_a_run_json_is_no_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": 1, "settings": {}}')
    with pytest.raises(
        DataError, match=r"run.json: not a vocabulary; expected what `charlm vocab`"
    ):
        vocabulary_at(tmp_path / "run.json")


def test_a_missing_vocabulary_is_told_with_what_was_expected(tmp_path: Path) -> None:
    for path, found in ((tmp_path / "v.json", "no such file"), (tmp_path, "is a folder")):
        with pytest.raises(DataError) as caught:
            load_inventory(path)
        assert str(caught.value) == f"{path}: {found}; expected what `charlm vocab` writes"
