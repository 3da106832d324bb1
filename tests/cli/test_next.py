"""The output of `charlm next`: a table on stdout, how the words were read on stderr."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["next", *arguments])


def test_models_stand_side_by_side(run: Path, corpus_dir: Path, tmp_path: Path) -> None:
    arpa = tmp_path / "kn.arpa"
    charlm.ngram_baseline(data=corpus_dir, order=2, out=arpa)
    result = ask("the", "zebra", "-k", "2", "--model", str(run), "--lm", str(arpa))
    of_run, of_lm = charlm.next_words("the zebra", model=run, lm=arpa, k=2)
    assert (result.exit_code, result.stderr) == (
        0,
        "after: <s> the zebra*\n* not in the vocabulary\n",
    )
    header, *rows = result.stdout.splitlines()
    assert header.split() == ["first", "kn.arpa"]
    assert [row.split() for row in rows] == [
        [a.word, f"{a.probability:.4f}", b.word, f"{b.probability:.4f}"]
        for a, b in zip(of_run.likeliest, of_lm.likeliest, strict=True)
    ]


def test_the_newest_run_says_how_sentences_begin(run: Path) -> None:
    result = ask("-k", "3")
    assert result.stderr == f"model: {run}\nafter: <s>\n"
    assert len(result.stdout.splitlines()) == 4


def test_json_holds_what_the_library_returns(run: Path) -> None:
    result = ask("the", "cat", "--model", str(run), "--json")
    found = charlm.next_words("the cat", model=run)
    assert json.loads(result.stdout) == {"models": [each.to_dict() for each in found]}
    assert result.stderr == ""
