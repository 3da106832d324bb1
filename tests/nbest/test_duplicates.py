"""Hypotheses with the same words: their totals by hand, and their ranks."""

import json
import math

import pytest

from charlm.nbest.hypotheses import Dedup, Hypothesis, NbestList, Rescored, Sureness
from charlm.nbest.output.output_layouts import write_nbest
from charlm.nbest.ranking.confidences import posteriors
from charlm.nbest.ranking.weights import deduplicated

TEXTS = ("a", "b", "a", "c", "a b")


def ranked(*totals: float, scale: float = 1.0) -> Rescored:
    hypotheses = tuple(Hypothesis(tuple(text.split()), {}, "f:1") for text in TEXTS)
    order = sorted(range(len(totals)), key=lambda index: -totals[index])
    sureness = Sureness(scale)
    return Rescored(NbestList("u", hypotheses), (), totals, tuple(order), sureness=sureness)


def test_a_sum_may_win_that_no_part_of_it_would() -> None:
    found = deduplicated(ranked(-1.0, -0.5, -1.25, -9.0, -8.0), "sum")
    together = math.log(math.exp(-1.0) + math.exp(-1.25))
    assert together > -0.5
    assert found.totals == pytest.approx((together, -0.5, together, -9.0, -8.0))
    assert found.order == (0, 2, 1, 4, 3)
    assert found.duplicates == {2}


def test_the_largest_alone_moves_the_others_behind_it_and_no_winner() -> None:
    plain = ranked(-3.0, -2.0, -1.0, -1.5, -8.0)
    found = deduplicated(plain, "max")
    assert found.totals == (-1.0, -2.0, -1.0, -1.5, -8.0)
    assert found.order == (2, 0, 3, 1, 4)
    assert found.duplicates == {0}
    assert found.best is plain.best


def test_totals_far_below_zero_add_up_without_vanishing() -> None:
    found = deduplicated(ranked(-5000.0, -5001.0, -5000.0, -5002.0, -5003.0), "sum")
    assert found.totals[0] == pytest.approx(-5000 + math.log(2))


@pytest.mark.parametrize(("scale", "winner"), [(0.0, 0), (0.5, 0), (2.0, 0), (3.0, 1), (1e30, 1)])
def test_a_sum_is_of_posteriors_and_the_more_sure_they_are_the_less_copies_count(
    scale: float, winner: int
) -> None:
    plain = ranked(-1.25, -1.0, -1.25, -9.0, -8.0, scale=scale)  # 2 · exp(−scale / 4) against 1
    found = deduplicated(plain, "sum")
    assert found.order[0] == winner
    assert found.totals[1] == -1.0
    apart = posteriors(plain)
    apart[0] += apart[2]
    apart[2] = 0
    assert posteriors(found) == pytest.approx(apart)


@pytest.mark.parametrize("dedup", ["sum", "max"])
def test_ties_of_different_words_stay_as_they_were(dedup: Dedup) -> None:
    item = ranked(-9.0, -1.0, -8.0, -1.0, -1.0)
    assert deduplicated(item, dedup).order == (1, 3, 4, 2, 0)


def test_of_hypotheses_with_the_same_words_one_is_written_with_their_total() -> None:
    found = deduplicated(ranked(-3.0, -2.0, -1.0, -1.5, -8.0), "max")
    (piece,) = write_nbest([found])
    written = [(h["text"], h["scores"]["charlm_total"]) for h in json.loads(piece.text)["hyps"]]
    assert written == [("a", -1.0), ("c", -1.5), ("b", -2.0), ("a b", -8.0)]
