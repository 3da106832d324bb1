"""Options of `charlm score` that contradict each other: one line each, before a model is read."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError
from charlm.scoring.rescoring.score_job import as_files, as_names, as_paths


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "found neither LIST nor --tune; expected lists to score; name a file"),
        ({"lists": "a", "write": "rnked"}, "write: found 'rnked'; expected one of 'scored', 'ran"),
        ({"tune": "dev"}, "--tune dev: found no --weights; expected a file that the weights"),
        (
            {"lists": "a", "tune": "dev"},
            "--tune dev: found no --refs; expected the references of its lists",
        ),
        (
            {"lists": "a", "test_refs": "r"},
            "--test-refs r: is of LIST where --refs is of --tune, and there is none; expected",
        ),
        (
            {"lists": "a", "tune": "-", "refs": "r"},
            "--tune and --refs: expected files; only LIST may be standard input",
        ),
        (
            {"tune": "dev", "refs": "r", "weights": "w", "out": "o"},
            "--out: found no LIST that it is for; name one, or drop it",
        ),
        (
            {"tune": "dev", "refs": "r", "weights": "w", "test_refs": "t"},
            "--test-refs: found no LIST that it is for",
        ),
        (
            {"tune": "dev", "refs": "r", "weights": "w", "explain": "u"},
            "--explain: found no LIST that it is for",
        ),
        (
            {"lists": "a", "out": "o", "write": "none"},
            "--out o: --write none writes no list; drop one of them",
        ),
        (
            {"lists": "a", "explain": "u", "dedup": "sum"},
            "--explain --dedup sum: two hypotheses are explained, and sums are of more; expected",
        ),
        ({"serve": True, "lists": "a"}, "--serve: found LIST a; the lists come through standard"),
        ({"serve": True, "explain": "u"}, "--serve: found --explain u; the lists come through"),
        ({"serve": True, "refs": "r"}, "--serve: found references of LIST r; the lists come"),
        (
            {"serve": True, "write": "trn"},
            "--serve --write trn: answers are JSON lines; expected one of scored, ranked, nbest, ",
        ),
        ({"lists": "a"}, "found neither --model nor --lm; expected a model that scores the list"),
    ],
)
def test_contradictions_are_named(options: Mapping[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        charlm.score(**options)
    assert str(caught.value).startswith(message)


def test_answers_need_somewhere_to_go(run: Path) -> None:
    with pytest.raises(ConfigError, match="--serve: answers go to standard output; drop --out"):
        charlm.score(serve=True, model=run, out="file")


@pytest.mark.parametrize("text", ["am", "=file", "am="])
def test_a_further_file_has_a_name(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        as_files([text])
    assert str(caught.value) == f"--features {text!r}: expected NAME=FILE, each name once"


def test_a_further_file_has_a_name_of_its_own() -> None:
    assert as_files(["am=a", "lm=b=c"]) == {"am": Path("a"), "lm": Path("b=c")}
    assert as_files({"am": "a"}) == {"am": Path("a")}
    with pytest.raises(ConfigError, match="'am=b': expected NAME=FILE, each name once"):
        as_files(["am=a", "am=b"])


def test_one_and_several_are_alike() -> None:
    assert as_paths("a") == as_paths(["a"]) == ["a"]
    assert as_names(" a, b ,") == as_names(["a", "b"]) == ("a", "b")
