"""Lists of several systems put together: probabilities by hand, and what is refused."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.combination.combine import combine
from charlm.scoring.rescoring.score import score

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes lists as `score --write nbest` does, from posteriors by text, by id."""

    def written(name: str, lists: dict[str, dict[str, float]], **more: Any) -> Path:
        path = tmp_path / f"{name}.jsonl"
        lines = []
        for id, posteriors in lists.items():
            hyps = [
                {"text": text, "scores": {"am": -1.0, "charlm_posterior": posterior}}
                for text, posterior in posteriors.items()
            ]
            lines.append(json.dumps({"id": id, "hyps": hyps, **more}) + "\n")
        path.write_text("".join(lines))
        return path

    return written


def combined(*files: Path, **options: Any) -> dict[str, list[tuple[str, float]]]:
    """The texts of each list with their probabilities, in their order."""
    pieces: list[str] = []
    combine(list(files), out=pieces.append, **options)
    lists = [json.loads(line) for line in "".join(pieces).splitlines()]
    return {
        each["id"]: [(h["text"], math.exp(h["scores"]["combined"])) for h in each["hyps"]]
        for each in lists
    }


def near(expected: list[tuple[str, float]]) -> list[tuple[str, Any]]:
    return [(text, pytest.approx(p, rel=1e-8)) for text, p in expected]


def test_a_hypothesis_has_the_mean_of_its_posteriors(write: Write) -> None:
    a = write("a", {"u": {"x y": 0.6, "x z": 0.4}, "v": {"w": 1.0}})
    b = write("b", {"v": {"w": 0.5, "": 0.5}, "u": {"x z": 0.7, "q": 0.3}})
    found = combined(a, b)
    assert [*found] == ["u", "v"]
    assert found["u"] == near([("x z", 0.55), ("x y", 0.3), ("q", 0.15)])
    assert found["v"] == near([("w", 0.75), ("", 0.25)])


def test_shares_weigh_systems_and_posteriors_are_made_to_sum_to_1(write: Write) -> None:
    a, b = write("a", {"u": {"x": 0.3, "y": 0.1}}), write("b", {"u": {"y": 0.5, "z": 0.5}})
    expected = near([("x", 0.8 * 0.75), ("y", 0.8 * 0.25 + 0.2 * 0.5), ("z", 0.1)])
    assert combined(a, b, shares="0.8,0.2")["u"] == expected
    assert combined(a, b, shares=[0.8, 0.2])["u"] == expected


def test_the_same_words_twice_in_a_list_add_up(tmp_path: Path, write: Write) -> None:
    path = tmp_path / "twice.jsonl"
    hyps = [{"text": t, "scores": {"charlm_posterior": p}} for t, p in [("x", 0.4), ("y", 0.4)]]
    path.write_text(json.dumps({"id": "u", "hyps": [*hyps, hyps[0]]}) + "\n")
    found = combined(path, write("b", {"u": {"y": 1.0}}))["u"]
    assert found == near([("y", (1 / 3 + 1) / 2), ("x", 1 / 3)])


