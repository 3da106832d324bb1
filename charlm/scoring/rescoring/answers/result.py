"""Results of `charlm score`, `tune` and `serve`: counts, weights, tuning and rates."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charlm.interface.json_results import plain
from charlm.interface.short_repr import ShortRepr
from charlm.nbest.hypotheses import Dedup
from charlm.nbest.metrics.calibration import Calibration
from charlm.nbest.metrics.metric_names import TextMetricName
from charlm.nbest.metrics.rates_report import RateReport
from charlm.nbest.ranking.weights import Weights
from charlm.nbest.reading.format import Format
from charlm.nbest.reading.repairs import Notices
from charlm.nbest.tuning.tuning import Tuned
from charlm.scoring.rescoring.answers.explain import Explanation
from charlm.scoring.rescoring.hypothesis_text import TextCounts
from charlm.scoring.rescoring.lattices import LatticeCounts, LatticeLists
from charlm.scoring.rescoring.pipeline import ListCounts, Pipeline
from charlm.scoring.rescoring.scorers.build_scorers import Scorers
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.normalisation.spelling_rules import Remedy

if TYPE_CHECKING:
    from charlm.scoring.rescoring.scorers.neural import Deviation


@dataclass(frozen=True, kw_only=True)
class RescoringResult(ShortRepr):
    """What was done to the lists; the lists themselves have been written."""

    source: str
    format: str
    counts: ListCounts
    text: TextCounts
    sharing: float | None  # tokens per computed prefix; None without a model
    scorers: dict[str, str]  # name of a feature → its source
    mixture: dict[str, float]  # weights of the mixed models; empty: no mixture
    spelled: tuple[str, ...]  # scorers whose unknown words are spelled
    by_sentence: tuple[str, ...]  # models trained on single sentences, without context
    weights: Weights | None  # for lattices, whose scales may differ, the last one's
    ignored: tuple[str, ...]  # features of the lists without a weight
    remedies: tuple[Remedy, ...]  # options that would make many unknown words known
    text_rules: Normalisation  # in addition to the model's own
    seconds: float
    notices: Notices  # what the reader corrected in the lists
    deviation: "Deviation | None"  # None: fp32
    lattices: LatticeCounts | None
    adaptation: str  # how models adapted to the chosen texts; empty: not at all

    def to_dict(self) -> dict[str, object]:
        counts = {name: n for name, n in vars(self.counts).items() if name.startswith("n_")}
        return counts | {name: plain(each) for name, each in vars(self).items() if name != "counts"}


@dataclass(frozen=True, kw_only=True)
class ScoreResult(RescoringResult):
    """What was done to lists that were written."""

    dedup: Dedup  # how hypotheses with the same words counted together
    mbr: TextMetricName | None  # whose expected error chose; None: the totals did
    report: RateReport | None
    confidences: Calibration | None  # of --write confidences, with references of words
    n_without_reference: int  # lists that the report leaves out
    explanation: Explanation | None


@dataclass(frozen=True, kw_only=True)
class ServeResult(RescoringResult):
    """What was done to lines that were answered."""

    dedup: Dedup
    mbr: TextMetricName | None
    n_errors: int  # lines that could not be served


@dataclass(frozen=True, kw_only=True)
class TuneResult(RescoringResult):
    """The weights that were found, and on what.

    `counts.n_moved`, `n_empty_wins` and `n_unknown_wins` refer to the search's initial weights.
    """

    weights: Weights
    tuned: Tuned
    n_without_reference: int  # lists that were left out of the tuning


def what_was_done(
    pipeline: Pipeline,
    form: Format,
    *,
    scorers: Scorers,
    source: str | Path,
    began: float,
    weights: Weights | None = None,
) -> dict[str, Any]:
    """The fields that all results share, for lists that have been processed.

    `weights` are those that were found; without them, the result has those that ranked the lists.
    """
    counts, text = pipeline.counts, pipeline.rescorer.text.counts
    weights = weights or pipeline.weights
    counted = {} if weights is None else weights.values
    lattices = form.counts if isinstance(form, LatticeLists) else None
    is_known = scorers.is_known
    return {
        "source": str(source),
        "format": form.name,
        "counts": counts,
        "text": text,
        "sharing": None if lattices else _sharing(scorers),
        "scorers": scorers.named,
        "mixture": scorers.mixture,
        "spelled": scorers.spelled,
        "by_sentence": scorers.by_sentence,
        "weights": weights,
        "ignored": tuple(name for name in counts.features if not counted.get(name)),
        "remedies": () if is_known is None else text.remedies(is_known),
        "text_rules": scorers.text_rules,
        "seconds": time.perf_counter() - began,
        "notices": pipeline.notices,
        "deviation": scorers.neural[0].deviation(counts.texts) if scorers.neural else None,
        "lattices": lattices,
        "adaptation": scorers.adaptation,
    }


def history_name(counts: ListCounts, adaptation: str) -> str:
    """What models knew of earlier lists; empty: nothing."""
    return adaptation or ("--context previous" if counts.n_recordings else "")


def _sharing(scorers: Scorers) -> float | None:
    n_prefixes = sum(each.n_prefixes for each in scorers.neural)
    return sum(each.n_tokens for each in scorers.neural) / n_prefixes if n_prefixes else None
