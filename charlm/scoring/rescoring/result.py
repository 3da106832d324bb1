"""What `charlm score` did: counts, weights, tuning and rates."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from charlm.nbest.duplicates import Dedup
from charlm.nbest.metrics.rates_report import RateReport
from charlm.nbest.repairs import Notices
from charlm.nbest.tuning.tuning import Tuned
from charlm.nbest.weights import Weights
from charlm.scoring.rescoring.explain import Explanation
from charlm.scoring.rescoring.hypothesis_text import TextCounts
from charlm.scoring.rescoring.lattices import LatticeCounts
from charlm.scoring.rescoring.list_pass import ListCounts
from charlm.scoring.rescoring.precision_error import Deviation, deviation
from charlm.scoring.rescoring.score_run import Outcome
from charlm.scoring.rescoring.scorers.build_scorers import Scorers


@dataclass(frozen=True)
class ScoreResult:
    """What was done to the lists; they themselves have been written."""

    source: str  # empty: weights were tuned and nothing else
    format: str
    counts: ListCounts
    text: TextCounts
    sharing: float | None  # tokens over the prefixes that were computed; None without a model
    scorers: dict[str, str]  # name of a feature → what gives it
    mixture: dict[str, float]  # weights of the models of one mixture; empty: no mixture
    weights: Weights | None  # of lattices, whose scales may differ, those of the last
    ignored: tuple[str, ...]  # features of the lists that count nothing
    # Of the unknown tokens, the share that the model would know in lower case.
    known_in_lower_case: float
    seconds: float
    dedup: Dedup = "none"  # what hypotheses with the same words counted together
    notices: Notices = field(default_factory=Notices)  # what the reader put right in the lists
    dev_notices: Notices = field(default_factory=Notices)  # and in those of the tuning
    deviation: Deviation | None = None  # None: fp32
    tuned: Tuned | None = None
    report: RateReport | None = None
    n_without_reference: int = 0  # lists that the report leaves out
    n_errors: int = 0  # lines that could not be served
    lattices: LatticeCounts | None = None
    explanation: Explanation | None = None

    def to_dict(self) -> dict[str, object]:
        """As JSON."""
        counts = {k: v for k, v in vars(self.counts).items() if k.startswith("n_")}
        parts = {
            name: None if part is None else part.to_dict()
            for name, part in (
                ("weights", self.weights),
                ("deviation", self.deviation),
                ("tuned", self.tuned),
                ("report", self.report),
                ("lattices", self.lattices),
                ("explanation", self.explanation),
            )
        }
        return {
            "source": self.source,
            "format": self.format,
            **counts,
            "text": self.text.to_dict(),
            "sharing": self.sharing,
            "scorers": self.scorers,
            "mixture": self.mixture,
            "ignored": list(self.ignored),
            "known_in_lower_case": self.known_in_lower_case,
            "n_without_reference": self.n_without_reference,
            "n_errors": self.n_errors,
            "dedup": self.dedup,
            "notices": self.notices.to_dict(),
            "dev_notices": self.dev_notices.to_dict(),
            "seconds": self.seconds,
            **parts,
        }


def result_of(
    scorers: Scorers,
    outcome: Outcome,
    *,
    source: str | Path | None,
    dedup: Dedup,
    began: float,
) -> ScoreResult:
    """What is to be told of a finished job."""
    tuned, done, measured = outcome.tuned, outcome.done, outcome.measured
    counts = ListCounts() if done is None else done.way.counts
    text = TextCounts() if done is None else done.way.rescorer.text.counts
    weights = done.way.weights if done is not None else (tuned.weights if tuned else None)
    counted = {} if weights is None else weights.values
    is_list = done is not None and done.lattices is None
    return ScoreResult(
        source="" if source is None else str(source),
        format="" if done is None else done.form,
        counts=counts,
        text=text,
        sharing=_sharing(scorers) if is_list else None,
        scorers=scorers.named,
        mixture=scorers.mixture,
        weights=weights,
        ignored=tuple(name for name in counts.features if not counted.get(name)),
        known_in_lower_case=text.would_be_known(scorers.is_known),
        seconds=time.perf_counter() - began,
        dedup=dedup,
        notices=outcome.notices,
        dev_notices=outcome.dev_notices,
        deviation=deviation(scorers.neural[0], counts.texts) if scorers.neural else None,
        tuned=tuned,
        report=None if measured is None else measured.report,
        n_without_reference=0 if measured is None else measured.n_left_out,
        n_errors=0 if done is None else done.n_errors,
        lattices=None if done is None else done.lattices,
        explanation=None if done is None else done.explanation,
    )


def _sharing(scorers: Scorers) -> float | None:
    n_prefixes = sum(each.n_prefixes for each in scorers.neural)
    return sum(each.n_tokens for each in scorers.neural) / n_prefixes if n_prefixes else None
