"""Explanations: parts that sum to the difference of the totals, and the deciding word."""

import json
from collections.abc import Sequence
from math import log
from pathlib import Path

import numpy as np
import pytest

import charlm
from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.ranking.features import feature_table, weighted
from charlm.nbest.ranking.weights import Weights
from charlm.nbest.scorer import WordLogProbs
from charlm.scoring.rescoring.answers.explain import ExplainRequest, Explanation, explain
from charlm.scoring.rescoring.pipeline import ScoredList

TEN = log(10)


def score(*log10_probs: float, unknown: int | None = None) -> WordLogProbs:
    """What a scorer says of a sentence; the word in place `unknown` is outside its vocabulary."""
    known = np.arange(len(log10_probs) - 1) != (-1 if unknown is None else unknown)
    return WordLogProbs(np.array(log10_probs) * TEN, known)


def scored_list(nbest: NbestList, scores: tuple[WordLogProbs, ...], *texts: str) -> ScoredList:
    """The list under one scorer, nn; `texts`: what it read, if not what stands in the list."""
    read = [tuple(text.split()) for text in texts] or [each.words for each in nbest.hypotheses]
    table = feature_table(nbest, added={"nn": [each.log_prob for each in scores]})
    return ScoredList(nbest, table, tuple(read), (scores,), unknown=())


def explained(
    texts: tuple[str, str],
    scores: tuple[WordLogProbs, WordLogProbs],
    *,
    am: tuple[float, float],
    ranks: tuple[int, int] = (1, 2),
) -> tuple[Explanation, float]:
    """The explanation, with weights am 2, nn 0.5; and the difference of the totals, log10."""
    hypotheses = [
        Hypothesis(tuple(text.split()), {"am": value * TEN}, "x:1")
        for text, value in zip(texts, am, strict=True)
    ]
    scored = scored_list(NbestList("u", tuple(hypotheses)), scores)
    weights = Weights({"am": 2.0, "nn": 0.5})
    totals = weighted(scored.table.values_HF, weights.of(scored.table)) / TEN
    found = explain(scored, ranks, names=("nn",), weights=weights)
    return found, float(abs(totals[0] - totals[1]))


def test_features_and_words_add_up_to_the_difference_of_the_totals() -> None:
    found, difference = explained(
        ("we do know", "we no that"),
        (score(-1, -2, -1, -3), score(-1, -4, -4, -1)),
        am=(-5.0, -4.5),
    )
    assert (found.winner_rank, found.other_rank) == (1, 2)
    assert found.features_difference == pytest.approx(-1.0)
    assert [row.difference for row in found.words] == pytest.approx([0, 1, 1.5, -1])
    assert [row.so_far for row in found.words] == pytest.approx([-1, 0, 1.5, 0.5])
    assert found.difference == pytest.approx(difference) == pytest.approx(0.5)
    assert [(row.winner, row.other) for row in found.words] == [
        ("we", "we"),
        ("do", "no"),
        ("know", "that"),
        ("</s>", "</s>"),
    ]
    assert found.deciding is not None
    assert found.deciding.winner == "know"


def test_the_higher_total_is_the_winner_in_whatever_order_they_are_named() -> None:
    arguments = (("a", "b"), (score(-3, -1), score(-1, -1)))
    first, _ = explained(*arguments, am=(0.0, 0.0))
    second, _ = explained(*arguments, am=(0.0, 0.0), ranks=(2, 1))
    assert first == second
    assert (first.winner_rank, first.words[0].winner) == (2, "b")


def test_a_word_that_the_other_has_not_stands_beside_an_empty_one() -> None:
    found, difference = explained(
        ("a b c", "a c"), (score(-1, -2, -1, -1), score(-1, -4, -4)), am=(0.0, 0.0)
    )
    assert [(row.winner, row.other) for row in found.words] == [
        ("a", "a"),
        ("b", ""),
        ("c", "c"),
        ("</s>", "</s>"),
    ]
    assert found.words[1].winner_log10_probs == pytest.approx((-2.0,))
    assert found.words[1].other_log10_probs == (0.0,)
    assert found.difference == pytest.approx(difference)


def test_the_word_that_brings_most_decides_and_not_the_one_that_tips_the_scales() -> None:
    found, _ = explained(
        ("one two ki", "one tvvo hi"),
        (score(-1, -1, -1, -1), score(-1, -7, -3, -1, unknown=1)),
        am=(-3.0, -1.5),
    )
    assert [row.so_far > 0 for row in found.words] == [False, False, True, True]
    assert found.deciding is not None
    assert (found.deciding.winner, found.deciding.other) == ("two", "tvvo")
    assert found.deciding.difference == pytest.approx(3.0)
    assert found.difference == pytest.approx(1.0)


