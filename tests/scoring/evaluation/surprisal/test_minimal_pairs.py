"""Minimal pairs: right only if strictly better, uninformative pairs apart, means over sets."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError, DataError
from charlm.scoring.evaluation.surprisal.minimal_pairs import (
    PairAccuracy,
    PairResult,
    PairSet,
    differing,
)

PAIRS = [
    ("good", "bad", "one", "x"),  # right
    ("bad", "good", "one", "x"),  # wrong
    ("good too", "too good", "one", "x"),  # a tie: the model ignores the order
    ("good", "zz", "two", "x"),  # unknown
    ("good zz", "bad zz", "two", "x"),  # right: both have the unknown word
    ("good", "bad", "three", "y"),  # right
    ("bad", "good", "one", "x"),  # wrong: more than ties
]
KINDS = ("surprisal_good", "surprisal_bad", "judged")


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    names = ("sentence_good", "sentence_bad", "UID", "linguistics_term")
    path.write_text("".join(json.dumps(dict(zip(names, p, strict=True))) + "\n" for p in PAIRS))
    return path


def test_each_kind_of_judgement_is_counted_apart(arpa: Path, pairs: Path) -> None:
    result = charlm.minimal_pairs(pairs, lm=[arpa])
    assert result.sets == (
        (
            PairSet("one", "x", 1, 2, 1, 0),
            PairSet("two", "x", 1, 0, 0, 1),
            PairSet("three", "y", 1, 0, 0, 0),
        ),
    )
    assert result.total(0).accuracy == pytest.approx((1 / 4 + 1 + 1) / 3)
    assert [(each.name, each.accuracy) for each in result.by_term(0)] == [
        ("x", pytest.approx((1 / 4 + 1) / 2)),
        ("y", 1.0),
    ]
    assert result.to_dict()["uni"]["total"]["n_unknown"] == 1  # type: ignore[index]


def test_each_pair_has_a_row_with_the_bits_of_both_sentences(arpa: Path, pairs: Path) -> None:
    result = charlm.minimal_pairs(pairs, lm=[arpa])
    given = ("sentence_good", "sentence_bad", "UID", "linguistics_term")
    assert result.header == ("item", *given, "surprisal_good", "surprisal_bad", "judged")
    # Sums of negative log10 in the unigram model, the end's 1 among them.
    sums = [(2, 3), (3, 2), (3, 3), (2, 10), (11, 12), (2, 3), (3, 2)]
    outcomes = ["right", "wrong", "tie", "unknown", "right", "right", "wrong"]
    for number, row in enumerate(result.rows()):
        bits = [pytest.approx(each * math.log2(10)) for each in sums[number]]
        assert row == (number + 1, *PAIRS[number], *bits, outcomes[number])


def test_rows_of_several_models_name_them_and_keep_the_users_columns(
    arpa: Path, tmp_path: Path, save_unigrams: Callable[..., Path]
) -> None:
    other = save_unigrams(tmp_path / "other.arpa", end=-1, good=-3, bad=-math.inf)
    path = tmp_path / "a.tsv"
    path.write_text("item\tgood\tbad\tjudged\nA1\tgood\tbad\tyes\n")
    result = charlm.minimal_pairs(path, lm=[arpa, other], pair_columns="good,bad")
    measures = [f"{kind}_{name}" for name in ("uni", "other") for kind in KINDS]
    assert result.header == ("item", "given_item", "good", "bad", "given_judged", *measures)
    (row,) = result.rows()
    assert row[:5] == (1, "A1", "good", "bad", "yes")
    assert row[7:] == ("right", pytest.approx(4 * math.log2(10)), None, "right")


def test_a_run_prefers_what_it_scores_higher(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    sentences = [("a b c", "c b a"), ("h h", "g g"), ("a", "b d e")]
    path.write_text("good,bad\n" + "".join(",".join(pair) + "\n" for pair in sentences))
    result = charlm.minimal_pairs(path, model=[run], pair_columns="good, bad", device="cpu")
    named = charlm.minimal_pairs(path, model=[run], pair_columns=["good", "bad"], device="cpu")
    assert named == result
    model = charlm.load(run, device="cpu")
    n_right = sum(model.score(a).log10_prob > model.score(b).log10_prob for a, b in sentences)
    assert (result.total(0).counts()["n_right"], result.by_term(0)) == (n_right, [])


def test_an_open_vocabulary_judges_unknown_words(spelled_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sentence_good,sentence_bad\na zz,a zzzz\n")
    (closed,) = charlm.minimal_pairs(path, model=[spelled_run], device="cpu").sets[0]
    (opened,) = charlm.minimal_pairs(
        path, model=[spelled_run], device="cpu", open_vocabulary=True
    ).sets[0]
    assert (closed.n_unknown, opened.n_unknown, opened.n_judged) == (1, 0, 1)


def test_intervals_by_hand() -> None:
    half, sure = PairSet("a", "", 50, 50, 0, 0), PairSet("b", "", 100, 0, 0, 7)
    z2 = 1.959964**2
    low, high = PairAccuracy("", (sure,)).interval or (0, 0)
    assert (low, high) == (pytest.approx(100 / (100 + z2)), pytest.approx(1.0))
    wide = math.sqrt(z2 * (0.25 / 100 + z2 / 40_000)) / (1 + z2 / 100)  # Wilson's, of the half
    below, above = math.hypot(wide, 1 - low) / 2, wide / 2
    assert PairAccuracy("", (half, sure)).interval == pytest.approx((0.75 - below, 0.75 + above))


def test_few_pairs_that_are_all_right_are_no_certainty() -> None:
    sets = tuple(PairSet(name, "", 2, 0, 0, 0) for name in "abcd")
    low, high = PairAccuracy("", sets).interval or (0, 0)
    assert (low, high) == (pytest.approx(1 - (1 - 2 / (2 + 1.959964**2)) / 2), 1.0)
    none = PairAccuracy("", (PairSet("c", "", 0, 0, 0, 3),))
    assert (none.accuracy, none.interval) == (None, None)
    assert none.to_dict()["interval"] is None


def test_words_differ_by_their_number() -> None:
    assert differing(["a", "b", "a"], ["b", "a", "c"]) == ["a", "c"]
    assert differing(["a", "b"], ["b", "a"]) == []


def test_models_that_know_other_pairs_do_not_compare() -> None:
    one = (PairSet("a", "", 5, 3, 0, 2), PairSet("b", "", 0, 0, 0, 9))
    other = (PairSet("a", "", 6, 2, 0, 2), PairSet("b", "", 8, 1, 0, 0))
    lacking, apart = PairResult(("x", "y"), (one, other)).notes
    assert lacking.startswith(
        "x does not know the differing words of most pairs in 1 of 2 sets (b: 9 of 9): its "
        "accuracies are of the others, and its means leave out 1 sets with none; "
    )
    assert "the accuracies do not compare; give the models one vocabulary" in apart
    assert PairResult(("x", "y"), (one, one)).notes == (lacking, lacking.replace("x", "y", 1))
    assert PairResult(("x", "y"), (other, other)).notes == ()


@pytest.mark.parametrize(
    ("n_right", "n_unknown", "note"),
    [
        (5, 5, ""),
        (5, 6, "in 1 of 1 sets (a: 6 of 11): its accuracies are of the others; expected a model"),
        (0, 9, "in 1 of 1 sets (a: 9 of 9): it has no accuracy; expected a model of more words, o"),
    ],
)
def test_figures_of_few_of_the_pairs_or_of_none_are_told(
    n_right: int, n_unknown: int, note: str
) -> None:
    notes = PairResult(("x",), ((PairSet("a", "", n_right, 0, 0, n_unknown),),)).notes
    assert len(notes) == bool(note)
    assert note in "".join(notes)


def test_pairs_need_two_columns(arpa: Path, pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--pair-columns 'x': expected one of the columns"):
        charlm.minimal_pairs(pairs, lm=[arpa], pair_columns="x,y")
    with pytest.raises(ConfigError, match="--pair-columns 'x': expected two names with a comma"):
        charlm.minimal_pairs(pairs, lm=[arpa], pair_columns="x")
    table = tmp_path / "a.csv"
    table.write_text("good,bad\na,b\n")
    told = "--pairs: found the columns good, bad; .*; say which two by --pair-columns GOOD,BAD"
    with pytest.raises(ConfigError, match=told):
        charlm.minimal_pairs(table, lm=[arpa])
    text = tmp_path / "a.txt"
    text.write_text("a\n")
    with pytest.raises(ConfigError, match="found a text; .* or --format csv, tsv or jsonl"):
        charlm.minimal_pairs(text, lm=[arpa])


def test_a_pair_of_one_sentence_is_refused(arpa: Path, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("sentence_good,sentence_bad\na,b\na, \n")
    with pytest.raises(DataError, match="a.csv:3: nothing in column 'sentence_bad'; expected a se"):
        charlm.minimal_pairs(table, lm=[arpa])
