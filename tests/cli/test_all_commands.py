"""What all commands share: help, version, usage errors, and a function in the library."""

import ast
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand
from typer.main import get_command
from typer.testing import CliRunner

import charlm
from charlm.cli import COMMANDS, HEADINGS, app, command_named
from charlm.interface.options import MAX_THREADS

NAMES = [name for name in COMMANDS if name != "bench"]  # a group of commands
# A command's public function, and the options that only one of the two has.
FUNCTIONS = {name: name.replace("-", "_") for name in NAMES} | {
    "eval": "evaluate",
    "nn": "neighbours",
    "ngram": "ngram_baseline",
    "next": "next_words",
}
PRESENTATION = {"json", "debug", "format", "list", "against"}
RENAMED = {
    "set": "overrides",
    "for": "purpose",
    "analogy": "expression",
    "vectors": "path",
    "range": "ranges",
    "edit_distance": "n_words",
    **dict.fromkeys(("analogies", "similarity", "normalise"), "files"),
}
# What only a Python caller can pass, or what the command line passes in another way.
OWN = {
    "score": {"scorer", "format", "out"},
    "tune": {"scorer", "format"},
    "combine": {"out"},
    "serve": {"scorer"},
    "report": {"open"},  # opens a browser
    # Pairs have their own function, whose result has their rows.
    "surprisal": {"format", "layout", "pairs", "each_pair", "pair_columns"},
}
# Further functions of commands that answer several questions.
FURTHER = {
    "nn": (
        "analogies.analogy",
        "analogies.analogy_accuracy",
        "similarity.word_similarity",
        "noisy_words.text_normalisation",
        "spelling_distance.spelling_distance",
        "word2vec.write_vectors",
    ),
}


def command(name: str) -> TyperCommand:
    group = get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    found = group.commands[name]
    assert isinstance(found, TyperCommand)
    return found


def plain(text: str) -> str:
    return re.sub(r"\s+", "", text)  # lines also break at hyphens


def default_of(parameter: inspect.Parameter) -> object:
    """A default in a comparable form: paths as text, None and empty sequences alike."""
    value = parameter.default
    if value is inspect.Parameter.empty:
        return "required"
    if isinstance(value, Path):
        return str(value)
    return value if value or value in (0, False, "") else None


def command_options(name: str) -> dict[str, object]:
    """The options and arguments of a command by the names that Python gives them."""
    signature = inspect.signature(command_named(name))
    options = {}
    for parameter in command(name).params:
        if parameter.name not in signature.parameters:
            continue  # --help
        spelling = parameter.name
        if parameter.param_type_name == "option":
            spelling = max(parameter.opts, key=len).lstrip("-").replace("-", "_")
        if spelling not in PRESENTATION:
            default = default_of(signature.parameters[parameter.name])
            options[RENAMED.get(spelling, spelling)] = default
    return options


def function_options(function: Callable[..., object]) -> dict[str, object]:
    """The parameters of a public function, without its progress callbacks."""
    return {
        name: default_of(parameter)
        for name, parameter in inspect.signature(function).parameters.items()
        if not re.search("Callable|Watcher", str(parameter.annotation))
    }


def without(names: set[str], options: dict[str, object]) -> dict[str, object]:
    return {name: default for name, default in options.items() if name not in names}


