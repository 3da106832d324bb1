"""The options of `charlm combine`."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from charlm.interface.options import Encoding, OnStage, Opt
from charlm.text.io.lines import UTF8


@dataclass(frozen=True)
class CombineOptions:
    """The lists of each system, and how much it counts."""

    lists: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "One file a system, all with the same lists: what `charlm score --write nbest` "
            "writes, with posteriors. In lists without these, as of one hypothesis each, all "
            "hypotheses are equally likely.",
            is_argument=True,
        ),
    ]
    _: KW_ONLY
    shares: Annotated[
        str | Sequence[float] | None,
        Opt(
            "Share of each system in the order of the files, above 0, of sum 1. If not given, all "
            "are equal.",
            metavar="S,S,...",
            cli_type=str | None,
        ),
    ] = None
    out: Annotated[
        str | Path | Callable[[str], object] | None,
        Opt(
            "Where the lists go: a file, or - for standard output, which the command line takes if "
            "not given. Python also takes a function of text, and writes nothing if not given.",
            metavar="PATH",
            cli_type=str | None,
        ),
    ] = None
    allow_missing: Annotated[
        bool, Opt("Also combine lists that some of the files lack, of the others.")
    ] = False
    encoding: Encoding = UTF8
    on_stage: OnStage = None
