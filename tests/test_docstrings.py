"""The examples in docstrings of what Python users call: they stand there, and they work."""

import doctest
import inspect
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm import Model

PARSER = doctest.DocTestParser()
CALLED = {
    "load": charlm.load,
    "Model": charlm.Model,
    "SentenceScore": charlm.SentenceScore,
    "neighbours": charlm.neighbours,
    "sample": charlm.sample,
    "compare_kn": charlm.compare_kn,
    **{
        f"Model.{name}": member
        for name, member in inspect.getmembers(Model, inspect.isfunction)
        if name in ("score", "score_many", "tokens", "neighbours", "vectors", "sample")
    },
}


@pytest.mark.parametrize("name", CALLED)
def test_the_examples_of_what_users_call_work(
    name: str, tiny_run: Path, corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_run, tmp_path / "exp" / "first")
    (tmp_path / "corpus").symlink_to(corpus_dir)
    monkeypatch.chdir(tmp_path)
    called: Callable[..., object] = CALLED[name]
    example = PARSER.get_doctest(inspect.getdoc(called) or "", {"charlm": charlm}, name, None, None)
    assert example.examples, f"{name} has no example"
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=told.append)
    assert result.failed == 0, "".join(told)