def further_functions(name: str) -> list[Callable[..., object]]:
    paths = [path.partition(".") for path in FURTHER.get(name, ())]
    return [
        getattr(import_module(f"charlm.insight.vectors.measures.{m}"), function)
        for m, _, function in paths
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_command_has_the_options_and_defaults_of_its_public_function(name: str) -> None:
    assert FUNCTIONS[name] in charlm.__all__, "add it to charlm/__init__.py, or to FUNCTIONS here"
    functions = [getattr(charlm, FUNCTIONS[name]), *further_functions(name)]
    expected: dict[str, object] = {}
    for function in functions:
        options = function_options(function)
        if name in FURTHER:  # an option required by one question is unset in another
            options |= {key: None for key, value in options.items() if value == "required"}
        assert expected | options == options | expected
        expected |= options
    own = OWN.get(name, set())
    assert without(own, command_options(name)) == without(own, expected)


def test_every_file_with_a_command_is_listed() -> None:
    files = Path(str(charlm.cli.__file__)).parent.glob("*.py")
    found = {path.stem for path in files if "\n@command(" in path.read_text()}
    listed = {name.replace("-", "_") for name in COMMANDS}
    assert found == listed, "HEADINGS in charlm/cli/__init__.py, and files of charlm/cli"


def test_the_help_names_every_command() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    listed = result.stdout.partition("Show this message and exit.")[2]
    names = re.findall(r"^  (\w[\w-]*)  ", listed, re.M)
    assert sorted(names) == sorted(COMMANDS)
    assert re.findall(r"^(\w+):$", listed, re.M) == [*HEADINGS]
    assert "..." not in listed


@pytest.mark.parametrize("arguments", [["-h"], ["prep", "-h"], ["neighbors", "--help"]])
def test_what_other_tools_call_it_is_understood(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("train --encoding latin-1 --data c", "`charlm prep --encoding NAME` converts a text"),
        ("prep raw.txt corpus", "--out is missing; say --out corpus, if the result is to go there"),
    ],
)
def test_a_wrong_guess_gets_the_right_word(line: str, told: str) -> None:
    result = CliRunner(env={"COLUMNS": "300"}).invoke(app, line.split())
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_text_given_as_the_corpus_gets_its_folder(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\n")
    result = CliRunner().invoke(app, ["vocab", "--data", str(tmp_path / "train.txt")])
    assert result.exit_code == 1
    assert result.stderr.endswith(f"train.txt, valid.txt, test.txt: {tmp_path}\n")


def test_american_spelling_tokenises(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("one, two.\n" * 9)
    out = tmp_path / "c"
    prepared = ["prep", str(tmp_path / "raw"), "--out", str(out), "--tokenize", "simple"]
    assert CliRunner().invoke(app, prepared).exit_code == 0
    assert (out / "train.txt").read_text().startswith("one , two .\n")


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_shows_every_option_with_all_that_it_says_but_no_type_of_python(
    name: str,
) -> None:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert re.findall(r"<(?!/?s>|unk>|w>)[^>]*>", result.stdout) == []
    shown = plain(result.stdout)
    for parameter in command(name).params:
        assert parameter.help, f"{parameter.name} says nothing"
        assert plain(parameter.help) in shown
        assert parameter.param_type_name == "argument" or max(parameter.opts, key=len) in shown


@pytest.mark.parametrize("name", [name for name in NAMES if name != "vocab"])  # it counts in a few
def test_no_command_takes_more_threads_than_openmp_bears(name: str) -> None:
    said = [str(option.help) for option in command(name).params if option.name == "threads"]
    assert [each for each in said if not each.endswith(f"[1 to {MAX_THREADS}]")] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_command_uses_options_that_it_has(name: str) -> None:
    docstring = inspect.getdoc(command_named(name)) or ""
    examples = re.findall(rf"^ *charlm {name}\b(.*)$", docstring, re.M)
    assert examples, "the docstring ends with an example: `charlm NAME ...`"
    known = {spelling for parameter in command(name).params for spelling in parameter.opts}
    for example in examples:
        assert len(f"  charlm {name}{example}") <= 80  # else a terminal breaks it
        words = shlex.split(example.partition("|")[0])
        assert {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)} <= known


@pytest.mark.parametrize("asked", ["--version", "-V", "version"])
def test_the_program_tells_its_version(asked: str) -> None:
    result = CliRunner().invoke(app, [asked])
    assert (result.exit_code, result.stdout) == (0, f"charlm {charlm.__version__}\n")


@pytest.mark.parametrize("command", ["", "train", "bench train"])
def test_help_as_a_command_is_the_help_of_what_follows(command: str) -> None:
    words = command.split()
    asked = CliRunner().invoke(app, ["help", *words])
    assert asked.exit_code == 0
    assert asked.stdout == CliRunner().invoke(app, [*words, "--help"]).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--verson"], "Error: No such option: --verson"),
        (["trian"], "Error: No such command 'trian'."),
        ([], "Usage:"),
    ],
)
def test_what_is_not_understood_has_status_2(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_usage_error_shows_terminal_escapes_escaped() -> None:
    result = CliRunner().invoke(app, ["--\x1b[31m"])
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr


def test_the_package_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "charlm", "--version"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stdout) == (0, f"charlm {charlm.__version__}\n")


@pytest.mark.parametrize("name", ["CharlmError", "ConfigError", "DataError", "TrainingError"])
def test_a_public_error_is_a_charlm_error(name: str) -> None:
    assert issubclass(getattr(charlm, name), charlm.CharlmError)


@pytest.mark.parametrize("name", [name for name in charlm.__all__ if name != "__version__"])
def test_a_public_name_can_be_called(name: str) -> None:
    assert callable(getattr(charlm, name))


def test_type_checkers_find_the_public_names_where_python_does() -> None:
    body = ast.parse(Path(str(charlm.__file__)).read_text()).body
    (block,) = [node.body for node in body if isinstance(node, ast.If)]
    imports = [node for node in block if isinstance(node, ast.ImportFrom)]
    told = {alias.asname: node.module for node in imports for alias in node.names}
    assert told == vars(charlm)["_HOMES"], "charlm/__init__.py: under TYPE_CHECKING and in _HOMES"


def test_the_public_names_are_listed_and_others_refused() -> None:
    assert charlm.__all__ == dir(charlm)
    with pytest.raises(AttributeError, match="module 'charlm' has no attribute 'trian'"):
        _ = charlm.trian


@pytest.mark.parametrize(
    ("guess", "name"),
    [
        ("nn", "neighbours"),
        ("neighbors", "neighbours"),
        ("eval", "evaluate"),
        ("next", "next_words"),
        ("prepare", "prep"),
        ("build_vocabulary", "vocab"),
    ],
)
def test_a_function_is_told_to_who_types_another_name(guess: str, name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{guess}'; it is charlm.{name}$"):
        getattr(charlm, guess)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_told_in_one_line_of_the_help(name: str) -> None:
    first, _, _ = (command(name).help or "").partition(".")
    assert 0 < len(first) < 55


@pytest.mark.parametrize(
    ("arguments", "usage"), [(["tune"], "DEV"), (["mix"], "STREAM..."), (["prep"], "[RAW]...")]
)
def test_the_usage_has_brackets_around_what_may_be_left_out_alone(
    arguments: list[str], usage: str
) -> None:
    helped = CliRunner().invoke(app, [*arguments, "--help"]).stdout
    assert helped.startswith(f"Usage: charlm {arguments[0]} [OPTIONS] {usage}\n")


@pytest.mark.parametrize("name", FUNCTIONS.values())
def test_what_a_function_cannot_take_is_refused_under_its_name(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\(\): "):
        getattr(charlm, name)(nothing=1)
