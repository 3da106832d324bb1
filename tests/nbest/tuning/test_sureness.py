"""The scale of posteriors, found again where it is known, and the ceiling of confidences."""

import math

import numpy as np
import pytest

from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored, Sureness
from charlm.nbest.ranking.confidences import word_confidences
from charlm.nbest.references.references import References
from charlm.nbest.tuning.sureness import fitted_sureness

WORDS = ("a", "b", "c")


def item(key: str, texts: tuple[str, ...], totals: tuple[float, ...], scale: float) -> Rescored:
    hypotheses = tuple(Hypothesis(tuple(text.split()), {}, "f:1") for text in texts)
    order = tuple(np.argsort([-total for total in totals], kind="stable").tolist())
    return Rescored(
        NbestList(key, hypotheses), totals=totals, order=order, sureness=Sureness(scale)
    )


def drawn(scale: float, *, n: int) -> tuple[list[tuple[float, ...]], References]:
    """Totals of lists of three words each, and a reference drawn by softmax(scale·total)."""
    generator = np.random.default_rng(0)
    totals, references = [], {}
    for number in range(n):
        values = generator.normal(scale=3 / scale, size=3)
        weights = np.exp(scale * values)
        totals.append(tuple(values.tolist()))
        references[str(number)] = (str(generator.choice(WORDS, p=weights / weights.sum())),)
    return totals, references


def slow_likelihood(
    totals: list[tuple[float, ...]], references: References, *, scale: float
) -> float:
    bits = 0.0
    for number, values in enumerate(totals):
        found = item(str(number), WORDS, values, scale)
        (confidence,) = word_confidences(found).tolist()
        is_right = found.best.words == references[str(number)]
        bits += math.log2(confidence if is_right else 1 - confidence)
    return bits


@pytest.mark.parametrize("scale", [0.002, 0.3, 40.0])
def test_the_scale_by_which_the_truth_was_drawn_is_found(scale: float) -> None:
    totals, references = drawn(scale, n=800)
    lists = [item(str(n), WORDS, values, 1.0) for n, values in enumerate(totals)]
    found = fitted_sureness(lists, references)
    assert found is not None
    assert found == pytest.approx((scale, 1.0), rel=0.1)
    best = slow_likelihood(totals, references, scale=found.scale)
    for neighbour in (found.scale * 1.02, found.scale / 1.02):
        assert slow_likelihood(totals, references, scale=neighbour) < best


def test_what_the_lists_scale_was_before_does_not_matter() -> None:
    totals, references = drawn(0.3, n=200)
    found = {
        fitted_sureness([item(str(n), WORDS, v, scale) for n, v in enumerate(totals)], references)
        for scale in (0.01, 5.0)
    }
    assert len(found) == 1


def test_where_the_best_are_always_wrong_no_hypothesis_is_likelier_than_another() -> None:
    lists = [item(key, ("a", "b"), (0.0, -1.0), 1.0) for key in "uv"] + [
        item("w", ("c",), (0.0,), 1.0)
    ]
    assert fitted_sureness(lists, {"u": ("b",), "v": ("b",), "w": ("c",)}) == (0.0, 0.6667)


def test_the_ceiling_is_the_share_of_right_words_among_those_that_all_hypotheses_have() -> None:
    texts = ("the cat sat", "the hat sat")
    lists = [item(str(n), texts, (0.0, -1.0), 1.0) for n in range(4)]
    right, wrong = ("the", "cat", "sat"), ("a", "hat", "sat")
    found = fitted_sureness(lists, {"0": right, "1": right, "2": right, "3": wrong})
    assert found is not None
    assert found.ceiling == pytest.approx((7 + 1) / (8 + 2))  # of `the` and `sat`
    # `cat` is right in 3 of 4 lists: .8/(1 + exp(-scale)) = .75.
    assert found.scale == pytest.approx(math.log(15), rel=1e-3)


@pytest.mark.parametrize(
    "references", [{"u": ("a",), "v": ("a",)}, {"u": ("b",), "v": ("b",)}], ids=["right", "wrong"]
)
def test_where_all_words_are_right_or_wrong_there_is_no_scale(references: References) -> None:
    lists = [item(key, ("a", "b"), (0.0, -1.0), 1.0) for key in "uv"]
    assert fitted_sureness(lists, references) is None


def test_where_no_hypothesis_differs_there_is_no_scale() -> None:
    lists = [item("u", ("a b", "a b"), (0.0, -1.0), 1.0), item("v", ("",), (0.0,), 1.0)]
    assert fitted_sureness(lists, {"u": ("a", "c"), "v": ()}) is None
    assert fitted_sureness([], {}) is None
