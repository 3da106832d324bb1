"""The options of `charlm compare-kn`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from charlm.interface.options import (
    Data,
    Device,
    OnStage,
    Opt,
    Order,
    Precision,
    Prune,
    Seed,
    StateChoice,
    Threads,
)
from charlm.scoring.evaluation.evaluate_options import STATES, State

Split = Literal["test", "valid"]

TUNING: Split = "valid"  # the split on which weights of mixtures are fitted


@dataclass(frozen=True)
class CompareKnOptions:
    """Which runs are compared with which Kneser–Ney model, and on what."""

    data: Data
    _: KW_ONLY
    model: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Run directory of a model; may be repeated; without one Kneser-Ney is measured alone.",
            metavar="RUN",
        ),
    ] = ()
    order: Order = 5
    prune: Prune = "0"
    vocab: Annotated[
        str | Path | None,
        Opt(
            "Vocabulary where Kneser-Ney is measured alone; made from train.txt as by `charlm "
            "vocab` if not given.",
            metavar="FILE|RUN",
        ),
    ] = None
    split: Annotated[Split, Opt("Part of the corpus directory that is measured.")] = "test"
    state: StateChoice = "both"
    samples: Annotated[
        int,
        Opt("Number of bootstrap samples of the sentences behind each 95 % interval.", least=100),
    ] = 1000
    block: Annotated[
        int,
        Opt(
            "Consecutive sentences that a bootstrap sample takes or leaves together. Intervals by "
            "single sentences are too narrow where neighbours are alike, as in articles.",
            least=1,
        ),
    ] = 1
    seed: Seed = 1
    device: Device = "auto"
    precision: Precision = "fp32"
    threads: Threads = None
    on_stage: OnStage = None

    @property
    def states(self) -> tuple[State, ...]:
        return STATES[self.state]

    @property
    def units(self) -> str:
        """What a bootstrap sample draws, in the plural."""
        return "sentences" if self.block == 1 else f"blocks of {self.block} sentences"

    def tell(self, stage: str) -> None:
        """Report the stage of work that begins."""
        if self.on_stage is not None:
            self.on_stage(stage)
