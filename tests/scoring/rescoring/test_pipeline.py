"""Features that scorers add to lists, and the old model that is taken out of Kaldi's score."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.scorer import FunctionScorer, NgramScorer, Words
from charlm.ngram.load import load_ngram
from charlm.scoring.rescoring.hypothesis_text import HypothesisText
from charlm.scoring.rescoring.pipeline import Rescorer, in_batches
from charlm.text.corpus.normalisation import Normalisation

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


def listed(*texts: str, id: str = "u", **features: float) -> NbestList:
    found = [Hypothesis(tuple(text.split()), features, f"f:{i}") for i, text in enumerate(texts, 1)]
    return NbestList(id, tuple(found))


@pytest.fixture
def old(tmp_path: Path) -> NgramScorer:
    path = tmp_path / "old.arpa"
    path.write_text(ARPA)
    return NgramScorer(load_ngram(path), name="old_lm")


def plain() -> HypothesisText:
    return HypothesisText(None)


def test_each_scorer_gives_a_feature_of_its_name() -> None:
    other = FunctionScorer(lambda sentences: [[0.5] * (len(w) + 1) for w in sentences], name="kn")
    lists = [listed("a b", "a", am=-7.0), listed("", id="v", am=2.0)]
    first, second = Rescorer([SCORER, other], text=plain()).score(lists)
    assert first.table.names == ("am", "nn", "kn", "words", "oov")
    assert first.table.values_HF.tolist() == [[-7, -5, 1.5, 2, 0], [-7, -4, 1, 1, 0]]
    assert second.table.values_HF.tolist() == [[2, -3, 0.5, 0, 0]]
    assert [score.log_prob for score in first.scores[1]] == [1.5, 1.0]


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
    assert rescorer.text.counts.unknown == {"that": 2}


def test_lists_that_come_scored_are_counted_by_what_is_known() -> None:
    rescorer = Rescorer([], text=plain(), is_known={"a"}.__contains__)
    (found,) = rescorer.score([listed("a b", nn=-2.0)])
    assert found.table.names == ("nn", "words", "oov")
    assert found.table.values_HF.tolist() == [[-2, 2, 1]]


def test_batches_hold_whole_lists_of_so_many_hypotheses_or_more() -> None:
    lists = [listed(*["a"] * n, id=str(n)) for n in (2, 1, 3, 1)]

    def ids(at_once: int) -> list[list[str]]:
        return [[each.id for each in batch] for batch in in_batches(lists, at_once=at_once)]

    assert ids(3) == [["2", "1"], ["3"], ["1"]]
    assert ids(0) == [["2"], ["1"], ["3"], ["1"]]
