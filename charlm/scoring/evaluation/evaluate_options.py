"""The options of `charlm eval`."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

from charlm.interface.options import (
    DataOrFiles,
    Device,
    Encoding,
    Files,
    Gpus,
    Model,
    OnStage,
    Opt,
    Precision,
    Processes,
    Raw,
    Split,
    StateChoice,
    Threads,
)
from charlm.scoring.adaptation.adapt_options import AdaptChoice, AdaptRates
from charlm.text.corpus.normalisation.reading_options import ReadingOptions
from charlm.text.perplexity.perplexity import Evaluation, ScoredSentence

State = Literal["carried", "sentence"]
STATES: dict[str, tuple[State, ...]] = {  # by the value of --state
    "both": ("carried", "sentence"),
    "carried": ("carried",),
    "sentence": ("sentence",),
}


@dataclass(frozen=True)
class EvaluateOptions(ReadingOptions):
    """Which texts are read by which run, and how."""

    model: Model = None
    _: KW_ONLY
    files: Files = ()
    data: DataOrFiles = None
    split: Split = None
    state: StateChoice = "both"
    raw: Raw = False
    open_vocabulary: Annotated[
        bool,
        Opt(
            "Also give the perplexity with words outside the vocabulary spelled by the run's "
            "speller instead of <unk>; figures of single words are still those of <unk>."
        ),
    ] = False
    adapt: AdaptChoice = "none"
    adapt_rates: AdaptRates = ""
    encoding: Encoding = "utf-8"
    device: Device = "auto"
    precision: Precision = "fp32"
    threads: Threads = None
    gpus: Gpus = None
    processes: Processes = None
    on_sentence: Annotated[
        Callable[[ScoredSentence], object] | None,
        Opt(
            "Called with each sentence, as scored in the first state of the result.",
            is_for_python=True,
        ),
    ] = None
    on_text: Annotated[
        Callable[[Evaluation], object] | None,
        Opt("Called with each text's result when it is finished.", is_for_python=True),
    ] = None
    on_stage: OnStage = None


def states_of(choice: str, learned_single_sentences: bool) -> tuple[State, ...]:
    """The states that `--state` chooses, the training's first: `on_sentence` gets its figures."""
    states = STATES[choice]
    return states[::-1] if learned_single_sentences else states
