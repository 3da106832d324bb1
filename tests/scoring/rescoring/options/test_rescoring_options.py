"""Options on lists that are given as one text: columns, and further files."""

from pathlib import Path

import pytest

from charlm.errors import ConfigError
from charlm.scoring.rescoring.options.rescoring_options import ListOptions


@pytest.mark.parametrize("text", ["am", "=file", "am="])
def test_a_further_file_has_a_name(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _ = ListOptions(features=[text]).feature_files
    assert str(caught.value) == f"--features {text!r}: expected NAME=FILE, each name once"


def test_a_further_file_has_a_name_of_its_own() -> None:
    files = ListOptions(features=["am=a", "lm=b=c"]).feature_files
    assert files == {"am": Path("a"), "lm": Path("b=c")}
    assert ListOptions(features={"am": "a"}).feature_files == {"am": Path("a")}
    with pytest.raises(ConfigError, match="'am=b': expected NAME=FILE, each name once"):
        _ = ListOptions(features=["am=a", "am=b"]).feature_files


def test_columns_are_one_text_or_several() -> None:
    assert ListOptions(columns=" a, b ,").column_names == ("a", "b")
    assert ListOptions(columns=["a", "b"]).column_names == ("a", "b")
