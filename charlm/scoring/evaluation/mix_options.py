"""The options of `charlm mix`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from charlm.interface.options import Device, Encoding, OnStage, Opt, Threads, several
from charlm.scoring.evaluation.evaluate_options import State

SplitName = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class MixOptions:
    """What is mixed, on which text it is tuned and on which it is measured."""

    streams: Annotated[
        Sequence[str | Path],
        Opt(
            "Two or more of: scores of words (-debug 2 of SRILM and the RNNLM toolkit, KenLM's "
            "query, `charlm eval --debug 2` or `--format jsonl`), probabilities (`--format "
            "probabilities`), run directories, ARPA files, KenLM binaries.",
            metavar="STREAM",
            is_argument=True,
        ),
    ]
    _: KW_ONLY
    data: Annotated[
        str | Path | None,
        Opt(
            "Corpus directory for runs and n-gram models; probabilities then come from files of "
            "the same name in folders test/ and valid/.",
            metavar="DIR",
        ),
    ] = None
    split: Annotated[
        SplitName | None, Opt("Part of --data whose perplexity is reported; test if not given.")
    ] = None
    tune: Annotated[
        SplitName | None, Opt("Part of --data that the weights are tuned on; valid if not given.")
    ] = None
    text: Annotated[
        str | Path | None,
        Opt("Text for runs and n-gram models, on which the weights are both tuned and measured."),
    ] = None
    add: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Further stream; may be repeated. Also reports what the mixture gains from the "
            "streams added.",
            metavar="STREAM",
        ),
    ] = ()
    bands: Annotated[
        bool,
        Opt(
            "Also report perplexities by how often the predicted word occurs in train.txt of "
            "--data, which may stand beside --text or score files for this."
        ),
    ] = False
    weights: Annotated[
        str | Sequence[float] | None,
        Opt(
            "Weights in the order of the streams, 0 or above, of sum 1; nothing is tuned.",
            metavar="W,W,...",
            cli_type=str | None,
        ),
    ] = None
    out: Annotated[
        str | Path | None,
        Opt(
            "File for the mixture's scores: JSON lines if the name ends in .jsonl, probabilities "
            "if in .prob, else SRILM's layout."
        ),
    ] = None
    arpa: Annotated[
        str | Path | None,
        Opt(
            "ARPA file to write the mixture itself to, for decoders that read one, as SRILM's "
            "-mix-lm does; all streams must be ARPA files.",
            metavar="FILE",
        ),
    ] = None
    state: Annotated[
        State | None,
        Opt(
            "How runs read the text: as one stream whose state is carried on (carried), or every "
            "sentence from the initial state (sentence); if not given, each as it was trained."
        ),
    ] = None
    encoding: Encoding = "utf-8"
    device: Device = "auto"
    threads: Threads = None
    on_stage: OnStage = None

    @property
    def all_streams(self) -> list[str | Path]:
        """All streams, the new ones last."""
        return [*self.streams, *several(self.add)]
