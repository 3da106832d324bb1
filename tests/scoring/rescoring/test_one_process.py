"""Commands that need no torch do not load it, which would take seconds."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LIST = "u\t-1\ta b\nu\t-2\ta c\nv\t-1\tc b\nv\t-3\tc\n"


@pytest.mark.parametrize("model", [[], ["--lm", "kn.arpa"]])
def test_lists_are_tuned_and_scored_without_torch(
    model: list[str], tmp_path: Path, save_unigrams: Callable[..., Path]
) -> None:
    (tmp_path / "list.tsv").write_text(LIST)
    (tmp_path / "refs").write_text("u a b\nv c\n")
    save_unigrams(tmp_path / "kn.arpa", end=-0.5, unk=-2, a=-0.5, c=-0.25)
    tune = ["tune", "list.tsv", "--refs", "refs", "--out", "weights.json", *model]
    score = ["score", "list.tsv", "--weights", "weights.json", "--write", "ranked", *model]
    program = f"""
import sys
from charlm.cli import app
for command in ({tune!r}, {score!r}):
    try:
        app(command)
    except SystemExit as ended:
        assert not ended.code
assert "torch" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert [line[0] for line in done.stdout.splitlines()[-4:]] == ["u", "u", "v", "v"]
    assert done.stdout.splitlines()[-2].endswith("\tc")  # the shorter hypothesis
