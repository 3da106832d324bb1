"""A list as it is kept for a report."""

from charlm.nbest.hypotheses import Hypothesis, NbestList


def test_a_list_without_layout_keeps_equal_words_once_and_the_features_that_are_asked_for() -> None:
    texts = [("".join(["wor", "d"]), str(n)) for n in (1, 2)]
    hypotheses = [Hypothesis(each, {"am": 1.0, "lm": 2.0}, "a.tsv:1", "row") for each in texts]
    nbest = NbestList("u", tuple(hypotheses), original="template")

    kept = nbest.without_layout(features=["lm", "hyp_len"])

    first, second = kept.hypotheses
    assert [first.features, second.features] == [{"lm": 2.0}] * 2
    assert first.words[0] is second.words[0]
    assert [kept.original, first.original, first.place] == [None, None, "a.tsv:1"]