def test_a_word_that_a_scorer_does_not_know_is_marked() -> None:
    found, _ = explained(
        ("the cat", "the catz"), (score(-1, -1, -1), score(-1, -7, -1, unknown=1)), am=(0.0, 0.0)
    )
    _, rows = found.table()
    assert [row[:2] for row in rows[2:]] == [["the", "the"], ["cat", "catz*"], ["</s>", "</s>"]]
    assert found.lacking_a_word == ("nn",)
    told = [(row.winner_known, row.other_known) for row in found.words]
    assert told == [((True,), (True,)), ((True,), (False,)), ((True,), (True,))]


def test_a_lead_that_is_lost_and_won_again_is_decided_by_what_brings_most() -> None:
    found, _ = explained(
        ("a b c", "x y z"), (score(-1, -6, -1, -1), score(-3, -1, -9, -1)), am=(0.0, 0.0)
    )
    assert [row.so_far > 0 for row in found.words] == [True, False, True, True]
    assert [row.decided for row in found.words] == [False, False, True, False]


def test_a_word_that_ends_a_draw_decides() -> None:
    found, _ = explained(("a b", "a c"), (score(-1, -1, -1), score(-1, -3, -1)), am=(0.0, 0.0))
    assert found.deciding is not None
    assert found.deciding.winner == "b"


def test_where_the_features_decide_no_word_does() -> None:
    found, _ = explained(("a", "b"), (score(-2, -1), score(-1, -1)), am=(-1.0, -3.0))
    assert found.winner_rank == 1
    assert found.deciding is None


def test_of_equal_totals_the_first_of_the_list_wins_and_nothing_decides() -> None:
    found, _ = explained(("a", "b"), (score(-1, -1), score(-1, -1)), am=(-1.0, -1.0), ranks=(2, 1))
    assert (found.winner_rank, found.other_rank) == (1, 2)
    assert (found.difference, found.deciding) == (0.0, None)


def test_of_equal_totals_the_larger_am_wins_as_in_the_ranking() -> None:
    # 2·−2 + 0.5·−4 = 2·−1 + 0.5·−8
    found, _ = explained(("a", "b"), (score(-2, -2), score(-4, -4)), am=(-2.0, -1.0))
    assert found.difference == pytest.approx(0.0)
    assert (found.winner_rank, found.other_rank) == (2, 1)


def test_without_a_weight_the_first_of_the_list_wins_as_in_the_ranking() -> None:
    hypotheses = (Hypothesis(("a",), {"am": -2.0}, "x:1"), Hypothesis(("b",), {"am": -1.0}, "x:2"))
    scored = scored_list(NbestList("u", hypotheses), (score(-1, -1), score(-1, -1)))
    for weights in (Weights({}), Weights({"nn": 0.0})):
        found = explain(scored, (1, 2), names=("nn",), weights=weights)
        assert (found.winner_rank, found.other_rank, found.difference) == (1, 2, 0.0)


def test_texts_are_shown_as_the_scorers_read_them() -> None:
    hypotheses = (Hypothesis(("DON'T",), {}, "x:1"), Hypothesis(("NO",), {}, "x:2"))
    nbest = NbestList("u", hypotheses)
    pair, weights = (score(-1, -2, -1), score(-1, -1)), Weights({"nn": 1.0})
    scored = scored_list(nbest, pair, "do n't", "no")
    found = explain(scored, (1, 2), names=("nn",), weights=weights)
    assert found.winner_rank == 2
    assert [row.winner for row in found.words if row.winner] == ["no", "</s>"]
    assert [row.other for row in found.words] == ["do", "n't", "</s>"]


def test_the_table_shows_features_words_sums_and_the_deciding_word() -> None:
    found, _ = explained(("a b", "a"), (score(-1.0002, -2, -1), score(-1, -9)), am=(-5.0, -4.5))
    header, rows = found.table()
    assert header == ["winner", "other", "nn winner", "nn other", "difference", "so far", ""]
    assert rows == [
        ["am -11.5129 ×2", "am -10.3616 ×2", "", "", "-1.000", "", ""],
        ["(features)", "(features)", "", "", "-1.000", "-1.000", ""],
        ["a", "a", "-1.000", "-1.000", "+0.000", "-1.000", ""],
        ["b", "", "-2.000", "", "-1.000", "-2.000", ""],
        ["</s>", "</s>", "-1.000", "-9.000", "+4.000", "+2.000", "<"],
    ]
    assert found.to_dict()["difference"] == pytest.approx(1.9999)


LISTS = "x\t-1\ta b\nx\t-2\ta c\nx\t-9\td\nx:1,2\t-1\ta\ny\t-1\th\n"


