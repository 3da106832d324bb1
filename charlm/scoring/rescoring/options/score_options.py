"""The options of `charlm score` beyond those of all rescoring, and the layout of its output."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from charlm.errors import ConfigError
from charlm.interface.options import OnStage, Opt, several
from charlm.nbest.reading.format import SAME_FORMAT
from charlm.scoring.rescoring.options.output_options import OutputOptions
from charlm.scoring.rescoring.options.rescoring_options import (
    REFERENCES,
    ListOptions,
    check_references,
)
from charlm.text.io.paths import require_place

Write = Literal[
    "scored",
    "ranked",
    "nbest",
    "confidences",
    "errors",
    "word-scores",
    "kaldi",
    "trn",
    "ctm",
    "text",
    "tsv",
    "jsonl",
    "none",
]


@dataclass(frozen=True)
class ScoreOptions(OutputOptions, ListOptions):
    """Which lists are scored, with which weights, and what is written."""

    lists: Annotated[
        str | Path | None,
        Opt(
            "N-best lists, lattices, or sentences: a file, a folder where the format is one, or - "
            "for standard input.",
            metavar="LIST",
            is_argument=True,
        ),
    ] = None
    _: KW_ONLY
    out: Annotated[
        str | Path | Callable[[str], object] | None,
        Opt(
            "Where the lists go: a file, a folder/, or - for standard output, which the command "
            "line takes if not given. Python also takes a function of text, and writes nothing if "
            "not given.",
            metavar="PATH",
            cli_type=str | None,
        ),
    ] = None
    write: Annotated[
        Write,
        Opt(
            "What is written. scored: the lists with one more score, lattices with new ones. "
            "ranked: the same, best hypotheses first. nbest: JSON lines with all features, "
            "totals and posteriors (the softmax of the totals over a list), whatever the format "
            "was. confidences: a table of the best hypotheses' words, each with the sum of the "
            "posteriors of all hypotheses that have it there too, less where tune found such words "
            "to be wrong. errors: with --refs, by WER or CER, a table with a row for each best "
            "hypothesis: its substitutions, deletions and insertions, and both texts aligned, with "
            "*** for a word that one of them lacks. word-scores: ln P of each word that the model "
            "read and of the sentence end, as Kaldi's rnnlm-sentence-probs. kaldi, trn, text, tsv, "
            "jsonl: the best hypotheses alone, in that layout. ctm: their words with times, for "
            "sclite, and with confidences as above where totals have weights; of formats that say "
            "when words were said: lattices, jsonl, vosk, aws, azure, pyctcdecode, nbestlist2. "
            "none: no lists."
        ),
    ] = "scored"
    segments: Annotated[
        str | Path | None,
        Opt(
            "Kaldi's file of segments (utterance recording start end): --write ctm gives the "
            "recording and the times in it. If not given: the utterance, and times as the lists "
            "have them.",
            "Output",
        ),
    ] = None
    frame_shift: Annotated[
        float | None,
        Opt(
            "Seconds per frame, for --write ctm, where times are frames: of Kaldi's lattices and "
            "nbestlist2 (0.01 if not given; 0.03 for most chain models), and of pyctcdecode (to be "
            "given; 0.02 for wav2vec 2.0).",
            "Output",
            least=0.001,
            most=1,
        ),
    ] = None
    on_stage: OnStage = None
    refs: Annotated[str | Path | Sequence[str | Path] | None, REFERENCES] = None
    explain: Annotated[
        str | None,
        Opt(
            "Explain, word by word, which of the hypotheses A and B of list UTT wins (ranks from "
            "1); without ranks, why the best one beats the first.",
            metavar="UTT[:A,B]",
        ),
    ] = None
    line_buffered: Annotated[
        bool,
        Opt(
            "Answer each list as soon as it has been read, for interactive pipes; give --format as "
            "well: to recognise it takes the first 64 KiB, or all of a shorter input.",
            "Output",
        ),
    ] = False
    allow_test_tuning: Annotated[
        bool, Opt("Report the error rate even on lists that the weights were tuned on.", "Output")
    ] = False

    @property
    def inputs(self) -> list[object]:
        return [*super().inputs, self.segments]

    @property
    def keeps_order(self) -> bool:
        shows_choice = self.explain is not None or (self.mbr is not None and bool(self.refs))
        return self.layout in ("scored", "word-scores", "none") and not shows_choice

    @property
    def goes_to_folder(self) -> bool:
        """Whether the output is a folder: it ends in a slash, is one, or the lists are one."""
        if not isinstance(self.out, str | Path):
            return False
        if Path(self.out).exists() and not str(self.out).endswith("/"):
            return Path(self.out).is_dir()
        lists = "-" if self.lists is None else self.lists
        is_one = self.layout in SAME_FORMAT and str(lists) != "-" and Path(lists).is_dir()
        return is_one or str(self.out).endswith("/")

    def check(self) -> None:
        super().check()
        if self.lists is None:
            raise ConfigError("found no LIST; expected lists to score; name a file")
        is_asked = self.refs or self.explain or self.mbr
        has_more = self.has_models or self.weights or self.weight or is_asked
        if self.layout == "scored" and not has_more:
            raise ConfigError(
                "found neither --model nor --lm, and no weights or --refs; expected a model that "
                "scores the list, or weights of its own features; name one"
            )
        if self.layout == "word-scores" and not self.has_models:
            raise ConfigError(
                "--write word-scores: found neither --model nor --lm; expected a model that scores "
                "the words; name one"
            )
        self._check_references()
        self._check_rows()
        if self.recordings and self.context == self.adapt == "none" and not self.refs:
            raise ConfigError(
                f"--recordings {self.recordings!r:.60}: each list is on its own; expected "
                "--context previous, --adapt or --refs beside it; give one, or drop --recordings"
            )
        if self.write == "none" and self.out is not None and not callable(self.out):
            raise ConfigError(f"--out {self.out}: --write none writes no list; drop one of them")
        if self.explain is not None:
            self._check_explained()
        self.require_use()
        self._check_place(self.lists)

    def _check_explained(self) -> None:
        if self.dedup == "sum":
            raise ConfigError(
                "--explain --dedup sum: two hypotheses are explained, and sums are of more; "
                "expected --dedup max or none"
            )
        if self.mbr is not None:
            raise ConfigError(
                f"--explain --mbr {self.mbr}: totals are explained, and expected errors choose; "
                "expected one of them; drop either"
            )

    def _check_references(self) -> None:
        """Raises ConfigError for references that do not fit, or are missing."""
        check_references(several(self.refs), metric=self.metric)
        if self.metric != "wer" and not self.refs:
            raise ConfigError(
                f"--metric {self.metric}: found no references to measure it against; "
                "expected --refs FILE; drop it"
            )
        if self.write == "errors":
            self._check_errors()

    def _check_errors(self) -> None:
        """Raises ConfigError for what a table of errors cannot be made of."""
        if not self.refs:
            raise ConfigError(
                "--write errors: found no references; expected --refs FILE, the words that were "
                "said; name one"
            )
        if self.metric not in ("wer", "cer"):
            raise ConfigError(
                f"--write errors --metric {self.metric}: found no words that are right or wrong by "
                "their place; expected --metric wer or cer"
            )

    def _check_rows(self) -> None:
        """Raises ConfigError for what belongs to other layouts than the one that is written."""
        if self.line_buffered and self.write in ("errors", "ctm"):
            raise ConfigError(
                f"--write {self.write} --line-buffered: rows are written when all lists have been "
                "read; expected one of them; drop either"
            )
        for name in ("segments", "frame_shift"):
            if getattr(self, name) is not None and self.write != "ctm":
                raise ConfigError(
                    f"--{name.replace('_', '-')} {getattr(self, name)}: --write {self.write} has "
                    "no times; expected --write ctm; drop it"
                )

    def _check_place(self, lists: str | Path) -> None:
        if not isinstance(self.out, str | Path):
            return
        if not self.goes_to_folder:
            require_place(self.out, option="--out")
        elif Path(lists).is_file():
            target = (Path(self.out) / Path(lists).name).resolve()
            for each in (lists, *several(self.refs), self.weights, *self.inputs):
                if isinstance(each, str | Path) and Path(each).resolve() == target:
                    raise ConfigError(
                        f"--out {self.out}: {each} would be overwritten; expected another folder"
                    )
