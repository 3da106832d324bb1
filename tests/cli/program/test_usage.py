"""What is refused before a command runs: wrong values, superfluous values, misspelled names."""

import shlex
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperOption
from typer.main import get_command
from typer.testing import CliRunner

from charlm.cli import app
from charlm.cli.program.guesses import GUESSED_COMMANDS
from charlm.cli.program.usage import Command

TWICE = "found twice; expected once: the first would be dropped"
TWO_READERS = "standard input: named twice; expected it once, since it is read once"
SPLITS = "'train', 'valid', 'test'"


def commands() -> dict[str, TyperCommand]:
    """All commands, including those of groups, such as `bench train`."""
    found = dict(get_command(app).commands)
    inner = found.pop("bench").commands
    return found | {f"bench {name}": command for name, command in inner.items()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["eval", "--format", "csv"],
            "'--format': 'csv' is not one of 'srilm', 'kenlm', 'jsonl', ",
        ),
        (["eval", "--split", "dev"], f"'--split': 'dev' is not one of {SPLITS}."),
        (["bench", "prep", "--seed", "x"], "'--seed': Input should be a valid integer, unable to "),
        (["bench", "train", "--precision", "x"], "'--precision': 'x' is not one of 'auto', 'fp"),
    ],
)
def test_a_value_that_is_none_of_an_options_is_told_in_plain_words(
    arguments: list[str], message: str
) -> None:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Error: Invalid value for {message}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["prep", "raw.txt", "--out", ""], "--out"),
        (["eval", "text", "--model="], "--model"),
        (["score", "lists/a.tsv", "--out", ""], "--out"),
        (["eval", "text", ""], "FILE"),
        (["vocab", "--data", "c", "--against", "text", "--against", ""], "--against"),
    ],
)
def test_an_empty_path_is_refused(arguments: list[str], name: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"charlm: {name} '': expected a path; is the variable set?\n"


def refuses_twice(command: TyperCommand, option: TyperOption) -> bool:
    spelling = max(option.opts, key=len)
    first, second, *_ = option.type_descriptor.choices or ("1", "2")
    try:
        command.make_context("it", [spelling, first, f"{spelling}={second}"])
    except typer.BadParameter as error:
        return error.format_message() == f"Invalid value for '{spelling}': {TWICE}"
    return False


@pytest.mark.parametrize(
    ("name", "once"),
    [
        (
            "eval",
            {
                *("--model", "--data", "--split", "--map", "--encoding"),
                *("--device", "--gpus", "--adapt-rates"),
            },
        ),
        ("nn", {"--model", "--analogy", "--vectors", "--device"}),
        (
            "mix",
            {
                *("--data", "--split", "--tune", "--text", "--weights", "--arpa"),
                *("--encoding", "--device"),
            },
        ),
        ("bench kn", {"--data", "--prune", "--lmplz"}),
    ],
)
def test_an_option_that_names_something_is_refused_where_it_comes_twice(
    name: str, once: set[str]
) -> None:
    command = commands()[name]
    options = [o for o in command.params if isinstance(o, TyperOption) and not o.is_flag]
    assert {max(o.opts, key=len) for o in options if refuses_twice(command, o)} == once


def test_every_command_refuses_such_options() -> None:
    assert {type(command) for command in commands().values()} == {Command}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("sample 3", "found '3' alone; expected options; say -n 3\n"),
        ("train 3", "found '3' alone; expected options; say --epochs 3\n"),
        ("train --data d --resume run", "alone; expected options; say --out run --resume\n"),
        (
            "train --set context.dim 9",
            "found '9' alone; expected options; say --set context.dim=9\n",
        ),
        ("train --set context.dim = 9", "alone; expected options; say --set context.dim=9\n"),
        ("train --set context.dim 9 --epochs 9", "options; say --set context.dim=9\n"),
        ("train --set context.dim= 9", "alone; expected options; say --set context.dim=9\n"),
        ("train corpus", "say --arch corpus or --data corpus or --out corpus\n"),
    ],
)
def test_a_word_that_lacks_its_option_is_told_which(arguments: str, told: str) -> None:
    result = CliRunner().invoke(app, arguments.split())
    assert told in result.stderr


def test_an_unknown_preset_is_told_before_what_is_missing() -> None:
    result = CliRunner().invoke(app, ["train", "--arch", "char-smal"])
    assert result.exit_code == 1
    assert result.stderr.startswith("charlm: unknown preset 'char-smal'; did you mean char-small? ")
    known = CliRunner().invoke(app, ["train", "--arch", "char-small"])
    assert known.exit_code == 2
    assert known.stderr.endswith("Missing option '--data'.\n")


