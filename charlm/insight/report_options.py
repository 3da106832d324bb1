"""The options of `charlm report`, of the page and of its pictures."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from charlm.options import Device, Opt, Threads


@dataclass(frozen=True)
class ReportOptions:
    """Which runs are shown, with what text, and what is written of them."""

    runs: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Run directories, the first shown in detail; else $CHARLM_MODEL, else the newest "
            "finished in exp/.",
            metavar="RUN",
            is_argument=True,
        ),
    ] = ()
    _: KW_ONLY
    data: Annotated[
        str | Path | None,
        Opt(
            "Corpus directory with train.txt and the text, for all that needs perplexities.",
            metavar="DIR",
        ),
    ] = None
    split: Annotated[
        Literal["test", "valid"], Opt("Part of the corpus directory that is read.")
    ] = "test"
    out: Annotated[
        str | Path | None, Opt("Page to write, report.html if not given; picture, .png or .svg.")
    ] = None
    word: Annotated[
        str | Sequence[str],
        Opt("Word whose nearest words the page shows; once for each of several.", metavar="WORD"),
    ] = ()
    table: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "What `charlm compare-kn --json` printed, once for each: one table across data sets "
            "on the page."
        ),
    ] = ()
    at: Annotated[
        str | None,
        Opt("Point of the encoder for the map of words; the last if not given.", metavar="TAP"),
    ] = None
    picture: Annotated[
        str | None,
        Opt(
            "One picture in the place of the page: ngrams, words, filter, transform, gate, "
            "curves, bands, positions or sentences.",
            "Pictures",
            metavar="NAME",
        ),
    ] = None
    pictures: Annotated[
        str | Path | None,
        Opt(
            "Folder for all pictures that the runs can give, each as PNG, SVG and TSV; a page "
            "only with --out.",
            "Pictures",
            metavar="DIR",
        ),
    ] = None
    data_out: Annotated[
        str | Path | None, Opt("Numbers of the one picture, as TSV.", "Pictures")
    ] = None
    filter: Annotated[
        int | None,
        Opt(
            "Filter of the character CNN for the picture of that name, from 1, narrow ones "
            "first; the first of the widest if not given.",
            "Pictures",
        ),
    ] = None
    device: Device = "auto"
    threads: Threads = None
    on_stage: Annotated[
        Callable[[str], Any] | None, Opt("Hears of each stage that takes time.", is_for_python=True)
    ] = None
