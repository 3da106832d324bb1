"""`charlm train --list`: figures as on the recipe's pages, settings as in a run."""

import json
import re
import sys
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner, Result

from charlm.cli import app
from charlm.cli.printing.preset_list import show_presets
from charlm.presets import PAPERS, PRESETS
from charlm.presets.listing import FIGURES, preset_facts
from charlm.settings import Meaning, Settings, merged, options_of, parse_override
from charlm.training.planning.preset_settings import PARTS, all_settings
from charlm.training.recipe.recipe import FAMILIES, Recipe

PTB = Path(__file__).resolve().parents[1] / "recipes" / "ptb"
ALL_PRESETS = (PTB / "all-presets.md").read_text()
MEASURED, PUBLISHED, TIME = "test, state carried", "published", "time"
SENTENCE = "test, by sentence"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["train", *arguments])


def tables(text: str) -> list[list[dict[str, str]]]:
    """The tables of a page, each row by its column's head."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [
            [cell.strip(" *") for cell in line.strip("|\n").split("|")]
            for line in block.splitlines()
        ]
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def results() -> dict[str, list[dict[str, str]]]:
    """What the pages measured of each preset; `the same ...` is the preset of the row above."""
    pages = [(PTB / name).read_text() for name in ("README.md", "papers-claims.md")]
    rows: dict[str, list[dict[str, str]]] = {}
    name = ""
    for row in (row for table in tables("\n".join(pages)) for row in table if "preset" in row):
        first = re.match(r"[a-z0-9-]+", row["preset"])
        if first is not None and first[0] in PRESETS and "mixed" not in row["preset"]:
            name = first[0]
        elif not row["preset"].startswith("the same"):
            continue
        rows.setdefault(name, []).append(row)
    return rows


RESULTS = results()


def number(cell: str) -> float | None:
    return float(cell) if cell else None


def test_the_pages_and_the_list_have_measured_the_same_presets() -> None:
    assert {name for name, each in FIGURES.items() if each.measured is not None} == set(RESULTS)
    assert set(FIGURES) == set(PRESETS), "FIGURES of charlm/presets/listing.py"


@pytest.mark.parametrize("name", RESULTS)
def test_a_measured_figure_is_that_of_the_recipes_pages(name: str) -> None:
    of_page = [
        (number(row[PUBLISHED]), float(row.get(MEASURED) or row[SENTENCE])) for row in RESULTS[name]
    ]
    figures = FIGURES[name]
    assert (figures.published, figures.measured) in of_page
    row = RESULTS[name][of_page.index((figures.published, figures.measured))]
    epochs = re.search(r"\d+ of \d+ epochs", row["preset"])
    time, told, n_epochs = figures.time.partition(f", {epochs[0]}" if epochs else "\n")
    assert bool(told) == bool(epochs) and not n_epochs
    assert time == row[TIME]


def test_every_preset_has_its_parameters_on_the_recipes_page() -> None:
    looks = next(table for table in tables(ALL_PRESETS) if "tokens/s, one CPU thread" in table[0])
    on_page = {row["preset"]: int(row["parameters"].replace(",", "")) for row in looks}
    not_run = ALL_PRESETS.split("\nNot run for three epochs:")[1].split("\n\n")[0]
    untried = {name for name in PRESETS if re.search(rf"\b{name}\b(?!-)", not_run)}
    known = PRESETS.keys() - untried
    assert on_page.keys() == known, "recipes/ptb/all-presets.md: the table, or Not run"
    assert {name: FIGURES[name].n_parameters for name in on_page} == on_page


def test_the_list_has_every_preset_under_its_paper_with_its_figures() -> None:
    printed = run("--list")
    assert printed.exit_code == 0
    lines = printed.output.splitlines()
    assert [paper for paper in PAPERS if any(line.startswith(paper) for line in lines)] == [*PAPERS]
    rows = {line.split()[0]: line for line in lines if line and line.split()[0] in PRESETS}
    assert list(rows) == list(PRESETS)
    end, model = lines[0].index("published"), lines[0].index("model")
    sizes = [row[:end].split()[1:] for row in rows.values()]
    assert sizes == [[f"{f.n_parameters:,}"] for f in preset_facts()]
    assert [row[model:] for row in rows.values()] == [f.model for f in preset_facts()]
    assert " 5,312,530      92.30    91.99  97 min, CPU" in rows["char-small"]
    assert rows["char-small"].endswith(" highway(char-cnn), lstm 2x300")
    assert rows["gru"].split() == ["gru", "4,491,200", "-", "-", "-", "word,", "gru", "2x200"]
    assert json.loads(run("--list", "--json").output) == [f.to_dict() for f in preset_facts()]


@pytest.mark.parametrize("name", ["", "word-char-modern"])
def test_a_narrow_terminal_gets_the_words_below_the_figures_and_loses_none(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show_presets(name, given={})
    words = capsys.readouterr().out.replace(";", "").split()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for columns in (80, 170):
        monkeypatch.setenv("COLUMNS", str(columns))
        show_presets(name, given={})
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= columns
        assert {*shown.replace(";", "").split()} >= {*words}
    assert not re.search(r"\n {4}\S", shown)  # room beside the figures


def test_a_narrow_terminal_gets_two_lines_for_a_preset(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    show_presets("", given={})
    shown = capsys.readouterr().out
    assert (
        "\nchar-small                        5,312,530      92.30    91.99\n"
        "    97 min, CPU; highway(char-cnn), lstm 2x300\n"
    ) in shown
    assert (
        "\nmorph-small                       5,653,200          -        -\n    morph, lstm"
        in shown
    )


def test_the_settings_of_one_preset_are_what_a_run_stores_as_set_takes_them() -> None:
    for arguments in (("--list", "word-char-modern"), ("--list=word-char-modern",)):
        lines = run(*arguments).stdout.splitlines()
        together: Settings = {}
        for line in lines:
            together = merged(together, parse_override(line.split("  ")[0]))
        assert together == all_settings("word-char-modern")
    settings = {line.split("  ")[0] for line in lines}
    assert "recipe.optimiser.betas=[0.0,0.999]" in settings
    assert "context.zoneout=0.0" in settings  # a default that the preset does not name


def test_the_parts_that_can_stand_instead_are_told_beside_the_settings() -> None:
    told = run("--list", "char-large", "--set", "context.type=gru").stderr.splitlines()
    named = dict(line.split(".type: ") for line in told[1:])
    families = {**PARTS, **{f"recipe.{name}": family for name, family in FAMILIES.items()}}
    assert {path: names.split(", ") for path, names in named.items()} == {
        path: [*family.table] for path, family in families.items()
    }


def test_a_part_of_another_type_starts_from_its_own_defaults() -> None:
    lines = run("--list", "char-large", "--set", "context.type=gru").stdout.splitlines()
    assert "context.dim=300" in [line.split("  ")[0] for line in lines]  # not char-large's 650


def test_a_setting_stands_beside_its_range_and_its_meaning() -> None:
    lines = [re.split("  +", line) for line in run("--list", "char-small").stdout.splitlines()]
    rows = {line[0]: line[1:] for line in lines}
    assert rows["context.dropout=0.5"] == [
        "0 to 0.999",
        "share of each layer's output zeroed in training",
    ]
    assert rows["encoder.encoder.widths=[1,2,3,4,5,6]"][0] == "each 1 to 64"
    assert rows["recipe.divisor=streams"][0] == "streams, tokens"
    assert rows["recipe.optimiser.nesterov=false"][0] == "true, false"
    assert rows["recipe.optimiser.type=sgd"] == [
        "Stochastic gradient descent (Kim et al., 2016: rate 1, nothing else)."
    ]
    assert rows["recipe.clip=5.0"][0] == "0 to 1,000,000,000"


def test_the_settings_are_listed_where_docstrings_are_stripped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for family in PARTS.values():
        for part in family.table.values():
            monkeypatch.setattr(part, "__doc__", None)  # as by PYTHONOPTIMIZE=2
    result = run("--list", "char-small")
    assert result.exit_code == 0
    assert result.stderr.startswith("parts for --set")
    assert "context.type=lstm" in result.stdout.split()


def test_a_setting_is_described_where_it_is_null_and_where_its_bound_is_close_to_1() -> None:
    changes = ("--set", "recipe.averaging.decay=0.9999999")
    output = run("--list", "word-ngram-modern", *changes).stdout
    rows = {line[0]: line[1:] for line in (re.split("  +", each) for each in output.splitlines())}
    assert rows["recipe.averaging.decay=0.9999999"][0] == "0 to 0.9999999"
    assert rows["output.encoder=null"] == [
        "a part, or null",
        "encoder of the word vectors; null: that of the input",
    ]


def test_the_settings_of_a_preset_are_shown_as_set_changes_it() -> None:
    changes = ("--set", "context.type=gru", "--set", "context.reset=after")
    lines = [re.split("  +", line) for line in run("--list", "rnn", *changes).stdout.splitlines()]
    rows = {line[0]: line[1:] for line in lines}
    assert rows["context.reset=after"][0] == "before, after"
    assert "context.type=rnn" not in rows
    assert json.loads(run("--list", "rnn", *changes, "--json").stdout)["context"]["type"] == "gru"


def test_the_settings_of_a_preset_are_shown_as_options_of_their_own_change_it() -> None:
    options = ("--epochs", "3", "--batch-size", "7", "--bptt", "9", "--lr", ".5", "--for")
    recipe = json.loads(run("--list", "char-small", *options, "sentences", "--json").stdout)[
        "recipe"
    ]
    assert [recipe[name] for name in ("epochs", "batch_size", "bptt")] == [3, 7, 9]
    assert (recipe["optimiser"]["lr"], recipe["batching"]["reset"]) == (0.5, 0.5)
    failed = run("--list", "char-small", "--epochs", "0")
    assert (failed.exit_code, failed.output) == (
        1,
        "charlm: option 'epochs' of recipe is 0; expected 1 to 100000\n",
    )
    failed = run("--list", "char-small", "--for", "sentence")
    assert failed.exit_code == 2
    assert failed.output.endswith("'--for': 'sentence' is not one of 'sentences'.\n")


def test_an_option_holds_for_the_part_that_is_named_after_it_as_in_a_training() -> None:
    changes = ("--set", "context.dim=77", "--set", "context.type=gru")
    context = json.loads(run("--list", "char-small", *changes, "--json").stdout)["context"]
    assert (context["type"], context["dim"]) == ("gru", 77)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        (["output.type=adaptive"], "output.cutoffs=[]"),
        (["output.type=adaptive", "output.cutoffs=2000,4000"], "output.cutoffs=[2000,4000]"),
        (["output.type=class", "output.classes=100"], "output.classes=100"),
    ],
)
def test_what_follows_from_words_is_neither_shown_nor_refused(
    changes: list[str], shown: str
) -> None:
    sets = [argument for change in changes for argument in ("--set", change)]
    lines = run("--list", "char-small", *sets).stdout.splitlines()
    assert shown in [line.split("  ")[0] for line in lines]


def test_a_change_that_makes_no_model_is_one_line() -> None:
    failed = run("--list", "char-small", "--set", "context.type=nix")
    assert failed.exit_code == 1
    assert "unknown context 'nix'" in failed.output


def part_options() -> list[tuple[str, object]]:
    parts = {**PARTS, **FAMILIES}
    listed = [(f, n, part) for f, family in parts.items() for n, part in family.table.items()]
    return [
        (f"{family} {name}: {option}", annotation)
        for family, name, part in [*listed, ("recipe", "", Recipe)]
        for option, (annotation, _) in options_of(part).items()
    ]


def test_every_setting_of_every_part_has_a_meaning() -> None:
    without = [
        name
        for name, annotation in part_options()
        if not any(isinstance(each, Meaning) for each in get_args(annotation))
    ]
    inner = {"encoder", "word", "char", *FAMILIES}  # names of parts, which have meanings themselves
    assert [name for name in without if name.split(": ")[1] not in inner] == []


def test_a_misspelt_preset_gets_the_nearest() -> None:
    failed = run("--list", "char-lage")
    assert failed.exit_code == 1
    assert "did you mean char-large?" in failed.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--list rnn --arch char-small", "--arch: says nothing beside --list rnn; drop it"),
        (
            "--list --for sentences",
            "--for: says nothing beside --list; drop it, or name a preset (--list NAME)",
        ),
    ],
)
def test_an_option_that_changes_nothing_of_what_is_listed_is_refused(
    arguments: str, told: str
) -> None:
    failed = run(*arguments.split())
    assert (failed.exit_code, failed.output) == (1, f"charlm: {told}\n")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_shows_all_its_settings(name: str) -> None:
    settings = all_settings(name)
    assert merged(settings, PRESETS[name]) == settings
