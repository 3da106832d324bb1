"""The public functions have examples in their docstrings, and the examples work."""

import doctest
import inspect
import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm import Model

PARSER = doctest.DocTestParser()
FUNCTIONS = [
    name
    for name in charlm.__all__
    if inspect.isfunction(getattr(charlm, name))
    and name not in ("export", "report", "serve")  # they take long, or read standard input
]
GLOBALS = {"charlm": charlm, "json": json, "math": math}
FILES = {
    "lists.tsv": "id\ttext\tam\nu1\tthe cat\t-3\nu1\tthe cats\t-2\nu2\ta dog\t-1\nu2\tdogs\t-2\n",
    "refs.txt": "u1 the cat\nu2 a dog\n",
    "pairs.tsv": "sentence_good\tsentence_bad\nthe cat sat\tcat the sat\na dog sat\tdog a sat\n",
    "a.jsonl": (
        '{"id": "u", "hyps": [{"text": "x y"}, {"text": "x"}]}\n'
        '{"id": "v", "hyps": [{"text": "z"}]}\n'
    ),
    "b.jsonl": (
        '{"id": "u", "hyps": [{"text": "x y"}]}\n'
        '{"id": "v", "hyps": [{"text": "z"}, {"text": "w"}]}\n'
    ),
    "raw.txt": "The cat sat on the mat\n" * 10,
}
METHODS = [
    *("score", "score_many", "tokens", "step", "next_words", "sample"),
    *("neighbours", "vectors", "context_vectors"),
]
CALLED = {
    "Model": charlm.Model,
    "SentenceScore": charlm.SentenceScore,
    "FunctionScorer": charlm.FunctionScorer,
    **{name: getattr(charlm, name) for name in FUNCTIONS},
    **{
        f"Model.{name}": member
        for name, member in inspect.getmembers(Model, inspect.isfunction)
        if name in METHODS
    },
}


@pytest.mark.parametrize("name", CALLED)
def test_the_examples_of_what_users_call_work(
    name: str, tiny_run: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_run, tmp_path / "exp" / "first")
    (tmp_path / "corpus").symlink_to(corpus_dir)
    for file, content in FILES.items():
        (tmp_path / file).write_text(content)
    monkeypatch.chdir(tmp_path)
    called: Callable[..., object] = CALLED[name]
    example = PARSER.get_doctest(inspect.getdoc(called) or "", GLOBALS, name, None, None)
    assert example.examples, f"{name} has no example"
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append)
    assert result.failed == 0, "".join(told)


@pytest.mark.parametrize("name", [each for each in charlm.__all__ if each != "__version__"])
def test_help_in_python_names_options_of_the_command_line_only_in_a_command(name: str) -> None:
    documented = inspect.getdoc(getattr(charlm, name)) or ""
    assert re.findall(r"--[a-z]\S*", re.sub(r"`[^`]*`", "", documented)) == []


def test_help_in_python_says_where_a_dict_may_stand_for_a_text() -> None:
    assert "\n    overrides (PART.OPTION=VALUE, or a dict): " in str(charlm.train.__doc__)
    assert "\n    weight (NAME=NUMBER, or a dict): " in str(charlm.tune.__doc__)
