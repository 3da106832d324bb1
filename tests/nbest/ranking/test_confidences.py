"""Posteriors and confidences of short lists, their sums written out."""

import math
import random
from dataclasses import replace

import pytest

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import Dedup, Hypothesis, NbestList, Rescored, Sureness
from charlm.nbest.metrics.error_rates import WordErrorRate
from charlm.nbest.output.output_layouts import write_confidences
from charlm.nbest.ranking.confidences import is_in, posteriors, word_confidences
from charlm.nbest.ranking.weights import deduplicated

HALF, QUARTER = -math.log(2), -math.log(4)


def ranked(*texts: str, totals: tuple[float, ...], scale: float = 1.0) -> Rescored:
    hypotheses = tuple(Hypothesis(tuple(text.split()), {}, "f:1") for text in texts)
    order = tuple(sorted(range(len(totals)), key=lambda index: -totals[index]))
    return Rescored(
        NbestList("u", hypotheses), totals=totals, order=order, sureness=Sureness(scale)
    )


def test_a_posterior_is_the_share_of_a_hypothesis_in_the_list() -> None:
    item = ranked("a", "b", "c", totals=(HALF, 0.0, QUARTER))
    assert posteriors(item) == pytest.approx([2 / 7, 4 / 7, 1 / 7])


def test_a_smaller_scale_makes_posteriors_less_sure_and_0_makes_them_equal() -> None:
    totals = (0.0, HALF, QUARTER)
    assert posteriors(ranked("a", "b", "c", totals=totals, scale=2.0)) == pytest.approx(
        [16 / 21, 4 / 21, 1 / 21]
    )
    assert posteriors(ranked("a", "b", "c", totals=totals, scale=0.0)) == pytest.approx([1 / 3] * 3)


def test_posteriors_add_up_to_1_however_far_totals_are_from_0() -> None:
    found = posteriors(ranked("a", "b", "c", totals=(-5e4, -5e4 + HALF, -9e9)))
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert found == pytest.approx([2 / 3, 1 / 3, 0.0])


@pytest.mark.parametrize(
    ("dedup", "scale", "share"),
    [("sum", 1.0, 5 / 7), ("max", 1.0, 2 / 3), ("sum", 0.0, 2 / 3), ("max", 0.0, 1 / 2)],
)
def test_hypotheses_that_are_ranked_together_count_once(
    dedup: Dedup, scale: float, share: float
) -> None:
    item = ranked("a", "b", "a", totals=(0.0, HALF, QUARTER), scale=scale)
    item = deduplicated(item, dedup)
    assert posteriors(item) == pytest.approx([share, 1 - share, 0.0])
    assert word_confidences(item) == pytest.approx([share])


def test_hypotheses_that_are_ranked_apart_add_up_in_the_words_that_they_share() -> None:
    item = ranked("a", "b", "a", totals=(0.0, HALF, QUARTER))
    assert posteriors(item) == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert word_confidences(item) == pytest.approx([4 / 7 + 1 / 7])


def test_a_confidence_is_the_sum_over_hypotheses_that_have_the_word_there() -> None:
    item = ranked("the hat sat", "the cat sat", "a cat", totals=(HALF, 0.0, QUARTER))
    # The best is "the cat sat", 4/7; "the hat sat", 2/7, lacks cat; "a cat", 1/7, has it alone.
    assert word_confidences(item) == pytest.approx([4 / 7 + 2 / 7, 4 / 7 + 1 / 7, 4 / 7 + 2 / 7])


def test_a_word_that_all_hypotheses_have_is_as_sure_as_the_ceiling() -> None:
    item = ranked("the hat", "the cat", totals=(HALF, 0.0))
    item = replace(item, sureness=Sureness(ceiling=0.9))
    assert word_confidences(item) == pytest.approx([0.9, 0.9 * 2 / 3])


def test_a_word_that_moved_within_its_sentence_is_still_there() -> None:
    item = ranked("cat sat", "oh the cat sat", "", totals=(0.0, HALF, QUARTER))
    assert word_confidences(item) == pytest.approx([6 / 7, 6 / 7])  # the empty one has no word


def test_a_hypothesis_that_is_alone_is_certain_and_an_empty_one_has_no_words() -> None:
    assert word_confidences(ranked("a b", totals=(-7.0,))).tolist() == [1.0, 1.0]
    assert word_confidences(ranked("", "a", totals=(0.0, HALF))).tolist() == []


def test_no_confidence_exceeds_1_by_rounding() -> None:
    totals = tuple(-0.1 * n for n in range(30))
    item = ranked(*(f"a {n}" for n in range(30)), totals=totals)
    assert word_confidences(item)[0] <= 1.0
    assert word_confidences(item)[0] == pytest.approx(1.0)


def test_words_are_right_where_error_rates_count_no_edit() -> None:
    generator, rate = random.Random(0), WordErrorRate()
    for _ in range(300):
        pair = [generator.choices("abc", k=generator.randrange(7)) for _ in range(2)]
        ((substitutions, deletions, _, n_words),) = rate.count([tuple(map(" ".join, pair))])  # type: ignore[list-item]
        assert is_in(*pair).sum() == n_words - substitutions - deletions


def test_a_list_without_totals_is_refused() -> None:
    item = Rescored(ranked("a", "b", totals=(0.0, 0.0)).nbest)
    with pytest.raises(ConfigError) as caught:
        posteriors(item)
    assert str(caught.value) == (
        "list 'u': no feature has a weight, so that all hypotheses are equally likely; expected a "
        "model, --weights or --weight"
    )


def test_the_table_has_a_row_for_each_word_of_the_best_hypotheses() -> None:
    lists = [
        ranked("the cat", 'the "cat', totals=(HALF, 0.0)),
        ranked("", "a", totals=(0.0, HALF)),
        ranked("so", totals=(0.0,)),
    ]
    assert "".join(piece.text for piece in write_confidences(lists)) == (
        "id\tposition\tword\tconfidence\n"
        "u\t1\tthe\t1.000000\n"
        'u\t2\t"""cat"\t0.666667\n'
        "u\t1\tso\t1.000000\n"
    )
    assert list(write_confidences([])) == []


def test_each_list_is_written_before_the_next_is_asked_for() -> None:
    def lists():  # type: ignore[no-untyped-def]
        yield ranked("a", totals=(0.0,))
        raise AssertionError

    assert next(write_confidences(lists())).text.endswith("u\t1\ta\t1.000000\n")
