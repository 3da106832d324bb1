"""The whole output of `charlm table`, in its three layouts."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from charlm.cli import app

KINDS = ("", ":percent", ":from", ":to", ":deviation")
SIGNATURE = "charlm:0|train:{0}|vocab:0|data:{0}|split:test|state:sentence"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two comparisons: one with a model, one of an older charlm without."""
    paths = []
    for name, ppls, sizes in (
        ("cs", {"KN-5": 200.0, "char": 150.0}, {"n_characters_of_vocabulary": 46}),
        ("de|at", {"KN-5": 61.234}, {}),
    ):
        signature = SIGNATURE.format(name.encode().hex())
        systems = [
            {"name": n, "carried": {"ppl": p, "signature": signature}} for n, p in ppls.items()
        ]
        interval = {"ratio_low": 0.7, "ratio_high": 0.8}
        pairs = [{"first": n, "second": "KN-5", "carried": interval} for n in list(ppls)[1:]]
        group = {
            "n_words_of_vocabulary": 1000,
            "n_tokens": 70,
            "vocabulary_sha256": "0" * 64,
            "systems": systems,
            "differences": pairs,
            **sizes,
        }
        paths.append(tmp_path / f"{len(paths)}.json")
        paths[-1].write_text(json.dumps({"data": f"sets/{name}", "groups": [group]}))
    return list(map(str, paths))


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["table", *arguments])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_json_has_no_other_layout(files: list[str]) -> None:
    refused = CliRunner().invoke(app, ["table", *files, "--json", "--format", "tsv"])
    assert refused.exit_code == 1
    assert refused.stderr == "charlm: --json and --format tsv: expected one; drop either\n"


def test_where_no_interval_was_drawn_none_is_promised(files: list[str]) -> None:
    value = json.loads(Path(files[0]).read_text())
    value["groups"][0]["differences"] = []
    Path(files[0]).write_text(json.dumps(value))
    told = (
        "change from KN-5 in per cent; no interval: no model was compared with it in one call, or "
        "by an older charlm"
    )
    assert f"\n{told}\n         cs  de|at\nchar  -25.0      -\n" in printed(*files)
    assert f"{told}." in printed(*files, "--format", "markdown")


def test_the_table_for_the_eye(files: list[str]) -> None:
    assert printed(*files) == (
        "            cs  de|at\n"
        "V         1000   1000\n"
        "C           46      -\n"
        "M            -      -\n"
        "T            -      -\n"
        "tokens      70     70\n"
        "KN-5    200.00  61.23\n"
        "char    150.00      -\n"
        "\n"
        "change from KN-5 in per cent, with its 95 % interval\n"
        "      cs                  de|at\n"
        "char  -25.0[-30.0,-20.0]      -\n"
        "\n"
        "ppl of the test text, or of the part behind a colon, state carried; V words, C "
        "characters and M morphs of the vocabulary, T tokens of train, tokens of the text\n"
        "signature of KN-5 on cs: charlm:0|train:6373|vocab:0|data:6373|split:test|state:sentence\n"
        "signature of char on cs: charlm:0|train:6373|vocab:0|data:6373|split:test|state:sentence\n"
        "signature of KN-5 on de|at: charlm:0|train:64657c6174|vocab:0|data:64657c6174|split:test|"
        "state:sentence\n"
    )


def test_the_table_for_a_page(files: list[str]) -> None:
    lines = printed(*files, "--format", "markdown").splitlines()
    assert lines[:3] == ["|  | cs | de\\|at |", "|---|---|---|", "| V | 1000 | 1000 |"]
    assert lines[7:9] == [
        "| KN-5 | 200.00 | 61.23 |",
        "| char | 150.00 (−25.0 %; −30.0 to −20.0) | - |",
    ]
    assert lines[-1].endswith(
        ". V words, C characters and M morphs of the vocabulary, T tokens of train, tokens of the "
        "text."
    )


def test_the_table_for_a_spreadsheet(files: list[str]) -> None:
    rows = [line.split("\t") for line in printed(*files, "--format", "tsv").splitlines()]
    assert {len(row) for row in rows} == {9}
    assert rows[2:4] == [["C", "46", *[""] * 7], ["M", *[""] * 8]]  # else no column of numbers
    assert rows[0][:5] == ["model", "cs", "cs:percent", "cs:from", "cs:to"]
    assert rows[-1] == ["char", "150", "-25", "-30", "-20", "", "", "", ""]


def test_the_table_for_a_program(files: list[str]) -> None:
    value = json.loads(printed(*files, "--json"))
    assert [column["name"] for column in value["columns"]] == ["cs", "de|at"]
    assert value["columns"][0]["cells"]["char"]["percent"] == -25


def test_next_to_nothing_less_is_no_minus(files: list[str]) -> None:
    path = Path(files[0])
    path.write_text(path.read_text().replace("150.0", "199.99"))
    assert "char  +0.0[-30.0,-20.0]" in printed(*files)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.99, 0.9997, "-0.50[-1.00,-0.03]"), (0.99984, 1.001, "-0.50[-0.02,+0.10]")],
)
def test_an_end_of_an_interval_that_is_not_zero_is_not_shown_as_zero(
    files: list[str], low: float, high: float, shown: str
) -> None:
    path = Path(files[0])
    value = json.loads(path.read_text().replace("150.0", "199.0"))
    value["groups"][0]["differences"][0]["carried"] = {"ratio_low": low, "ratio_high": high}
    path.write_text(json.dumps(value))
    assert f"char  {shown}" in printed(*files)
    percent, ends = shown.rstrip("]").replace("-", "\u2212").split("[")
    told = f"({percent} %; {ends.replace(',', ' to ')})"
    assert told in printed(*files, "--format", "markdown")


def test_trainings_with_several_seeds_have_a_mean_with_its_deviation(files: list[str]) -> None:
    value = json.loads(Path(files[0]).read_text())
    figures = {"mean": 150.5, "deviation": 2.25}
    value["groups"][0]["seeds"] = [{"systems": ["char", "char2"], "carried": figures}]
    Path(files[0]).write_text(json.dumps(value))
    told = "; NAME… and ±: mean and standard deviation of trainings that differ in their seed alone"
    text = printed(*files)
    assert "\nchar    150.00           -\nchar…   150.50±2.25      -\n" in text
    assert "\nchar…  -24.8                   -\n" in text
    assert f"state carried{told}; V words" in text
    markdown = printed(*files, "--format", "markdown")
    assert "\n| char… | 150.50±2.25 (−24.8 %) | - |\n" in markdown
    assert f"95 % interval{told}. V words" in markdown
    lines = printed(*files, "--format", "tsv").splitlines()
    names = [f"{name}{kind}" for name in ("cs", "de|at") for kind in KINDS]
    assert lines[0].split("\t") == ["model", *names]
    assert lines[-1].split("\t") == ["char…", "150.5", "-24.75", "", "", "2.25", *[""] * 5]
    assert {len(line.split("\t")) for line in lines} == {11}
