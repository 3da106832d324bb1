"""The options of `charlm surprisal`, for tables of words and for minimal pairs."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from charlm.interface.options import (
    Device,
    Encoding,
    Models,
    OnStage,
    Opt,
    Precision,
    Raw,
    Threads,
    require_one_stdin,
    several,
)
from charlm.scoring.adaptation.adapt_options import AdaptChoice, AdaptRates
from charlm.text.corpus.normalisation.reading_options import ReadingOptions

TableFormat = Literal["auto", "text", "csv", "tsv", "jsonl"]
PAIR_COLUMNS = "sentence_good,sentence_bad"  # BLiMP's names


@dataclass(frozen=True)
class ItemOptions(ReadingOptions):
    """Which items are read, under which models, and where."""

    files: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Texts, a sentence a line, or tables (.csv, .tsv, .jsonl), plain or packed; - is "
            "standard input.",
            is_argument=True,
        ),
    ] = ()
    _: KW_ONLY
    model: Models = ()
    lm: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "N-gram model, an ARPA file or a KenLM binary; may be repeated. It reads the text as "
            "normalised for the first run."
        ),
    ] = ()
    format: Annotated[
        TableFormat, Opt("Format of the files; auto goes by their names, and takes - for text.")
    ] = "auto"
    open_vocabulary: Annotated[
        bool,
        Opt(
            "Let the run's speller (`charlm train --speller`) spell words outside the vocabulary "
            "instead of taking <unk>."
        ),
    ] = False
    raw: Raw = False
    encoding: Encoding = "utf-8"
    device: Device = "auto"
    precision: Precision = "fp32"
    threads: Threads = None
    on_stage: OnStage = None

    @property
    def texts(self) -> list[str | Path]:
        """The files; raises ConfigError if they, --lm and --map name standard input twice."""
        files = several(self.files)
        require_one_stdin([*files, *several(self.lm), self.map])
        return files


@dataclass(frozen=True, kw_only=True)
class SurprisalOptions(ItemOptions):
    """What is reported for every word."""

    column: Annotated[
        str | None,
        Opt("Column of a table that holds the sentence; 'sentence' or 'text' if not given."),
    ] = None
    context: Annotated[
        str,
        Opt(
            "What a sentence is read after: nothing (none), everything before it in its file "
            "(document), or the rows before it with the same value in the named column.",
            metavar="none|document|COLUMN",
        ),
    ] = "none"
    entropy: Annotated[
        bool, Opt("Add the entropy, in bits, of the model's prediction before each word.")
    ] = False
    previous: Annotated[int, Opt("Add the values of the N preceding words.", least=0, most=20)] = 0
    adapt: AdaptChoice = "none"
    adapt_rates: AdaptRates = ""


@dataclass(frozen=True, kw_only=True)
class PairOptions(ItemOptions):
    """Which columns hold the two sentences of a pair."""

    pair_columns: Annotated[
        str | Sequence[str],
        Opt(
            "Columns of the better and of the worse sentence of a pair.",
            metavar="GOOD,BAD",
            cli_type=str,
        ),
    ] = PAIR_COLUMNS
