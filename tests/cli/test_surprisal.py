"""`charlm surprisal` from the user's side: tables that other programs can read."""

import csv
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.printing import output
from charlm.cli.surprisal import surprisal

ODD = ['"', "#", "NA", "null", "say", '"no"', "'", "\\", "a,b", "\u00a0"]
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?|NA")


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["surprisal", "--device", "cpu", *arguments])


def test_odd_words_come_back_as_they_were_written(run: Path) -> None:
    Path("a.txt").write_text("the cat\n" + " ".join(ODD) + "\n")
    result = ask("a.txt", "--entropy", "--previous", "1")
    assert (result.exit_code, result.stderr.split("\n")[0]) == (0, f"model: {run}")
    header, *rows = csv.reader(io.StringIO(result.stdout, newline=""), "excel-tab", strict=True)
    assert [row[header.index("word")] for row in rows] == ["the", "cat", *ODD]
    assert len({len(row) for row in rows}) == 1
    for name in ("item", "position", "surprisal", "entropy", "surprisal_prev1", "zipf"):
        assert all(NUMBER.fullmatch(row[header.index(name)]) for row in rows), name
    assert {row[header.index("known")] for row in rows} == {"TRUE", "FALSE"}
    assert [row[header.index("surprisal_prev1")] for row in rows].count("NA") == 2
    assert "nan" not in result.stdout


def test_the_whole_table_of_one_word(run: Path) -> None:
    Path("a.csv").write_text('cond,sentence\n"x ""y""","cat"\n')
    result = ask("a.csv", "--model", str(run))
    (item,) = charlm.surprisal("a.csv", model=run, device="cpu").items
    word = item.by_model[0].words[0]
    assert result.stdout == (
        "item\tcond\tposition\tword\ttokens\tknown\tlength\tcount\tzipf\tsurprisal\n"
        f'1\t"x ""y"""\t1\tcat\t1\tTRUE\t3\t4\t{word.zipf:.9g}\t{word.surprisal:.9g}\n'
    )


def test_the_layout_of_lm_zoo(run: Path) -> None:
    Path("a.txt").write_text("the cat\na dog\n")
    header, *rows = ask("a.txt", "--layout", "lm-zoo").stdout.splitlines()
    assert header == "sentence_id\ttoken_id\ttoken\tsurprisal"
    assert [row.split("\t")[:3] for row in rows] == [
        ["1", "1", "the"],
        ["1", "2", "cat"],
        ["2", "1", "a"],
        ["2", "2", "dog"],
    ]
    refused = ask("a.txt", "--layout", "lm-zoo", "--model", str(run), "--lm", "x.arpa")
    assert (refused.exit_code, refused.stdout) == (1, "")


def test_json_is_what_the_library_returns(run: Path) -> None:
    Path("a.txt").write_text("the zebra\n")
    value = json.loads(ask("a.txt", "--json", "--entropy").stdout)
    table = charlm.surprisal("a.txt", model=run, device="cpu", entropy=True)
    assert value == table.to_dict()
    assert list(value) == ["models", "notes", "columns", "rows", "ends"]
    assert value["rows"][1][:5] == [1, 2, "zebra", 1, False]


def test_what_there_is_to_mind_goes_to_stderr(run: Path) -> None:
    Path("a.txt").write_text("the zebra\n")
    result = ask("a.txt", "--model", str(run))
    assert "note: first: 1 of 2 words (50.0%) are unknown" in result.stderr
    assert "note" not in result.stdout


