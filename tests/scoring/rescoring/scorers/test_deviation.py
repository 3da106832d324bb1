"""How far scores in a coarse format are from fp32's, from scoring the same sentences twice."""

from pathlib import Path

import numpy as np
import pytest

from charlm.run.stored_weights import load_run
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.scorers.neural import NeuralScorer

TEXTS = [["a", "b"], ["c", "d", "e"], [], ["h", "g", "zz", "a"]]


def scorer_of(run: Path, precision: str) -> NeuralScorer:
    loaded = load_run(run)
    return NeuralScorer(Walker(FormCache(loaded.model, loaded.inventory)), precision=precision)


def test_the_deviation_is_that_of_whole_sentences(run: Path) -> None:
    coarse, exact = (scorer_of(run, precision) for precision in ("bf16", "fp32"))
    found = coarse.deviation(TEXTS)
    apart = [
        abs(one.log_prob - other.log_prob)
        for one, other in zip(coarse.score(TEXTS), exact.score(TEXTS), strict=True)
    ]
    assert found is not None
    assert found.to_dict() == {
        "n_sentences": 4,
        "mean": pytest.approx(np.mean(apart), abs=1e-6),
        "largest": pytest.approx(max(apart), abs=1e-6),
    }
    assert 1e-4 < found.largest < 1


def test_there_is_none_in_fp32_or_without_texts(run: Path) -> None:
    assert scorer_of(run, "fp32").deviation(TEXTS) is None
    assert scorer_of(run, "bf16").deviation([]) is None
