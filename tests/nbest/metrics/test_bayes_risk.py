"""The choice by expected errors: by hand, and every metric's errors between texts pair by pair."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.metrics.bayes_risk import by_risk
from charlm.nbest.metrics.metric_names import TextMetricName, metric_named
from charlm.nbest.ranking.confidences import posteriors
from charlm.nbest.ranking.weights import deduplicated

WER = metric_named("wer")
TEXTS = (
    "",
    " ",
    "a",
    "a a",
    "a b a b",
    "b a, a b.",
    "aa ab ba aa ab",
    "¿a b c d?",
    "c 'd' -- \t e",
)


def ranked(*texts: str, shares: tuple[float, ...] = ()) -> Rescored:
    hypotheses = tuple(Hypothesis(tuple(text.split()), {}, "f:1") for text in texts)
    order = tuple(sorted(range(len(shares)), key=lambda index: -shares[index]))
    totals = tuple(math.log(share) for share in shares)
    return Rescored(NbestList("u", hypotheses), totals=totals, order=order)


def test_what_others_agree_with_beats_the_likeliest() -> None:
    # "x y" is alone; "a b" is one edit from either of the others, and they two from each other.
    item = by_risk(ranked("x y", "a c", "a b", "d b", shares=(0.4, 0.15, 0.2, 0.25)), WER)
    assert item.risks == pytest.approx([1.2, 0.8 + 0.2 + 0.5, 0.8 + 0.15 + 0.25, 0.8 + 0.3 + 0.2])
    assert item.ranking == (0, 2, 3, 1)  # 1.2 twice: the likelier one stays first
    item = by_risk(ranked("x y", "a c", "a b", "d b", shares=(0.39, 0.15, 0.2, 0.26)), WER)
    assert item.ranking == (2, 0, 3, 1)


def test_without_weights_the_most_central_hypothesis_wins() -> None:
    item = by_risk(ranked("a x y", "a b c", "a b y"), WER)
    assert posteriors(item) == pytest.approx([1 / 3] * 3)
    assert (item.ranking, item.risks) == ((2, 0, 1), pytest.approx((1.0, 1.0, 2 / 3)))


@pytest.mark.parametrize("dedup", ["none", "sum"])
def test_a_text_that_stands_there_twice_has_the_posteriors_of_both(dedup: str) -> None:
    item = ranked("b", "a a", "a a", shares=(0.4, 0.35, 0.25))
    item = item if dedup == "none" else deduplicated(item, "sum")
    assert by_risk(item, WER).risks == pytest.approx((1.2, 0.8, 0.8))
    assert by_risk(item, WER).ranking == (1, 2, 0)


@pytest.mark.parametrize("name", ["wer", "cer", "bleu", "bleu-none", "chrf", "chrf++", "ter"])
@given(texts=st.lists(st.sampled_from(TEXTS), max_size=5))
def test_errors_between_texts_are_those_of_each_pair(
    name: TextMetricName, texts: list[str]
) -> None:
    metric, texts = metric_named(name), ["ab ca", *texts]
    pairs = [(reference, text) for reference in texts for text in texts]
    alone = np.array(metric.errors_alone(np.array([*metric.count(pairs)], np.int64)))
    found = metric.between(texts)
    assert found.ravel() == pytest.approx(alone.astype(float), abs=1e-12)
    assert found.shape == (len(texts), len(texts))