def test_two_models_for_a_command_that_takes_one_are_not_understood() -> None:
    result = CliRunner().invoke(app, ["eval", "a.txt", "--model", "exp/a", "--model", "exp/b"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(f"Error: Invalid value for '--model': {TWICE}\n")


def test_a_number_or_a_place_that_comes_again_replaces_the_first() -> None:
    words = ["--data", "d", "--out", "a", "--seed", "3", "--seed", "4", "--out", "b"]
    given = commands()["train"].make_context("train", words).params
    assert (given["seed"], given["out"]) == (4, Path("b"))


def test_several_models_are_several_where_a_command_takes_several() -> None:
    context = commands()["score"].make_context("score", ["--model", "a", "--model", "b"])
    assert context.params["model"] == [Path("a"), Path("b")]


def test_a_file_of_weights_is_not_told_to_be_numbers_with_commas() -> None:
    arguments = ["score", "a.tsv", "--lm", "a.arpa", "--weights", ".5", ".5"]
    result = CliRunner().invoke(app, arguments, prog_name="charlm")
    assert result.exit_code == 2
    assert "expected commas" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("ngram --train a --out b.arpa --prune 0 0 1", "expected commas: --prune 0,0,1\n"),
        ("mix a.arpa b.arpa --weights .5 .5", "expected commas: --weights .5,.5\n"),
    ],
)
def test_numbers_between_blanks_are_told_to_be_joined_by_commas(arguments: str, told: str) -> None:
    result = CliRunner().invoke(app, arguments.split(), prog_name="charlm")
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("export --model run --out x", "what goes there instead: --arpa FILE, --onnx DIR or --pag"),
        ("export --model run --onnx --out x", "--arpa FILE, --onnx DIR or --page FILE\n"),
        ("surprisal --text words", "by a pipe: echo 'the cat' | charlm surprisal -\n"),
        ("eval --text=words --model run", "charlm: --text: a file is named without an option, and"),
        ("score --text words", "echo 'the cat' | charlm score -\n"),
        ("surprisal a.csv --spillover 2", "charlm: --spillover: --previous N gives the values of"),
        (
            "tune l --refs r --tokenize zh",
            "charlm: --tokenize: is part of --metric: bleu has 13a; bl",
        ),
        ("surprisal a.csv --out=x", "charlm: --out: the result goes to standard output; "),
        ("bench eval --out x", "standard output; charlm bench eval … > FILE keeps it\n"),
        ("ngram -lm a.arpa", "charlm: -lm: expected two dashes, --lm\n"),
        ("ngram --lm a.arpa -debug=2", "charlm: -debug: expected two dashes, --debug\n"),
        ("ngram --lm a.arpa -ppl test.txt", "charlm: -ppl: a text to measure is named without an"),
        ("ngram --lm a.arpa --mix-lm b.arpa", "charlm: --mix-lm: charlm mix A.arpa B.arpa --weigh"),
        ("ngram --train a.txt -order 3 --out b.arpa", "charlm: -order: expected two dashes"),
        (
            "ngram --train a.txt --discount_fallback",
            "--discount_fallback: estimates are always inter",
        ),
        ("ngram --lm a.arpa --subset", "charlm: --subset: --limit-vocab FILE has the words that"),
        ("ngram --lm a --limit_vocab_file w", "--limit_vocab_file: --limit-vocab FILE has the w"),
        ("ngram --train a -o 5", "-o: --order N is the order, --out FILE the model"),
        ("ngram --read counts", "charlm: --read: --counts FILE has the n-grams and their counts"),
        ("ngram -write counts", "charlm: -write: --write-counts FILE writes the n-grams and the"),
        ("ngram --lm a.arpa -gen 10", "charlm: -gen: charlm sample --lm MODEL -n N draws sent"),
        ("mix a.arpa b.arpa --lambda .5", "charlm: --lambda: --weights W,W,... has the weights,"),
        ("ngram -help", "charlm: -help: expected two dashes, --help\n"),
        ("ngram --train a -gt3min 1", "charlm: -gt3min: --prune 0,0,1 leaves out n-grams of order"),
        ("ngram --lm a --mix-lambda2 .5", "charlm: --mix-lambda2: charlm mix A.arpa B.arpa --weig"),
        ("ngram --lm a -order 3 -debug 2", "-order: expected two dashes, --order; -debug: expect"),
        ("ngram --train a -unk -kndiscount -interpolate", "; -kndiscount, -interpolate: estimates"),
        ("ngram -text a -lm b", "; -lm: --out FILE has the model that is estimated\n"),
        ("score -nbest-files a --lm b", "charlm: -nbest-files: lists, or their folder, are named "),
        (
            "train -train a -valid b",
            "charlm: -train, -valid: --data DIR has train.txt and valid.tx",
        ),
        ("eval --lm a.arpa b.txt", "charlm: --lm: charlm ngram --lm MODEL FILE measures n-gram mo"),
    ],
)
def test_an_option_that_people_guess_is_answered_with_what_there_is(
    arguments: str, told: str
) -> None:
    result = CliRunner().invoke(app, arguments.split(), prog_name="charlm")
    assert (result.exit_code, result.stdout) == (1, "")
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("ngram --train a.txt -memuse", "-memuse"),
        ("score a.txt -max-nbest=2 --lm b.arpa", "-max-nbest"),
        ("score a.txt --recordings -x --sort -max-nbest 2", "-m"),  # may belong to --sort
    ],
)
def test_an_option_with_one_dash_that_nothing_is_like_is_named_in_full(
    arguments: str, told: str
) -> None:
    result = CliRunner().invoke(app, arguments.split(), prog_name="charlm")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(f"Error: No such option: {told}\n")