@pytest.mark.parametrize(
    ("weight", "question", "ranks"),
    [
        ("c2=1", "x", (1, 2)),  # the first is the best: against the next best
        ("c2=-1", "x", (3, 1)),  # the best against the first
        ("c2=1", "x:3,2", (2, 3)),
        ("c2=1", "x: 3, 1", (1, 3)),
    ],
)
def test_the_better_of_two_is_explained(
    run: Path, lists: Path, weight: str, question: str, ranks: tuple[int, int]
) -> None:
    found = charlm.score(lists, model=run, weight=[weight, "nn=0"], explain=question).explanation
    assert found is not None
    assert (found.id, found.winner_rank, found.other_rank) == ("x", *ranks)
    assert found.difference > 0


@pytest.mark.parametrize(("first", "ranks"), [("-1", (1, 3)), ("-9", (2, 3))])
def test_a_text_is_not_compared_with_itself(
    run: Path, tmp_path: Path, first: str, ranks: tuple[int, int]
) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text(f"x\t{first}\ta b\nx\t-2\ta b\nx\t-3\ta c\n")
    found = charlm.score(path, model=run, weight=["c2=1", "nn=0"], explain="x").explanation
    assert found is not None
    assert (found.winner_rank, found.other_rank) == ranks


def test_words_and_features_add_up_to_the_difference(run: Path, lists: Path) -> None:
    pieces: list[str] = []
    options = {"model": run, "weight": ["c2=2", "nn=.5"]}
    charlm.score(lists, write="nbest", out=pieces.append, **options)
    hyps = {h["text"]: h["scores"] for h in json.loads(pieces[0])["hyps"]}
    found = charlm.score(lists, explain="x:1,2", **options).explanation
    assert found is not None
    apart = abs(hyps["a b"]["charlm_total"] - hyps["a c"]["charlm_total"]) / log(10)
    assert found.difference == pytest.approx(apart, abs=1e-5)
    assert found.words[-1].so_far == pytest.approx(apart, abs=1e-5)


@pytest.mark.parametrize("question", ["", ":1,2"])
def test_a_question_names_a_list(question: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ExplainRequest(question, names=("nn",))
    assert str(caught.value) == (f"--explain {question!r}: expected UTT or UTT:A,B, as utt1:1,2")


@pytest.mark.parametrize(
    ("question", "kind", "message"),
    [
        ("x:1,²", DataError, "--explain: found no list 'x:1,²'; expected the id of one"),
        ("z", DataError, "--explain: found no list 'z'; expected the id of one"),
        ("y", ConfigError, "--explain: list 'y' has one hypothesis; expected two to compare"),
        ("x:1,4", ConfigError, "list 'x': no hypothesis 4; expected 1 to 3"),
        ("x:0,1", ConfigError, "list 'x': no hypothesis 0; expected 1 to 3"),
        ("x:2,2", ConfigError, "list 'x': hypothesis 2 twice; expected two of them"),
    ],
)
def test_what_cannot_be_explained_is_one_line(
    run: Path, lists: Path, question: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        charlm.score(lists, model=run, explain=question)
    assert str(caught.value) == message


def test_a_list_that_is_not_there_is_told_before_any_is_scored(lists: Path, tmp_path: Path) -> None:
    asked: list[object] = []

    def scores(sentences: Sequence[Sequence[str]]) -> list[list[float]]:
        asked.append(sentences)
        return [[-1.0] * (len(words) + 1) for words in sentences]

    out = tmp_path / "out"
    with pytest.raises(DataError, match="^--explain: found no list 'z'"):
        charlm.score(lists, scorer=charlm.FunctionScorer(scores), explain="z", out=out)
    assert not asked
    assert not out.exists()


def test_an_id_may_hold_colons(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lists.tsv"
    path.write_text("a:1\tb\na:1\tc\n")
    found = charlm.score(path, model=run, explain="a:1").explanation
    assert found is not None
    assert found.id == "a:1"


def test_lattices_are_explained_as_lists(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lattices"
    path.write_text("utt\n0\t1\ta\t1,10\n0\t1\tb\t1,10\n1\n\n")
    with pytest.raises(ConfigError) as caught:
        charlm.score(path, model=run, explain="later")  # told before the first is searched
    assert str(caught.value) == (
        "--explain: found a lattice; expected a list; write one with --write nbest "
        "--weight am=NUMBER and without models, which read the list then"
    )
    charlm.score(path, weight=["am=0.1"], write="nbest", out=tmp_path / "lists.jsonl")
    lists, weight = tmp_path / "lists.jsonl", ["am=0.1", "nn=1"]
    assert charlm.score(lists, model=run, weight=weight, explain="utt").explanation


def test_without_a_model_features_alone_are_explained(lists: Path) -> None:
    found = charlm.score(lists, weight=["c2=2"], explain="x:1,3").explanation
    assert found is not None
    assert [(each.name, each.winner, each.other) for each in found.features] == [("c2", -1, -9)]
    assert found.difference == pytest.approx(16 / log(10))
    assert found.deciding is None
