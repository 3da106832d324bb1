"""Options shared by `charlm score`, `tune` and `serve`: models, the reading of lists, the machine.

`ListOptions` are for the two commands that read lists from files; `serve` reads JSON lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from charlm.errors import ConfigError
from charlm.nbest.format import SAME_FORMAT, OnNan
from charlm.nbest.hypotheses import Dedup
from charlm.nbest.metrics.metric_names import MetricName
from charlm.nbest.scorer import Scorer
from charlm.options import (
    Device,
    Encoding,
    Gpus,
    Opt,
    Precision,
    Processes,
    Punctuation,
    SplitHyphens,
    TextMap,
    Threads,
    as_names,
    several,
)
from charlm.scoring.adaptation.adapt_options import AdaptChoice, AdaptRates
from charlm.text.corpus.normalisation import Normalisation
from charlm.text.corpus.phrase_map import rules_of
from charlm.text.io.lines import LIST, LONGEST, MIB, UTF8, LineRules

LISTS = (*SAME_FORMAT, "nbest")  # layouts with all hypotheses of each list

Refs = Annotated[str | Path | None, Opt("References of the lists; own: as the lists have them.")]


@dataclass(frozen=True, kw_only=True)
class RescoringOptions:
    """Models, the weights of their scores, and the machine they run on."""

    model: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Run directory or exported folder; may come again. Without any model a list's own "
            "features rank it.",
            metavar="RUN",
        ),
    ] = ()
    lm: Annotated[
        str | Path | Sequence[str | Path], Opt("n-gram model, ARPA or KenLM; may come again.")
    ] = ()
    scorer: Annotated[
        Scorer | None, Opt("A model of the caller's own, beside the others.", is_for_python=True)
    ] = None
    weight: Annotated[
        Sequence[str],
        Opt(
            "Weight of one feature, over --weights; where tune begins; may come again.",
            metavar="NAME=NUMBER",
        ),
    ] = ()
    mix: Annotated[
        str | Path | None,
        Opt(
            "Mix all models word by word, with the weights that suit this text best; score and "
            "serve mix as the weights were tuned.",
            "Models",
            metavar="TEXT",
        ),
    ] = None
    mix_weights: Annotated[
        str | Sequence[float] | None,
        Opt(
            "Mix all models word by word, with these weights.",
            "Models",
            metavar="A,B",
            cli_type=str | None,
        ),
    ] = None
    old_lm: Annotated[
        str | Path | None,
        Opt(
            "n-gram model that the list was made with: it is taken out of Kaldi's graph score.",
            "Models",
        ),
    ] = None
    open_vocabulary: Annotated[
        bool | None,
        Opt(
            "Unknown words by their spelling (train --speller); if not given, as the weights were "
            "tuned, else in lists where the run has a speller and knows most words.",
            "Models",
        ),
    ] = None
    unnormalised: Annotated[
        bool, Opt("Scores without their sum, for models trained so (nce, selfnorm).", "Models")
    ] = False
    lower: Annotated[
        bool, Opt("Lower-case what the models read, not what is written.", "Normalisation")
    ] = False
    split_hyphens: SplitHyphens = False
    punctuation: Punctuation = "keep"
    map: TextMap = None
    raw: Annotated[
        bool, Opt("Words as they stand, without the run's normalisation.", "Normalisation")
    ] = False
    context: Annotated[
        Literal["none", "previous"],
        Opt("Every list on its own, or after the chosen ones of its recording.", "Models"),
    ] = "none"
    recordings: Annotated[
        str,
        Opt(
            "Its first group is the recording that a list's id belongs to; if not given, what "
            "stands before the id's times, or its last part.",
            "Models",
            metavar="REGEX",
        ),
    ] = ""
    adapt: AdaptChoice = "none"
    adapt_rates: AdaptRates = ""
    on_nan: Annotated[
        OnNan,
        Opt("A feature that is no finite number: refuse it, or take the list's worst.", "Lists"),
    ] = "error"
    allow_missing: Annotated[
        bool,
        Opt("Do without, or fill in, what one of several files lacks; told how many.", "Lists"),
    ] = False
    max_line: Annotated[
        int,
        Opt(
            "Longest line of a list in MiB; JSON may have all of it on one.",
            "Lists",
            least=1,
            metavar="MIB",
        ),
    ] = LONGEST // MIB
    encoding: Encoding = UTF8
    memory: Annotated[
        int,
        Opt(
            "Most memory for vectors of words in MiB, per model and process.",
            "Machine",
            least=1,
            metavar="MIB",
        ),
    ] = 1024
    device: Device = "auto"
    precision: Precision = "fp32"
    threads: Threads = None
    gpus: Gpus = None
    processes: Processes = None

    def check(self) -> None:
        """Raises ConfigError for options that contradict each other, before any work."""
        raise NotImplementedError

    @property
    def weights(self) -> str | Path | None:
        """The file of weights; tune takes none."""
        return None

    @property
    def dedup(self) -> Dedup:
        """How hypotheses with the same words count together; tune takes each separately."""
        return "none"

    @property
    def keeps_order(self) -> bool:
        """Whether nothing needs a ranking; then, without weights, the lists keep their order."""
        return False

    @property
    def models(self) -> list[str | Path]:
        """Runs and exported folders, one or several."""
        return several(self.model)

    @property
    def lms(self) -> list[str | Path]:
        """N-gram models, one or several."""
        return several(self.lm)

    @property
    def has_models(self) -> bool:
        """Whether there is more than a list's own features."""
        return bool(self.model or self.lm or self.scorer is not None)

    @property
    def text_rules(self) -> Normalisation:
        """Rules for the copies that models read, in addition to a run's own rules.

        Raises:
            DataError: a malformed map.
        """
        return Normalisation(
            self.lower,
            "none",
            punctuation=self.punctuation,
            split_hyphens=self.split_hyphens,
            map=rules_of(self.map),
        )

    @property
    def line_rules(self) -> LineRules:
        """How the lines of lists and references are read.

        Raises:
            ConfigError: an unknown encoding, or one that does not keep ASCII characters.
        """
        return replace(
            LIST,
            encoding=self.encoding,
            longest=self.max_line * MIB,
            shorten="if they are right, --max-line MIB lets longer ones pass",
        )


