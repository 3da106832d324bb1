"""The output of `charlm tune`: weights, and how far they can be trusted."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import charlm
from charlm.cli import app
from charlm.cli.tune import tune


@pytest.fixture(autouse=True)
def at_home(at_home: Path) -> Path:
    """A folder with lists, references and the run `exp/first`."""
    dev = "".join(f"{i}\t-1\ta dog\n{i}\t-{i % 2}\tthe cat\n" for i in range(8))
    Path("dev.tsv").write_text(dev)
    Path("dev.refs").write_text("".join(f"{i} {['a dog', 'the cat'][i // 4]}\n" for i in range(8)))
    Path("lists.tsv").write_text("a\t-1\ta dog\na\t0\tthe cat\nb\t-1\tthe dog\n")
    return at_home


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--device", "cpu", "--threads", "1"])


def test_it_tells_the_weights_and_whether_they_pay() -> None:
    options = ["--refs", "dev.refs", "--out", "w.json", "--folds", "4", "--tuned", "c2,nn"]
    result = call("tune", "dev.tsv", *options, "--model", "exp/first")
    assert (result.exit_code, result.stderr.count("\n")) == (0, 1)
    assert result.stderr.startswith("note: nn hardly matters: without it the rate rises by 0.1 %")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("lists: 8, 16 hypotheses, 32 words; format tsv; ")
    (header,) = (n for n, line in enumerate(lines) if line.startswith("feature"))
    assert lines[header].split() == ["feature", "weight", "flat", "from", "to"]
    assert lines[header + 1].split()[0] == "c2"
    assert lines[header + 3].startswith("tuned on 8 lists: 50.00 % first, ")
    assert any(line.startswith("tuning does not pay: lists that it has not seen") for line in lines)
    assert lines[-1] == "nn: exp/first"
    assert json.loads(Path("w.json").read_text())["weights"].keys() == {"c2", "nn"}


def test_a_column_that_repeats_another_is_told_and_not_tuned() -> None:
    rows = [line.split("\t") for line in Path("dev.tsv").read_text().splitlines()]
    table = "".join(f"{id}\t{am}\t{am}\t{text}\n" for id, am, text in rows)
    Path("twice.tsv").write_text(f"id\tam\tagain\ttext\n{table}")
    told = call("tune", "twice.tsv", "--refs", "dev.refs", "--folds", "0").stdout.splitlines()
    (row,) = (line.split(maxsplit=4) for line in told if line.startswith("again "))
    assert row == ["again", "0", "0", "0", "always equals am, whose weight is tuned for both"]


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_of_scores_what_is_minimised_is_told(name: str) -> None:
    told = call("tune", "dev.tsv", "--refs", "dev.refs", "--folds", "0", "--metric", name).stdout
    alone = "not cross-validated: too good for other lists"
    pattern = rf"^tuned on 8 lists: .* % tuned, {alone}; 1 - {name}\|.*\bnrefs:1\|"
    assert re.search(pattern, told, re.M)


def test_without_a_model_and_a_file_the_weights_are_told(at_home: Path) -> None:
    result = call("tune", "dev.tsv", "--refs", "dev.refs", "--folds", "0")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()[1:5]] == [
        *("feature", "c2", "words", "oov")
    ]
    assert sorted(path.name for path in at_home.iterdir()) == [
        *("dev.refs", "dev.tsv", "exp", "lists.tsv")
    ]


def test_json_is_what_the_library_returns() -> None:
    result = call("tune", "dev.tsv", "--refs", "dev.refs", "--restarts", "1", "--json")
    again = charlm.tune("dev.tsv", refs="dev.refs", restarts=1).to_dict()
    found = json.loads(result.stdout)
    assert found | {"seconds": 0} == json.loads(json.dumps(again | {"seconds": 0}))


def test_the_examples_in_the_help_work() -> None:
    examples = re.findall(r"^ *charlm (.*)$", tune.__doc__ or "", re.M)
    assert [example.split()[0] for example in examples] == ["tune", "score"]
    for example in examples:
        result = call(*shlex.split(example))
        assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 3


def test_weights_are_not_reported_on_the_lists_of_their_tuning() -> None:
    call("tune", "dev.tsv", "--refs", "dev.refs", "--out", "w.json", "--folds", "0")
    options = ["score", "dev.tsv", "--refs", "dev.refs", "--weights", "w.json", "--write", "none"]
    result = call(*options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("charlm: w.json: tuned on lists that are reported on here (8 o")
    assert call(*options, "--allow-test-tuning").exit_code == 0


@pytest.mark.parametrize(("n_lists", "is_chance"), [(8, True), (16, False)])
def test_a_gain_that_may_be_chance_is_called_so(n_lists: int, is_chance: bool) -> None:
    rows, refs = "", ""
    for i in range(n_lists):  # the third column marks the right one; half of the firsts are wrong
        dog, cat = (0, -9) if i % 2 else (-9, 0)
        rows += f"{i}\t-1\t{dog}\ta dog\n{i}\t-2\t{cat}\tthe cat\n"
        refs += f"{i} {'a dog' if i % 2 else 'the cat'}\n"
    Path("dev.tsv").write_text(rows)
    Path("dev.refs").write_text(refs)
    lines = call("tune", "dev.tsv", "--refs", "dev.refs", "--columns", "id,a,b,text").stdout
    assert "difference: -50.00 %" in lines
    assert ("no gain beyond chance: as large a gain" in lines) == is_chance
    assert ("lists: 8; intervals from fewer than 10 say nothing" in lines) == is_chance


def test_recordings_are_counted_where_they_are_the_units() -> None:
    rows = (f"{i}\tr{i % 3}\t-1\t0\ta\n{i}\tr{i % 3}\t-2\t9\tb\n" for i in range(30))
    Path("dev.tsv").write_text("".join(rows))
    Path("dev.refs").write_text("".join(f"{i} b\n" for i in range(30)))
    given = ["--columns", "id,recording,a,b,text"]
    lines = call("tune", "dev.tsv", "--refs", "dev.refs", *given).stdout.splitlines()
    assert (
        "cross-validated, difference: -100.00 %, 95 % interval -100.00 % to -100.00 %, p = 0.25 "
        "(matched pairs of 3 recordings)"
    ) in lines
    assert "recordings: 3; intervals from fewer than 10 say nothing" in lines


def test_no_tuning_is_advised_beside_weights_that_were_tuned() -> None:
    tuning = ["--refs", "dev.refs", "--folds", "0", "--tuned", "c2", "--out", "w.json"]
    assert call("tune", "dev.tsv", *tuning).exit_code == 0
    result = call("score", "lists.tsv", "--weights", "w.json", "--write", "none")
    assert "without a weight: words, oov" in result.stdout.splitlines()


def test_the_help_names_every_feature_that_is_not_of_the_list() -> None:
    Path("text.txt").write_text("the cat\na dog\n")
    charlm.ngram_baseline(train="text.txt", order=2, out="kn.arpa")
    models = {"model": ["exp/first"] * 2, "lm": ["kn.arpa"] * 2}
    tuned = charlm.tune("dev.tsv", refs="dev.refs", folds=0, threads=1, **models)
    shown = CliRunner().invoke(app, ["tune", "--help"]).output
    told = shown.partition("--weight NAME=NUMBER")[2].partition("--encoding")[0]
    assert set(tuned.weights.values) - {"c2"} <= set(re.findall(r"\w+", told))
