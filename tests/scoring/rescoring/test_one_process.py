"""Commands that need no torch do not load it, which would take seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

ARPA = """\\data\\
ngram 1=5

\\1-grams:
-2\t<unk>
-99\t<s>
-0.5\t</s>
-0.5\ta
-0.25\tc

\\end\\
"""
LIST = "u\t-1\ta b\nu\t-2\ta c\nv\t-1\tc b\nv\t-3\tc\n"


@pytest.mark.parametrize("model", [[], ["--lm", "kn.arpa"]])
def test_lists_are_tuned_and_scored_without_torch(model: list[str], tmp_path: Path) -> None:
    (tmp_path / "list.tsv").write_text(LIST)
    (tmp_path / "refs").write_text("u a b\nv c\n")
    (tmp_path / "kn.arpa").write_text(ARPA)
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
