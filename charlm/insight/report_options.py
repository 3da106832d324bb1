"""The options of `charlm report`, of the page and of its pictures."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from charlm.interface.options import Device, OnStage, Opt, Threads


@dataclass(frozen=True)
class ReportOptions:
    """Which runs are shown, with what text, and what is written of them."""

    runs: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Run directories, the first shown in detail; if not given, $CHARLM_MODEL, else the "
            "newest finished run in exp/.",
            metavar="RUN",
            is_argument=True,
        ),
    ] = ()
    _: KW_ONLY
    data: Annotated[
        str | Path | None,
        Opt(
            "Corpus directory with train.txt and the split that is read, for everything that needs "
            "perplexities.",
            metavar="DIR",
        ),
    ] = None
    split: Annotated[
        Literal["test", "valid"], Opt("Part of the corpus directory that is read.")
    ] = "test"
    out: Annotated[
        str | Path | None,
        Opt(
            "File to write: the page (report.html if not given), or the picture, .png or .svg "
            "(NAME.png if not given)."
        ),
    ] = None
    word: Annotated[
        str | Sequence[str],
        Opt("Word whose nearest words the page shows; may be repeated.", metavar="WORD"),
    ] = ()
    table: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "What `charlm compare-kn --json` printed, for a table across data sets on the page; "
            "may be repeated."
        ),
    ] = ()
    at: Annotated[
        str | None,
        Opt("Point of the encoder for the map of words; the last if not given.", metavar="TAP"),
    ] = None
    picture: Annotated[
        str | None,
        Opt(
            "Draw one picture instead of the page: ngrams, words, filter, transform, gate, curves, "
            "bands, positions or sentences.",
            "Pictures",
            metavar="NAME",
        ),
    ] = None
    pictures: Annotated[
        str | Path | None,
        Opt(
            "Folder for all pictures that the runs allow, each as PNG, SVG and TSV; the page is "
            "then written only with --out.",
            "Pictures",
            metavar="DIR",
        ),
    ] = None
    data_out: Annotated[
        str | Path | None, Opt("File for the numbers behind --picture, as TSV.", "Pictures")
    ] = None
    filter: Annotated[
        int | None,
        Opt(
            "Number of the character CNN's filter that --picture filter shows, from 1, narrow ones "
            "first; the first of the widest if not given.",
            "Pictures",
        ),
    ] = None
    device: Device = "auto"
    threads: Threads = None
    on_stage: OnStage = None
