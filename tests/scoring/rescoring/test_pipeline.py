"""Lists in the pipeline: scorers' features, the old model in Kaldi's score, recordings, counts."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import Hypothesis, NbestList, StrippedWords
from charlm.nbest.ranking.weights import Weights
from charlm.nbest.reading.recordings import recording_by
from charlm.nbest.reading.repairs import WORST, Filling
from charlm.nbest.scorer import WordLogProbs, Words
from charlm.nbest.scorers import FunctionScorer, NgramScorer
from charlm.ngram.files.load import load_ngram
from charlm.scoring.rescoring.hypothesis_text import HypothesisText
from charlm.scoring.rescoring.pipeline import SAMPLE, Pipeline, RecordingMemory, Rescorer
from charlm.text.corpus.normalisation.normalisation import Normalisation

ARPA = """\
\\data\\
ngram 1=5
ngram 2=1

\\1-grams:
-1\t<unk>\t0
-99\t<s>\t-0.5
-0.75\t</s>
-0.5\tWE\t-0.25
-0.25\tknow

\\2-grams:
-0.125\tWE know

\\end\\
"""


def counted(sentences: Sequence[Words]) -> list[list[float]]:
    """−1 a word of these, −3 the end."""
    return [[-1.0] * len(words) + [-3.0] for words in sentences]


SCORER = FunctionScorer(counted, name="nn")


def listed(*texts: str, id: str = "u", recording: str = "", **features: float) -> NbestList:
    found = [Hypothesis(tuple(text.split()), features, f"f:{i}") for i, text in enumerate(texts, 1)]
    return NbestList(id, tuple(found), recording=recording)


@pytest.fixture
def old(tmp_path: Path) -> NgramScorer:
    path = tmp_path / "old.arpa"
    path.write_text(ARPA)
    return NgramScorer(load_ngram(path), name="old_lm")


def plain() -> HypothesisText:
    return HypothesisText(None)


def test_each_scorer_gives_a_feature_of_its_name() -> None:
    other = FunctionScorer(lambda sentences: [[-0.5] * (len(w) + 1) for w in sentences], name="kn")
    lists = [listed("a b", "a", am=-7.0), listed("", id="v", am=2.0)]
    first, second = Rescorer([SCORER, other], text=plain()).score(lists)
    assert first.table.names == ("am", "nn", "kn", "words", "oov")
    assert first.table.values_HF.tolist() == [[-7, -5, -1.5, 2, 0], [-7, -4, -1, 1, 0]]
    assert second.table.values_HF.tolist() == [[2, -3, -0.5, 0, 0]]
    assert [score.log_prob for score in first.scores[1]] == [-1.5, -1.0]


def test_the_old_model_leaves_the_graph_score_and_becomes_a_feature(old: NgramScorer) -> None:
    text = HypothesisText(Normalisation(lower=True))
    lists = [listed("WE know", "WE", graph=-40.0, am=-7.0)]
    (found,) = Rescorer([SCORER], text=text, old_lm=old).score(lists)
    names, values = found.table.names, found.table.values_HF
    assert "graph" not in names
    # log10 of WE know </s> as the list spells them: back-off, bigram, unigram; of WE </s> likewise.
    expected = [(-0.5 - 0.5 - 0.125 - 0.75), (-0.5 - 0.5 - 0.25 - 0.75)]
    old_lm = values[:, names.index("old_lm")]
    assert old_lm == pytest.approx([each * math.log(10) for each in expected])
    assert values[:, names.index("graph_nolm")] + old_lm == pytest.approx([-40.0, -40.0])
    assert found.texts == (("we", "know"), ("we",))


def test_what_is_left_of_the_graph_score_is_what_the_list_has_from_then_on(
    old: NgramScorer,
) -> None:
    rescorer = Rescorer([SCORER], text=plain(), old_lm=old)
    (found,) = rescorer.score([listed("WE know", graph=-40.0, am=-7.0)])
    own = dict(found.nbest.hypotheses[0].features)
    assert own == {"am": -7.0, "graph_nolm": -40.0 - own["old_lm"], "old_lm": own["old_lm"]}
    with pytest.raises(DataError) as caught:
        rescorer.score([listed("WE", graph=-40.0, graph_nolm=-30.0)])
    assert str(caught.value) == (
        "f:1: found a feature 'graph_nolm' already; expected none; rename it"
    )


def test_a_list_without_a_graph_score_has_nothing_to_take_the_old_model_out_of(
    old: NgramScorer,
) -> None:
    rescorer = Rescorer([SCORER], text=plain(), old_lm=old)
    with pytest.raises(ConfigError) as caught:
        rescorer.score([listed("a", lm=-4.0)])
    assert str(caught.value) == (
        "f:1: no feature 'graph' to take --old-lm out of; expected Kaldi's graph score; drop "
        "--old-lm, or name the column so"
    )


def test_unknown_words_are_those_of_the_first_scorer(old: NgramScorer) -> None:
    rescorer = Rescorer([old, SCORER], text=plain())
    (found,) = rescorer.score([listed("WE know that that")])
    assert found.table.values_HF[:, found.table.names.index("oov")].tolist() == [2]
    assert found.unknown == (["that", "that"],)


def test_lists_that_come_scored_are_counted_by_what_is_known() -> None:
    rescorer = Rescorer([], text=plain(), is_known={"a"}.__contains__)
    (found,) = rescorer.score([listed("a b", nn=-2.0)])
    assert found.table.names == ("nn", "words", "oov")
    assert found.table.values_HF.tolist() == [[-2, 2, 1]]


class Remembering:
    """A scorer that notes what each sentence followed; more words are better."""

    name = "nn"

    def __init__(self) -> None:
        self.followed: list[object] = []

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        self.followed.append(memory)
        return [WordLogProbs(np.ones(len(w) + 1), np.ones(len(w), bool)) for w in sentences]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return (*(memory or ()), " ".join(sentence))  # type: ignore[misc]


def a_pipeline(
    scorer: Remembering, *, memory: RecordingMemory | None = None, **said: object
) -> Pipeline:
    return Pipeline(
        Rescorer([scorer], text=HypothesisText(None), memory=memory),
        lambda scored: Weights({"nn": 1.0}),
        ("nn",),
        **said,  # type: ignore[arg-type]
    )


def test_a_list_follows_the_winners_of_its_recording_and_no_other() -> None:
    scorer = Remembering()
    pipeline = a_pipeline(
        scorer, memory=RecordingMemory([scorer], recording_of=recording_by(r"^(.*)-"))
    )
    lists = [
        listed("a", "b c", id="x-1"),
        listed("d", id="x-2"),
        listed("e", id="y-1"),
        listed("f", id="x-3"),
    ]
    assert [result.best.words for _, result in pipeline.run(lists)][0] == ("b", "c")
    assert scorer.followed == [None, ("b c",), None, None]
    assert pipeline.counts.n_recordings == 3


def test_without_a_memory_lists_are_scored_together() -> None:
    scorer = Remembering()
    pipeline = a_pipeline(scorer, at_once=3)
    lists = [listed("a", "b", id="x-1"), listed("d", id="x-2"), listed("e", id="x-3")]
    assert len(list(pipeline.run(lists))) == 3
    assert scorer.followed == [None, None]
    assert pipeline.counts.n_recordings == 0


def test_counts_are_of_lists_and_of_what_is_odd_in_them() -> None:
    pipeline = a_pipeline(Remembering())
    list(pipeline.run([listed("a", "b c", "a", "", id="u"), listed("d", id="v")]))
    counts = pipeline.counts
    assert (counts.n_lists, counts.n_choices, counts.n_moved) == (2, 1, 1)
    assert (counts.n_empty, counts.n_duplicates) == (1, 1)
    assert counts.texts == [("a",), ("b", "c"), ("a",), (), ("d",)]


def test_hypotheses_that_lost_marks_are_counted() -> None:
    pipeline = a_pipeline(Remembering())
    marked = NbestList("v", (Hypothesis(StrippedWords(("a",)), {}, "f:1"),) * 2)
    list(pipeline.run([listed("a", id="u"), marked]))
    assert pipeline.notices.n_marked == 2


def test_a_feature_that_some_hypotheses_lack_is_filled_in_where_it_may_be_missing() -> None:
    features = [{"am": -1.0, "lm": -4.0}, {"am": -2.0}, {"am": -3.0, "lm": -9.0}]
    nbest = NbestList("u", tuple(Hypothesis(("a",), each, "f:1") for each in features))
    pipeline = a_pipeline(Remembering(), allow_missing=True)
    ((scored, _),) = pipeline.run([nbest])
    assert scored.table.take(["lm"]).values_HF.tolist() == [[-4.0], [-9.0], [-9.0]]
    assert pipeline.notices.filled == {Filling("lm", "missing", WORST): 1}
    with pytest.raises(DataError, match="no feature 'lm'.*; --allow-missing takes the worst of th"):
        list(a_pipeline(Remembering()).run([nbest]))


def test_the_same_words_count_together_where_they_are_to() -> None:
    # Each text scores its words and 1 for its end, so that the totals are 2, 3, 2, 2.
    lists = [listed("a", "b c", "a", "d", id="u"), listed("a", "b", "a", id="v")]
    plain, by_sum = (
        [result for _, result in a_pipeline(Remembering(), dedup=how).run(lists)]
        for how in ("none", "sum")
    )
    assert [each.ranking for each in plain] == [(1, 0, 2, 3), (0, 1, 2)]
    assert [each.ranking for each in by_sum] == [(1, 0, 2, 3), (0, 2, 1)]
    assert by_sum[0].totals == pytest.approx((2 + math.log(2), 3, 2 + math.log(2), 2))


def test_no_more_than_a_sample_of_texts_is_kept() -> None:
    pipeline = a_pipeline(Remembering())
    list(pipeline.run(listed("a", "b", id=str(number)) for number in range(SAMPLE)))
    assert len(pipeline.counts.texts) == SAMPLE


def test_weights_are_asked_of_every_list_only_where_each_has_its_own() -> None:
    asked: list[str] = []
    for own in (False, True):
        pipeline = a_pipeline(Remembering(), own_weights=own)
        pipeline.choose_weights = lambda scored: (
            asked.append(scored.nbest.id) or Weights({"nn": 1.0})
        )
        list(pipeline.run([listed("a", id="u"), listed("a", id="v")]))
    assert asked == ["u", "u", "v"]


class Collecting:
    """A scorer that remembers all sentences."""

    name = "nn"

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        return []

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return (*(memory or ()), *sentence)  # type: ignore[misc]


def test_every_scorer_remembers_what_was_said_in_the_recording_and_nothing_else() -> None:
    memory = RecordingMemory([Collecting(), Collecting()], recording_of=recording_by("^(.)"))
    seen = []
    for key in ("x1", "x2", "x3", "y1"):
        memory.enter(listed("a", id=key))
        memory.enter(listed("a", id=key))  # as a searched lattice comes again as a list
        seen.append(memory.states)
        memory.remember([key])
    assert seen == [[None, None], [("x1",)] * 2, [("x1", "x2")] * 2, [None, None]]
    assert memory.n_recordings == 2


def test_without_scorers_a_lists_own_features_rank_it_or_else_its_order() -> None:
    nbest = listed("a", "b", am=-3.0)
    nbest = NbestList("u", (*nbest.hypotheses, *listed("c", am=-1.0).hypotheses))
    found = []
    for weights in ({"am": 1.0}, {}):
        rescorer = Rescorer([], text=HypothesisText(None))
        pipeline = Pipeline(rescorer, lambda scored, values=weights: Weights(values), ())
        ((_, result),) = pipeline.run([nbest])
        found.append((result.ranking, result.totals, result.scores, result.models))
    assert found == [((2, 0, 1), (-3.0, -3.0, -1.0), (), {}), ((0, 1, 2), (), (), {})]
