"""The options of `charlm serve` beyond those of all rescoring."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from charlm.errors import ConfigError
from charlm.interface.options import Opt
from charlm.scoring.rescoring.options.output_options import OutputOptions


@dataclass(frozen=True, kw_only=True)
class ServeOptions(OutputOptions):
    """How lines are weighted and answered."""

    out: Annotated[
        Callable[[str], object] | None,
        Opt("Called with each answer as it comes, a line of JSON.", is_for_python=True),
    ] = None
    write: Annotated[
        Literal["scored", "ranked", "nbest", "jsonl"],
        Opt(
            "What a line is answered with: itself with one more score (scored), the same with the "
            "best hypotheses first (ranked), with all features, totals and posteriors "
            "(nbest), or the best hypothesis alone (jsonl)."
        ),
    ] = "scored"

    @property
    def keeps_order(self) -> bool:
        return self.layout == "scored"

    def check(self) -> None:
        """Raises ConfigError for answers without destination or order, or a wrong weight."""
        from charlm.nbest.ranking.weights import parse_weights

        super().check()
        if self.out is None:
            raise ConfigError("out: found None; expected a function that is given each answer")
        if not (self.has_models or self.weights or self.weight or self.mbr):
            raise ConfigError(
                "found neither --model nor --lm, and no weights; expected a model that scores the "
                "lines, or weights of their own features; name one"
            )
        if self.recordings and self.context == self.adapt == "none":
            raise ConfigError(
                f"--recordings {self.recordings!r:.60}: each line is on its own; expected "
                "--context previous or --adapt beside it; give one, or drop --recordings"
            )
        self.require_use()
        parse_weights(None, self.weight)  # else every line would be answered by its error
