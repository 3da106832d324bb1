"""The options of `charlm next`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from charlm.interface.options import Device, Models, Opt


@dataclass(frozen=True)
class NextOptions:
    """After which words, and under which models."""

    words: Annotated[
        str | Sequence[str],
        Opt("Words that a sentence begins with, if any.", metavar="WORD", is_argument=True),
    ] = ()
    _: KW_ONLY
    model: Models = ()
    lm: Annotated[
        str | Path | Sequence[str | Path],
        Opt("ARPA file; may be repeated. It reads the words as normalised for the first run."),
    ] = ()
    k: Annotated[int, Opt("Number of words shown.", least=1, flags=("-k",))] = 10
    device: Device = "auto"
