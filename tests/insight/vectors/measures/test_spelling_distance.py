"""The mean edit distance of neighbours, on hand-made vectors and from its definition."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError
from charlm.insight.vectors import inputs
from charlm.insight.vectors.measures.spelling_distance import spelling_distance

MakeRun = Callable[..., Path]


@cache
def slow_distance(one: str, other: str) -> int:
    if not one or not other:
        return len(one) + len(other)
    replaced = slow_distance(one[1:], other[1:]) + (one[0] != other[0])
    return min(replaced, slow_distance(one[1:], other) + 1, slow_distance(one, other[1:]) + 1)


def test_the_mean_is_over_the_most_frequent_words_of_letters_alone(run_of_vectors: MakeRun) -> None:
    vectors = {
        "cat": [1.0, 0.0],
        "19861": [0.0, -1.0],
        "cats": [1.0, 0.1],
        "a.b": [-1.0, 0.0],
        "dog": [0.0, 1.0],
    }
    (found,) = spelling_distance(2, model=run_of_vectors(vectors), k=2, at="word", device="cpu")
    # cat: cats 1 of 4, then 19861 and dog are equally far, and the first is more frequent: 5 of 5.
    # cats: cat 1 of 4, dog 4 of 4.
    assert found.to_dict() == {
        "at": "word",
        "n_words": 2,
        "k": 2,
        "mean_distance": pytest.approx((1 + 5 + 1 + 4) / 4),
        "mean_share": pytest.approx((1 / 4 + 1 + 1 / 4 + 1) / 4),
    }


def test_words_of_letters_may_have_vowel_signs(run_of_vectors: MakeRun) -> None:
    vectors = {"1986": [0.0, 1.0], "\u092e\u0948\u0902": [1.0, 0.0], "\u0928\u0947": [1.0, 0.1]}
    (found,) = spelling_distance(5, model=run_of_vectors(vectors), k=1, at="word", device="cpu")
    assert (found.n_words, found.mean_distance) == (2, 3.0)  # each the other's nearest


def test_all_taps_but_gates_are_compared_unless_one_is_said(tiny_run: Path) -> None:
    found = spelling_distance(5, model=tiny_run, k=3, device="cpu")
    assert [each.tap for each in found] == ["char-cnn", "highway", "output"]
    assert [each.n_words for each in found] == [5, 5, 5]
    (one,) = spelling_distance(5, model=tiny_run, k=3, at="highway", device="cpu")
    assert one == found[1]
    words = [w for w in charlm.load(tiny_run, device="cpu").words[2:] if w.isalpha()][:5]
    near = charlm.neighbours(words, model=tiny_run, k=3, device="cpu")
    pairs = [(each.form, n.word) for each in near for n in each.nearest]
    mean = sum(slow_distance(*pair) for pair in pairs) / len(pairs)
    assert one.mean_distance == pytest.approx(mean)


def test_the_threads_asked_for_are_used(
    run_of_vectors: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(inputs, "set_threads", asked.append)
    spelling_distance(1, model=run_of_vectors({"cat": [1.0, 0.0]}), device="cpu", threads=3)
    assert asked == [3]


def test_a_vocabulary_without_words_of_letters_is_one_line(run_of_vectors: MakeRun) -> None:
    run = run_of_vectors({"1": [1.0, 0.0], "2.": [0.0, 1.0]})
    with pytest.raises(ConfigError) as caught:
        spelling_distance(5, model=run, device="cpu")
    assert str(caught.value) == (
        f"{run}: no word of letters alone; expected some in its vocabulary"
    )
    with pytest.raises(ConfigError, match="^--edit-distance 0: expected 1 or more$"):
        spelling_distance(0, model=run)