def test_outputs_without_posteriors_are_votes(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.trn" for name in "abc"]
    for file, text in zip(files, ("x y", "x z", "x y"), strict=True):
        file.write_text(f"{text} (s-1)\nw (s-2)\n")
    assert combined(*files)["s-1"] == near([("x y", 2 / 3), ("x z", 1 / 3)])
    result = combine(files)
    assert [each.has_posteriors for each in result.systems] == [False] * 3
    assert (result.n_lists, result.n_hypotheses, result.n_agreed) == (2, 3, 1)


def test_a_list_that_a_file_lacks_is_refused_or_made_of_the_others(write: Write) -> None:
    a = write("a", {"u": {"x": 1.0}})
    b = write("b", {"u": {"x": 1.0}, "v": {"y": 0.25, "z": 0.75}})
    c = write("c", {"u": {"x": 1.0}, "v": {"y": 1.0}})
    with pytest.raises(DataError) as caught:
        combine([a, b, c])
    assert str(caught.value) == (
        f"{a}: no list 'v', which {b} has; expected the same lists in all files; --allow-missing "
        "combines those that there are"
    )
    found = combined(a, b, c, shares="0.5,0.25,0.25", allow_missing=True)
    assert found == {"u": near([("x", 1.0)]), "v": near([("y", 0.625), ("z", 0.375)])}
    result = combine([a, b, c], allow_missing=True)
    assert (result.n_lists, result.n_missing, result.n_agreed) == (2, 1, 1)


def test_a_posterior_of_0_is_a_number_that_score_takes(write: Write, tmp_path: Path) -> None:
    a, b = (write(name, {"u": {"x": 1.0, "y": 0.0}}) for name in "ab")
    combine([a, b], out=tmp_path / "both.jsonl")
    found = score(tmp_path / "both.jsonl", weight=["combined=1"], write="text", out=print)
    assert found.counts.n_lists == 1
    hyps = json.loads((tmp_path / "both.jsonl").read_text())["hyps"]
    assert [each["scores"]["combined"] for each in hyps] == [0.0, pytest.approx(-690.775528)]


def test_minimum_bayes_risk_over_all_systems_finds_what_none_prefers(
    write: Write, tmp_path: Path
) -> None:
    lists = [{"a b d": 0.6, "a b c": 0.4}, {"x b c": 0.6, "a b c": 0.4}, {"a y c": 1.0}]
    files = [write(str(n), {"u": each}) for n, each in enumerate(lists)]
    assert combine(files, out=tmp_path / "all.jsonl").n_agreed == 0
    pieces: list[str] = []
    options: dict[str, Any] = {"weight": ["combined=1"], "write": "text", "out": pieces.append}
    score(tmp_path / "all.jsonl", mbr="wer", **options)
    score(tmp_path / "all.jsonl", **options)
    assert pieces == ["a b c\n", "a y c\n"]


def test_recording_and_reference_are_kept(write: Write, tmp_path: Path) -> None:
    a, b = write("a", {"u": {"x": 1.0}}), write("b", {"u": {"y": 1.0}}, ref="x", recording="r")
    combine([a, b], out=tmp_path / "both.jsonl")
    found = json.loads((tmp_path / "both.jsonl").read_text())
    assert (found["recording"], found["ref"]) == ("r", "x")


@pytest.mark.parametrize("wrong", [-0.1, 1.5])
def test_a_posterior_that_is_none_is_refused(wrong: float, write: Write) -> None:
    a, b = write("a", {"u": {"x": 1.0}}), write("b", {"u": {"x": 1.0}, "v": {"x": 1.0, "y": wrong}})
    with pytest.raises(DataError) as caught:
        combine([a, b])
    assert str(caught.value) == (
        f"{b}:2: hypothesis 2: charlm_posterior is {wrong:g}; expected 0 to 1 for each "
        "hypothesis of the list, as `charlm score --write nbest` writes them"
    )


def test_what_makes_no_combination_is_refused(write: Write, tmp_path: Path) -> None:
    a, b = (write(name, {"u": {"x": 1.0}}) for name in "ab")
    zero = write("zero", {"u": {"x": 0.0}})
    slf = tmp_path / "u.slf"
    slf.write_text("VERSION=1.0\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=x a=-1 l=-1\n")
    twice = tmp_path / "twice.jsonl"
    twice.write_text(2 * a.read_text())
    cases: list[tuple[type[Exception], list[Path], dict[str, Any], str]] = [
        (ConfigError, [a], {}, "combine: 1 file; expected one of each system"),
        (ConfigError, [a, b, a], {}, f"{a}: stands twice; expected each system once"),
        (ConfigError, [a, b], {"shares": "1"}, "--shares 1: 1 for 2"),
        (ConfigError, [a, b], {"shares": "1,0"}, "--shares: 0 for a system; expected more"),
        (ConfigError, [a, b], {"out": a}, f"{a}: would be overwritten"),
        (DataError, [a, zero], {}, f"{zero}:1: hypothesis 1: all posteriors of list 'u' are 0"),
        (DataError, [a, slf], {}, f"{slf}: slf, lattices; expected lists"),
        (DataError, [a, twice], {}, f"{twice}:2: "),
    ]
    for kind, files, options, message in cases:
        with pytest.raises(kind) as caught:
            combine(files, **options)
        assert str(caught.value).startswith(message)
