"""How far scores in a coarse number format are from fp32's: measured on the lists at hand."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from charlm.nbest.scorer import Words
from charlm.scoring.likelihood.form_cache import FormCache
from charlm.scoring.likelihood.walker import Walker
from charlm.scoring.rescoring.scorers.neural import NeuralScorer


@dataclass(frozen=True)
class Deviation:
    """Of sentences' scores, in nats."""

    n_sentences: int
    mean: float
    largest: float

    def to_dict(self) -> dict[str, float | int]:
        return dict(vars(self))


def deviation(scorer: NeuralScorer, texts: Sequence[Words]) -> Deviation | None:
    """Of texts under a scorer that is not in fp32; None if it is, or without a text."""
    if scorer.precision == "fp32" or not texts:
        return None
    coarse = scorer.forms
    # A cache of its own: the scorer's holds vectors that were made in the coarse format.
    forms = FormCache(
        coarse.model,
        coarse.inventory,
        oov_input="spelling" if coarse.by_spelling else "unk",
    )
    walker = Walker(forms, unnormalised=scorer.walker.unnormalised)
    exact = NeuralScorer(walker, name=scorer.name)
    ours, theirs = (
        np.array([each.log_prob for each in one.score(texts)]) for one in (scorer, exact)
    )
    apart = np.abs(ours - theirs)
    return Deviation(len(texts), float(apart.mean()), float(apart.max()))
