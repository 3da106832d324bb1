"""Tables of features: what they always hold, what is refused, and equal sums for equal rows."""

import numpy as np
import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.ranking.features import feature_table, require_same_names, tie_order, weighted


def nbest_of(*rows: tuple[str, dict[str, float]]) -> NbestList:
    return NbestList(
        "u1",
        tuple(
            Hypothesis(tuple(text.split()), features, f"dev.tsv:{number}")
            for number, (text, features) in enumerate(rows, 1)
        ),
    )


def test_words_and_oov_stand_behind_what_the_list_and_the_scoring_give() -> None:
    nbest = nbest_of(("we know", {"am": -1.5, "lm": -4}), ("", {"lm": -3, "am": -2}))
    table = feature_table(nbest, added={"nn": [-7.0, -8.0]}, n_oov=[1, 0])
    assert table.names == ("am", "lm", "nn", "words", "oov")
    assert table.values_HF.tolist() == [[-1.5, -4, -7, 2, 1], [-2, -3, -8, 0, 0]]


def test_a_column_words_of_the_list_is_taken_instead_of_our_count() -> None:
    table = feature_table(nbest_of(("-pau- we know", {"words": 2.0})))
    assert table.names == ("words", "oov")
    assert table.values_HF.tolist() == [[2.0, 0.0]]


def test_take_gives_columns_in_the_order_asked_for() -> None:
    table = feature_table(nbest_of(("a b", {"am": -1.0, "lm": -2.0}))).take(["words", "am"])
    assert table.names == ("words", "am")
    assert table.values_HF.tolist() == [[2.0, -1.0]]


def test_a_hypothesis_without_a_feature_that_others_have_is_refused_with_its_place() -> None:
    with pytest.raises(DataError, match=r"^dev.tsv:2: no feature 'lm', which others of list 'u1' "):
        feature_table(nbest_of(("a", {"am": 1, "lm": 2}), ("b", {"am": 1})))


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_feature_that_is_no_finite_number_is_refused_with_its_place(value: float) -> None:
    with pytest.raises(DataError, match=r"^dev.tsv:2: feature 'am' is (nan|-inf); expected"):
        feature_table(nbest_of(("a", {"am": 1.0}), ("b", {"am": value})))


def test_a_feature_that_scoring_adds_a_second_time_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^dev.tsv:1: the list has a feature 'nn' already"):
        feature_table(nbest_of(("a", {"nn": 1.0})), added={"nn": [2.0]})


def test_an_unknown_feature_is_refused_and_the_known_ones_are_listed() -> None:
    with pytest.raises(ConfigError, match=r"'lmm': no such feature; this list has am, words, oov"):
        feature_table(nbest_of(("a", {"am": 1.0}))).take(["lmm"])


def test_lists_with_other_features_than_the_first_are_refused() -> None:
    lists = [nbest_of(("a", {"am": 1.0})), nbest_of(("a", {"lm": 1.0}))]
    with pytest.raises(DataError, match=r"features lm, words, oov; expected those of the first"):
        require_same_names(lists, [feature_table(each) for each in lists])


def test_features_that_are_not_needed_may_differ() -> None:
    lists = [nbest_of(("a", {"am": 1.0, "rare": 2.0})), nbest_of(("a", {"am": 1.0, "other": 1.0}))]
    tables = [feature_table(each) for each in lists]
    require_same_names(lists, tables, needed=("am", "words"))
    with pytest.raises(DataError, match=r"; or name those that all have \(--tuned\)"):
        require_same_names(lists, tables, needed=("am", "rare"))


def test_equal_rows_have_equal_totals_to_the_bit_wherever_they_stand() -> None:
    generator = np.random.default_rng(0)
    row, weights = generator.standard_normal(7), generator.standard_normal(7)
    values = generator.standard_normal((1001, 7))
    values[::17] = row
    totals = weighted(values, weights)[::17]
    assert len(set(totals.tolist())) == 1
    assert totals[0] == pytest.approx(float(np.dot(row, weights)))


@pytest.mark.parametrize(("name", "order"), [("am", [1, 2, 0]), ("lm", [0, 1, 2])])
def test_ties_go_by_the_larger_acoustic_score_and_then_by_the_list(
    name: str, order: list[int]
) -> None:
    nbest = nbest_of(("a", {name: -2.0}), ("b", {name: -1.0}), ("c", {name: -1.0}))
    assert tie_order(feature_table(nbest)).tolist() == order
