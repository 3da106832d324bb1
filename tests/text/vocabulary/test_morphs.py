"""Morphs of words: ids, stored segmentations, the search for other words, and their JSON."""

import json
import math
from itertools import combinations
from typing import Any

import pytest

from charlm.errors import DataError
from charlm.text.vocabulary.morphs import LONGEST_MORPH, MorphModel

COSTS = {"un": 2.0, "do": 2.5, "undo": 6.0, "ing": 2.0, "doing": 4.0, "i": 3.0, "n": 1.5, "g": 9.0}


def model_of(costs: dict[str, float], **segmentations: str) -> MorphModel:
    table = {word: tuple(morphs.split()) for word, morphs in segmentations.items()}
    return MorphModel(tuple(costs), tuple(costs.values()), table)


def best_by_trying_all(form: str, costs: dict[str, float]) -> float:
    """The least cost of all ways to cut a form, each of which is tried."""
    totals = [math.inf]
    for n_cuts in range(len(form)):
        for cuts in combinations(range(1, len(form)), n_cuts):
            ends = (0, *cuts, len(form))
            pieces = [form[a:b] for a, b in zip(ends, ends[1:], strict=False)]
            if all(piece in costs for piece in pieces):
                totals.append(sum(costs[piece] for piece in pieces))
    return min(totals)


@pytest.mark.parametrize("form", ["undoing", "doing", "ing", "nn", "undoundoing", "gingin"])
def test_the_search_finds_what_trying_all_cuts_finds(form: str) -> None:
    pieces = model_of(COSTS).search(form)
    assert "".join(pieces) == form
    assert sum(COSTS[piece] for piece in pieces) == best_by_trying_all(form, COSTS)


def test_a_character_that_no_morph_covers_is_a_piece_of_its_own() -> None:
    assert model_of({"do": 1.0}).search("xdoyz") == ("x", "do", "y", "z")


def test_a_dear_morph_is_taken_before_an_uncovered_character() -> None:
    assert model_of({"ab": 1e4, "b": 0.0}).search("ab") == ("ab",)


def test_of_equal_cuts_the_one_with_the_longest_last_morph_wins() -> None:
    assert model_of({"a": 1.0, "aa": 1.0}).search("aaa") == ("a", "aa")


@pytest.mark.parametrize("form", ["", "xyz"])
def test_without_morphs_every_character_is_its_own_piece(form: str) -> None:
    assert model_of({}).search(form) == tuple(form)


def test_no_morph_beyond_the_longest_is_searched_for() -> None:
    fits, too_long = "a" * LONGEST_MORPH, "a" * (LONGEST_MORPH + 1)
    costs = {fits: 1.0, too_long: 1.0}
    assert model_of(costs).search(fits) == (fits,)
    assert len(model_of(costs).search(too_long)) == 2


def test_a_stored_segmentation_goes_before_the_search_and_need_not_spell_its_word() -> None:
    model = model_of(COSTS, undoing="un do ing", went="go ed")
    assert model.segment("undoing") == ("un", "do", "ing")
    assert model.search("undoing") == ("un", "doing")
    assert model.segment("went") == ("go", "ed")
    assert model.segment("doing") == ("doing",)


def test_ids_are_of_the_set_of_morphs_in_the_order_of_the_list_behind_three_markers() -> None:
    model = model_of({"do": 1.0, "un": 1.0})
    assert model.n_rows == 5
    assert model.ids("undounxdoy") == [4, 3, 1]  # un, do, and once the unknown morph
    assert model.ids("") == []


def test_a_model_comes_back_from_json_as_it_was() -> None:
    model = model_of(COSTS, undoing="un do ing", do="do")
    again = MorphModel.from_dict(json.loads(json.dumps(model.to_dict())), "v.json")
    assert again == model
    assert list(again.segmentations) == list(model.segmentations)


LISTED = "expected a list of morphs"
COSTLY = "expected 2 numbers of at most 10000"
CUT = "expected 1 to 10000 morphs with a blank between them"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"morphs": None}, f"morphs: found None; {LISTED}"),
        ({"morphs": ["a", 1]}, f"morphs: found 1; {LISTED}"),
        ({"morphs": ["a", ""]}, f"morphs: found ''; {LISTED}"),
        ({"morphs": ["a", "a"]}, "morphs: found 'a' twice; expected each once"),
        ({"morphs": ["a", "\ud800"]}, "morphs: found half a surrogate pair; expected text"),
        ({"costs": None}, f"costs of morphs: found None; {COSTLY}"),
        ({"costs": [1.0]}, f"costs of morphs: found [1.0]; {COSTLY}"),
        ({"costs": [1.0, "1"]}, f"costs of morphs: found [1.0, '1']; {COSTLY}"),
        ({"costs": [1.0, True]}, f"costs of morphs: found [1.0, True]; {COSTLY}"),
        ({"costs": [1.0, 1e5]}, f"costs of morphs: found [1.0, 100000.0]; {COSTLY}"),
        (
            {"costs": [1.0, 10**400]},
            f"costs of morphs: found [1.0, 1{'0' * 50}...; {COSTLY}",
        ),
        ({"costs": [1.0, math.nan]}, f"costs of morphs: found [1.0, nan]; {COSTLY}"),
        ({"segmentations": []}, "segmentations: found []; expected an object of words"),
        ({"segmentations": {"ab": ["a", "b"]}}, f"segmentation of 'ab': found ['a', 'b']; {CUT}"),
        (
            {"segmentations": {"ab": "a \ud800"}},
            "segmentations: found half a surrogate pair; expected text",
        ),
        (
            {"segmentations": {"\udc80": "a"}},
            "segmentations: found half a surrogate pair; expected text",
        ),
        ({"segmentations": {"ab": ""}}, f"segmentation of 'ab': found ''; {CUT}"),
        ({"segmentations": {"ab": "a  b"}}, f"segmentation of 'ab': found 'a  b'; {CUT}"),
        (
            {"segmentations": {"ab": "a " * 10_000 + "b"}},
            f"segmentation of 'ab': found '{'a ' * 28}...; {CUT}",
        ),
    ],
)
def test_what_no_vocab_wrote_is_refused(changes: dict[str, Any], message: str) -> None:
    value = model_of({"a": 1.0, "b": 2.0}, ab="a b").to_dict() | changes
    with pytest.raises(DataError) as caught:
        MorphModel.from_dict(value, "v.json")
    assert str(caught.value) == f"v.json: {message}"


def test_a_list_is_no_model() -> None:
    with pytest.raises(DataError) as caught:
        MorphModel.from_dict([], "v.json")
    assert str(caught.value) == (
        "v.json: morphs: found []; expected an object, as `charlm vocab` writes"
    )