def test_a_terminal_gets_columns_with_few_digits(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.txt").write_text('"the cat\n')
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    header, *rows = ask("a.txt", "--previous", "1").stdout.partition("\n\n")[0].splitlines()
    assert header.split()[:3] == ["item", "position", "word"]
    assert [row.split()[:3] for row in rows] == [["1", "1", '"the'], ["1", "2", "cat"]]
    (item,) = charlm.surprisal("a.txt", model=run, device="cpu").items
    bits = [f"{word.surprisal:.3f}" for word in item.by_model[0].words]
    assert [row.split()[-1] for row in rows] == bits


def test_notes_on_pairs_go_to_stderr(run: Path, save_unigrams: Callable[..., Path]) -> None:
    arpa = save_unigrams(Path("uni.arpa").absolute(), end=-1, a=-1)
    Path("p.csv").write_text("sentence_good,sentence_bad\nthe cat,a cat\n")
    result = ask("p.csv", "--pairs", "--model", str(run), "--lm", str(arpa))
    assert "note: each model is judged by the pairs whose differing words it " in result.stderr
    assert "note" not in result.stdout


def test_pairs_are_judged_in_a_table_and_as_json(run: Path) -> None:
    pairs = [("the cat sat", "cat the sat"), ("a dog", "a zebra")]
    keys = ("sentence_good", "sentence_bad", "UID", "linguistics_term")
    Path("p.jsonl").write_text(
        "".join(json.dumps(dict(zip(keys, (*p, "u", "t"), strict=True))) + "\n" for p in pairs)
    )
    lines = ask("p.jsonl", "--pairs").stdout.splitlines()
    assert lines[0] == "model  by    name  pairs  right  ties  unknown  accuracy  95 %"
    assert [line.split()[1:4] for line in lines[1:]] == [
        ["set", "u", "2"],
        ["term", "t", "2"],
        ["-", "all", "2"],
    ]
    value = json.loads(ask("p.jsonl", "--pairs", "--json").stdout)
    result = charlm.minimal_pairs("p.jsonl", model=run, device="cpu")
    assert value == result.to_dict()
    rows = [
        line.split("\t") for line in ask("p.jsonl", "--pairs", "--each-pair").stdout.splitlines()
    ]
    assert rows[0] == ["item", *keys, "surprisal_good", "surprisal_bad", "judged"]
    assert [row[:5] for row in rows[1:]] == [["1", *pairs[0], "u", "t"], ["2", *pairs[1], "u", "t"]]
    judged = [(*map(float, row[5:7]), row[7]) for row in rows[1:]]
    assert judged == [(pytest.approx(a), pytest.approx(b), o) for *_, a, b, o in result.rows()]


def test_each_part_of_the_table_of_pairs_says_which_set(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("p.csv").write_text("sentence_good,sentence_bad\nthe cat,a cat\n")
    monkeypatch.setattr(output, "terminal_width", lambda: 40)
    parts = ask("p.csv", "--pairs").stdout.split("\n\n")
    assert len(parts) > 1
    for part in parts:
        named = [line.split()[1:3] for line in part.splitlines()]
        assert named == [["by", "name"], ["set", "p.csv"], ["-", "all"]]


def test_a_column_with_a_name_of_ours_is_told_where_pairs_have_rows(run: Path) -> None:
    Path("p.csv").write_text("item,sentence_good,sentence_bad\n7,the cat,a cat\n")
    result = ask("p.csv", "--pairs", "--each-pair")
    assert "note: column 'item' is called 'given_item' here\n" in result.stderr
    assert result.stdout.startswith("item\tgiven_item\tsentence_good\t")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs", "--entropy"], "--entropy: says nothing with --pairs; drop it"),
        (["--pairs", "--layout", "lm-zoo"], "--layout: says nothing with --pairs; drop it"),
        (["--pair-columns", "a,b"], "--pair-columns: says nothing without --pairs; drop it"),
        (
            ["--layout", "lm-zoo", "--previous", "1"],
            "--previous: says nothing with --layout lm-zoo",
        ),
        (["--each-pair"], "--each-pair: says nothing without --pairs; drop it"),
        (["--pairs", "--each-pair", "--json"], "--json and --each-pair: expected one of them; dr"),
        (["--layout", "lm-zoo", "--json"], "--json and --layout lm-zoo: expected one of them; dr"),
    ],
)
def test_an_option_that_would_say_nothing_is_refused(
    arguments: list[str], message: str, run: Path
) -> None:
    refused = ask("p.jsonl", *arguments)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"charlm: {message}")


def test_the_example_in_the_help_works(run: Path) -> None:
    Path("items.csv").write_text("sentence,cond\nthe cat sat,1\n")
    example = (surprisal.__doc__ or "").rpartition("\b")[2].strip()
    result = CliRunner().invoke(app, shlex.split(example)[1:])
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 4
