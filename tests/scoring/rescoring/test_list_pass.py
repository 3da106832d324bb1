"""Lists on their way through: recordings, weights and counts."""

import math
from collections.abc import Sequence

import pytest

from charlm.errors import DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, Unmarked
from charlm.nbest.repairs import WORST, Filling
from charlm.nbest.scorer import WordLogProbs, Words
from charlm.nbest.weights import Weights
from charlm.scoring.rescoring.hypothesis_text import HypothesisText
from charlm.scoring.rescoring.list_pass import SAMPLE, Pass
from charlm.scoring.rescoring.memory import Memory, recording_by
from charlm.scoring.rescoring.pipeline import Rescorer


class Remembering:
    """A scorer that notes what each sentence followed; more words are better."""

    name = "nn"

    def __init__(self) -> None:
        self.followed: list[object] = []

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        import numpy as np

        self.followed.append(memory)
        return [WordLogProbs(np.ones(len(w) + 1), np.ones(len(w), bool)) for w in sentences]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return (*(memory or ()), " ".join(sentence))  # type: ignore[misc]


def listed(id: str, *texts: str, recording: str = "") -> NbestList:
    found = tuple(Hypothesis(tuple(text.split()), {}, "f:1") for text in texts)
    return NbestList(id, found, recording=recording)


def a_pass(scorer: Remembering, *, memory: Memory | None = None, **options: object) -> Pass:
    return Pass(
        Rescorer([scorer], text=HypothesisText(None), memory=memory),
        lambda scored: Weights({"nn": 1.0}),
        lambda scored, result: None,
        "nn",
        **options,  # type: ignore[arg-type]
    )


def test_a_list_follows_the_winners_of_its_recording_and_no_other() -> None:
    scorer = Remembering()
    way = a_pass(scorer, memory=Memory([scorer], recording_of=recording_by(r"^(.*)-")))
    lists = [listed("x-1", "a", "b c"), listed("x-2", "d"), listed("y-1", "e"), listed("x-3", "f")]
    assert [result.best.words for result in way.run(lists)][0] == ("b", "c")
    assert scorer.followed == [None, ("b c",), None, None]
    assert way.counts.n_recordings == 3


def test_without_a_memory_lists_are_scored_together() -> None:
    scorer = Remembering()
    way = a_pass(scorer, at_once=3)
    assert (
        len(list(way.run([listed("x-1", "a", "b"), listed("x-2", "d"), listed("x-3", "e")]))) == 3
    )
    assert scorer.followed == [None, None]
    assert way.counts.n_recordings == 0


def test_counts_are_of_lists_and_of_what_is_odd_in_them() -> None:
    way = a_pass(Remembering())
    list(way.run([listed("u", "a", "b c", "a", ""), listed("v", "d")]))
    counts = way.counts
    assert (counts.n_lists, counts.n_choices, counts.n_moved) == (2, 1, 1)
    assert (counts.n_empty, counts.n_duplicates) == (1, 1)
    assert counts.texts == [("a",), ("b", "c"), ("a",), (), ("d",)]


def test_hypotheses_that_lost_marks_are_counted() -> None:
    way = a_pass(Remembering())
    marked = NbestList("v", (Hypothesis(Unmarked(("a",)), {}, "f:1"),) * 2)
    list(way.run([listed("u", "a"), marked]))
    assert way.notices.n_marked == 2


def test_a_feature_that_some_hypotheses_lack_is_filled_in_where_it_may_be_missing() -> None:
    features = [{"am": -1.0, "lm": -4.0}, {"am": -2.0}, {"am": -3.0, "lm": -9.0}]
    nbest = NbestList("u", tuple(Hypothesis(("a",), each, "f:1") for each in features))
    found = []
    way = a_pass(Remembering(), allow_missing=True)
    way.on_list = lambda scored, result: found.append(scored.table.take(["lm"]).values_HF.tolist())
    list(way.run([nbest]))
    assert found == [[[-4.0], [-9.0], [-9.0]]]
    assert way.notices.filled == {Filling("lm", "missing", WORST): 1}
    with pytest.raises(DataError, match="no feature 'lm'.*; --allow-missing takes the worst of th"):
        list(a_pass(Remembering()).run([nbest]))


def test_the_same_words_count_together_where_they_are_to() -> None:
    # Each text scores its words and 1 for its end, so that the totals are 2, 3, 2, 2.
    lists = [listed("u", "a", "b c", "a", "d"), listed("v", "a", "b", "a")]
    plain, by_sum = (list(a_pass(Remembering(), dedup=how).run(lists)) for how in ("none", "sum"))
    assert [each.ranking for each in plain] == [(1, 0, 2, 3), (0, 1, 2)]
    assert [each.ranking for each in by_sum] == [(1, 0, 2, 3), (0, 2, 1)]
    assert by_sum[0].totals == pytest.approx((2 + math.log(2), 3, 2 + math.log(2), 2))


def test_no_more_than_a_sample_of_texts_is_kept() -> None:
    way = a_pass(Remembering())
    list(way.run(listed(str(number), "a", "b") for number in range(SAMPLE)))
    assert len(way.counts.texts) == SAMPLE


def test_weights_are_asked_of_every_list_only_where_each_has_its_own() -> None:
    asked: list[str] = []
    for own in (False, True):
        way = a_pass(Remembering(), own_weights=own)
        way.choose_weights = lambda scored: asked.append(scored.nbest.id) or Weights({"nn": 1.0})
        list(way.run([listed("u", "a"), listed("v", "a")]))
    assert asked == ["u", "u", "v"]
