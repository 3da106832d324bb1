"""Options shared by `charlm score` and `serve`: how a list is ranked, and how it is written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from charlm.errors import ConfigError
from charlm.interface.options import Opt
from charlm.nbest.hypotheses import LARGEST, Dedup
from charlm.nbest.metrics.metric_names import TextMetricName
from charlm.nbest.reading.format import SAME_FORMAT
from charlm.scoring.rescoring.options.rescoring_options import RescoringOptions
from charlm.text.io.lines import UTF8

LISTS = (*SAME_FORMAT, "nbest")  # layouts with all hypotheses of each list
POSTERIORS = ("nbest", "confidences", "ctm")  # layouts that hold them


@dataclass(frozen=True, kw_only=True)
class OutputOptions(RescoringOptions):
    """Adds how the resulting lists are weighted and laid out."""

    weights: Annotated[str | Path | None, Opt("File of feature weights, as tune writes it.")] = None
    sort: Annotated[
        bool,
        Opt(
            "Write the best hypotheses first, as --write ranked; otherwise the list's order is "
            "kept.",
            "Output",
        ),
    ] = False
    dedup: Annotated[
        Dedup,
        Opt(
            "How hypotheses with the same words are ranked: each for itself (none), or together by "
            "log \u03a3 exp of their totals, each times the posterior scale (sum), or by the "
            "largest of them (max). The best one represents them with its own features; the lines "
            "of the others are kept, after it where ranked, but nbest leaves them out. tune goes "
            "by the largest.",
            "Output",
        ),
    ] = "none"
    mbr: Annotated[
        TextMetricName | None,
        Opt(
            "Choose by minimum Bayes risk: not the largest total, but the lowest expected error "
            "by this metric, if each hypothesis of the list is the reference with its posterior. "
            "Where nothing has a weight, all are equally likely, as translations of several "
            "systems may be. All pairs are compared; a pair takes ter 3 ms.",
            "Output",
        ),
    ] = None
    posterior_scale: Annotated[
        float | None,
        Opt(
            "Number by which totals are multiplied for posteriors, confidences, --mbr and --dedup "
            "sum: a small one makes them less sure. If not given: that of --weights, which tune "
            "fits, else 1.",
            "Output",
            least=0,
            most=LARGEST,
        ),
    ] = None
    write: str

    @property
    def layout(self) -> str:
        """How lists are written."""
        return "ranked" if self.sort and self.write == "scored" else self.write

    @property
    def written_encoding(self) -> str:
        """The encoding of the output; UTF-8 unless lists keep their own format."""
        return self.encoding if self.layout in SAME_FORMAT else UTF8

    @property
    def has_posteriors(self) -> bool:
        """Whether posteriors are written, or decide a ranking."""
        return self.layout in POSTERIORS or self.dedup == "sum" or self.mbr is not None

    def require_use(self) -> None:
        """Raises ConfigError for `sort` without lists, or posteriors without use."""
        if self.mbr is not None and self.keeps_order:
            raise ConfigError(
                f"--mbr {self.mbr}: --write {self.write} keeps the list's order, whatever is "
                "chosen; expected a layout with a choice, such as ranked, nbest or jsonl"
            )
        if self.posterior_scale is not None and not self.has_posteriors:
            raise ConfigError(
                f"--posterior-scale {self.posterior_scale:g}: --write {self.write} has no "
                f"posteriors; expected one of {', '.join(POSTERIORS)}, --dedup sum or --mbr; drop "
                "it"
            )
        if self.sort and self.write not in LISTS:
            raise ConfigError(
                f"--sort: --write {self.write} has no list to sort; expected one of "
                f"{', '.join(LISTS)}; drop one of them"
            )