def test_words_behind_two_dashes_are_no_options() -> None:
    result = CliRunner().invoke(app, ["nn", "--model", "none", "--", "a", "-pau-", "-model"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("charlm: none: ")


@pytest.mark.parametrize("option", ["help", "version"])
def test_one_dash_is_enough_for_help_and_version(option: str) -> None:
    results = [CliRunner().invoke(app, [f"{dashes}{option}"]) for dashes in ("-", "--")]
    assert [each.exit_code for each in results] == [0, 0]
    assert results[0].stdout == results[1].stdout


@pytest.mark.parametrize("name", GUESSED_COMMANDS)
def test_a_program_of_another_tool_is_told_by_the_command_that_does_the_same(name: str) -> None:
    result = CliRunner().invoke(app, [name, "file"], prog_name="charlm")
    assert (result.exit_code, result.stdout) == (2, "")
    told, _, line = result.stderr.strip().partition("; it is charlm ")
    assert told.endswith(f"No such command {name!r}")
    command, *words = line.split()
    options = {each for option in commands()[command].params for each in option.opts}
    assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("export --onnx --model run", "Invalid value for '--onnx': found the option --model; "),
        ("surprisal a.csv run", "found the model 'run' without its option; say --model run\n"),
        ("eval a.csv run/onnx", "found the model 'run/onnx' without its option; say --model run/"),
        ("score a.csv run", "say --model run\n"),
        ("tune a.csv run", "say --model run\n"),
        ("export run", "say --model run\n"),
        (
            "surprisal 'the cat' --model run",
            "so: echo 'the cat' | charlm surprisal - --model run\n",
        ),
        ("eval the cat", "'the cat': no such file; expected one; a sentence comes so: echo 'the c"),
        (f"surprisal '{'the cat ' * 500}'", "the cat ' | charlm surprisal -\n"),
        ("score the cat sat.", "so: echo 'the cat sat.' | charlm score -\n"),
    ],
)
def test_a_run_or_a_sentence_in_the_place_of_a_file_is_told_where_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run/onnx").mkdir(parents=True)
    for name in ("run/run.json", "run/onnx/export.json", "a.csv"):
        (tmp_path / name).touch()
    result = CliRunner().invoke(app, shlex.split(arguments), prog_name="charlm")
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("eval a.txt b.txt --model run", "a.txt: no such file; expected a text"),
        ("eval - - --model run", TWO_READERS),
        ("surprisal - - --model run", TWO_READERS),
        ("surprisal - --lm -", TWO_READERS),
        ("surprisal - --pairs --lm -", TWO_READERS),
        ("next a --lm - --lm -", TWO_READERS),
        ("nn --similarity - - --model run", TWO_READERS),
        ("prep - --map - --out made", TWO_READERS),
        ("table - -", TWO_READERS),
        ("vocab --data corpus --against - --against -", TWO_READERS),
        ("vocab --data corpus --against - --words -", TWO_READERS),
        ("vocab --data corpus --words - --morphs -", TWO_READERS),
        ("score - --lm a --lm b --mix -", TWO_READERS),
        ("score lists --features am=- --features x=-", TWO_READERS),
        ("tune - --refs refs --words-txt -", TWO_READERS),
        ("serve --lm a --map -", TWO_READERS),
    ],
)
def test_files_that_cannot_be_read_are_no_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/train.txt").write_text("a b a b\n")
    result = CliRunner().invoke(app, asked.split())
    assert (result.exit_code, result.stderr) == (1, f"charlm: {told}\n")
