"""Where a model can be saved, and the paths that are refused before the work begins."""

from pathlib import Path
from typing import Any

import pytest

from charlm.errors import CharlmError, ConfigError
from charlm.ngram.baseline import ModelFile, model_file


def test_without_a_name_there_is_no_place() -> None:
    assert model_file(None, start=None, beside=None) is None


def test_an_arpa_file_begins_as_lmplz_has_it_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    assert model_file(path, start=None, beside=None) == ModelFile(path, "lmplz", None)
    assert model_file(path, start="srilm", beside=None) == ModelFile(path, "srilm", None)


def test_a_binary_needs_its_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ConfigError, match=r"^build_binary: not on the PATH; expected KenLM's tool"):
        model_file(tmp_path / "a.bin", start=None, beside=None)
    (tmp_path / "build_binary").touch(mode=0o755)
    found = model_file(tmp_path / "a.bin", start=None, beside=tmp_path / "lmplz")
    assert found == ModelFile(tmp_path / "a.bin", "lmplz", tmp_path / "build_binary")


NO_ARPA = (
    "--start srilm: says how an ARPA file is written, and none is; expected --out with the name of "
    "one; drop --start"
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": None, "start": "srilm"}, NO_ARPA),
        ({"out": "a.bin", "start": "srilm"}, NO_ARPA),
        (
            {"out": "-", "start": None},
            "--out -: nothing goes to standard output; expected a file",
        ),
        (
            {"out": "stream.bin", "start": None},
            "--out stream.bin: a stream; expected a file for KenLM's binary",
        ),
    ],
)
def test_what_is_no_place_is_refused(
    options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stream.bin").symlink_to("/dev/fd/2")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CharlmError) as caught:
        model_file(**options, beside=None)
    assert str(caught.value) == message