@dataclass(frozen=True, kw_only=True)
class ListOptions(RescoringOptions):
    """Adds how lists and lattices are read from files."""

    metric: Annotated[
        MetricName, Opt("Error rate; counted-bleu is for lists that hold counts of matches.")
    ] = "wer"
    format: Annotated[
        str, Opt("Format of the lists; auto looks at them.", "Lists", metavar="NAME")
    ] = "auto"
    columns: Annotated[
        str | Sequence[str],
        Opt(
            "Names of a table's columns: id, rank, text, features; if not given, as the weights "
            "were tuned, or as its header has them.",
            "Lists",
            metavar="A,B,…",
            cli_type=str,
        ),
    ] = ""
    features: Annotated[
        Sequence[str] | Mapping[str, str | Path],
        Opt(
            "Further file of the lists, as Kaldi's am=acwt; may come again.",
            "Lists",
            metavar="NAME=FILE",
        ),
    ] = ()
    length_penalty: Annotated[
        float,
        Opt(
            "Scores of huggingface's, ctranslate2's or fairseq's lists were divided by length**P: "
            "multiply them back.",
            "Lists",
            metavar="P",
        ),
    ] = 0.0
    beam: Annotated[
        float, Opt("Paths so far below the best go; 0: none.", "Lattices", least=0, metavar="NATS")
    ] = 16.0
    recombine: Annotated[
        int, Opt("Paths with so many last words alike are one; 0: never.", "Lattices", least=0)
    ] = 4
    n_best: Annotated[
        int,
        Opt(
            "Hypotheses that are taken, besides what was best.",
            "Lattices",
            least=1,
            flags=("-n", "--n-best"),
        ),
    ] = 100
    words_txt: Annotated[
        str | Path | None, Opt("Kaldi's words.txt, where words are numbers.", "Lattices")
    ] = None
    at_once: Annotated[
        int,
        Opt("Hypotheses that share a tree and memory.", "Machine", least=1),
    ] = 4096

    @property
    def line_buffered(self) -> bool:
        """Whether each list is answered as soon as it has been read."""
        return False

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of a table's columns."""
        return as_names(self.columns)

    @property
    def feature_files(self) -> dict[str, Path]:
        """Further files of the lists, by the feature that each holds.

        Raises:
            ConfigError: an option that is not NAME=FILE, or a name given twice.
        """
        if isinstance(self.features, Mapping):
            return {name: Path(path) for name, path in self.features.items()}
        files: dict[str, Path] = {}
        for text in self.features:
            name, _, path = text.partition("=")
            if not name or not path or name in files:
                raise ConfigError(f"--features {text!r:.80}: expected NAME=FILE, each name once")
            files[name] = Path(path)
        return files


@dataclass(frozen=True, kw_only=True)
class OutputOptions(RescoringOptions):
    """Adds how the resulting lists are weighted and laid out."""

    weights: Annotated[str | Path | None, Opt("Weights of features, as tune writes them.")] = None
    sort: Annotated[
        bool, Opt("Best hypotheses first, as --write ranked; else as the list has them.", "Output")
    ] = False
    dedup: Annotated[
        Dedup,
        Opt(
            "Hypotheses with the same words: each for itself; or ranked together by log Σ exp of "
            "their totals (sum), or the largest (max). The best of them stands for them with its "
            "own features; the others' lines stay, behind it where ranked, and nbest leaves them "
            "out. tune goes by the largest.",
            "Output",
        ),
    ] = "none"
    write: str

    @property
    def layout(self) -> str:
        """How lists are written."""
        return "ranked" if self.sort and self.write == "scored" else self.write

    @property
    def written_encoding(self) -> str:
        """The encoding of the output; UTF-8 unless lists keep their own format."""
        return self.encoding if self.layout in SAME_FORMAT else UTF8

    def require_list_to_sort(self) -> None:
        """Raises ConfigError if `sort` is asked for a layout without lists."""
        if self.sort and self.write not in LISTS:
            raise ConfigError(
                f"--sort: --write {self.write} has no list to sort; expected one of "
                f"{', '.join(LISTS)}; drop one of them"
            )


def require_file_of_references(refs: str | Path | None) -> None:
    """Raises ConfigError if references are to come through standard input."""
    if str(refs) == "-":
        raise ConfigError("--refs -: expected a file; only the lists may be standard input")
