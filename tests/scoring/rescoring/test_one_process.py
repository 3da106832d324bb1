"""Commands that need no torch do not load it, which would take seconds."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

LIST = "u\t-1\ta b\nu\t-2\ta c\nv\t-1\tc b\nv\t-3\tc\n"


def test_lists_are_tuned_and_scored_texts_mixed_and_kneser_ney_measured_without_torch(
    tmp_path: Path, corpus_dir: Path, save_unigrams: Callable[..., Path]
) -> None:
    (tmp_path / "list.tsv").write_text(LIST)
    (tmp_path / "refs").write_text("u a b\nv c\n")
    (tmp_path / "scores").write_text("\tp( </s> | <s> ) \t= [2gram] 0.5 [ -0.30103 ]\n")
    save_unigrams(tmp_path / "kn.arpa", end=-0.5, unk=-2, a=-0.5, c=-0.25)
    commands = [
        ["mix", "scores", "scores"],
        ["compare-kn", "--data", str(corpus_dir), "--order", "2"],
    ]
    for model in ([], ["--lm", "kn.arpa"]):
        commands += [
            ["tune", "list.tsv", "--refs", "refs", "--out", "weights.json", *model],
            ["score", "list.tsv", "--weights", "weights.json", "--write", "ranked", *model],
        ]
    program = f"""
import sys
from charlm.cli import app
for command in {commands!r}:
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
    rows = [line for line in done.stdout.splitlines() if line[1:2] == "\t"]
    assert [row[0] for row in rows] == ["u", "u", "v", "v"] * 2
    assert [row[-2:] for row in rows[2::4]] == ["\tc"] * 2  # the shorter hypothesis
