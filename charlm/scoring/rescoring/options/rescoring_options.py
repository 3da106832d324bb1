"""Options shared by `charlm score`, `tune` and `serve`: models, the reading of lists, the machine.

`ListOptions` are for the two commands that read lists from files; `serve` reads JSON lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from charlm.errors import ConfigError
from charlm.interface.options import (
    Device,
    Encoding,
    Gpus,
    Lower,
    Opt,
    Precision,
    Processes,
    SplitHyphens,
    TextMap,
    Threads,
    as_names,
    several,
)
from charlm.nbest.hypotheses import Dedup
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.metrics.metric_names import OF_SEVERAL, MetricName, TextMetricName
from charlm.nbest.reading.format import OnNan
from charlm.nbest.scorer import Scorer
from charlm.scoring.adaptation.adapt_options import AdaptChoice, AdaptRates
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.normalisation.phrase_map import rules_of
from charlm.text.corpus.normalisation.pieces import ReadAs
from charlm.text.io.lines import LIST, LONGEST, MIB, UTF8, LineRules

REFERENCES = Opt(
    "File of the references; own takes those that the lists hold themselves. May be repeated for "
    "BLEU, chrF and TER, which compare with several references of each list."
)


@dataclass(frozen=True, kw_only=True)
class RescoringOptions:
    """Models, the weights of their scores, and the machine they run on."""

    model: Annotated[
        str | Path | Sequence[str | Path],
        Opt(
            "Run directory or exported folder; may be repeated. Without any model a list is ranked "
            "by its own features.",
            metavar="RUN",
        ),
    ] = ()
    lm: Annotated[
        str | Path | Sequence[str | Path],
        Opt("N-gram model, an ARPA file or a KenLM binary; may be repeated."),
    ] = ()
    scorer: Annotated[
        Scorer | None,
        Opt(
            "A model of the caller's own, beside the others, such as a FunctionScorer.",
            is_for_python=True,
        ),
    ] = None
    weight: Annotated[
        Sequence[str] | Mapping[str, float],
        Opt(
            "Weight of one feature: a feature of the lists, nn (nn2, …) for --model, kn (kn2, …) "
            "for --lm, words or oov, the numbers of words and of unknown words. It replaces that "
            "of a file of weights, and tune begins from it; may be repeated.",
            metavar="NAME=NUMBER",
        ),
    ] = ()
    mix: Annotated[
        str | Path | None,
        Opt(
            "Text to fit weights on, by which all models are mixed word by word; if not given, "
            "score and serve mix models as a file of weights records.",
            "Models",
            metavar="TEXT",
        ),
    ] = None
    mix_weights: Annotated[
        str | Sequence[float] | None,
        Opt(
            "Weights by which all models are mixed word by word: those of --model, then of --lm.",
            "Models",
            metavar="A,B",
            cli_type=str | None,
        ),
    ] = None
    old_lm: Annotated[
        str | Path | None,
        Opt(
            "N-gram model that lists or lattices were made with; its score is subtracted from "
            "Kaldi's graph score.",
            "Models",
        ),
    ] = None
    open_vocabulary: Annotated[
        bool | None,
        Opt(
            "Score unknown words by their spelling (`charlm train --speller`). If not given: as "
            "the weights were tuned, else in lists where the run has a speller and knows most "
            "words; where lists are answered as they come (`charlm serve`, `charlm score "
            "--line-buffered`), in all.",
            "Models",
        ),
    ] = None
    unnormalised: Annotated[
        bool,
        Opt(
            "Take the model's scores without normalising them, for models trained so (criterion "
            "nce or self-normalised).",
            "Models",
        ),
    ] = False
    lower: Lower = False
    split_hyphens: SplitHyphens = False
    punctuation: Annotated[
        Literal["keep", "drop"] | None,
        Opt(
            "What becomes of punctuation at the ends of words, and of signs that stand alone. If "
            "not given: as the weights were tuned, else kept.",
            "Normalisation",
        ),
    ] = None
    map: TextMap = None
    join: Annotated[
        str,
        Opt(
            "Mark of pieces of words in hypotheses: @@ in `bei@@ de`, + in `koulu+ +ssa`, ## in "
            "`play ##ing`, \u2581 in `\u2581bei de`, or <w> between words. They are joined to "
            "words, which are counted, compared with references, and written where the best "
            "hypotheses are; lists that are written back keep the pieces. If not given: as the "
            "weights were tuned.",
            "Normalisation",
            metavar="MARK",
        ),
    ] = ""
    read_as: Annotated[
        ReadAs | None,
        Opt(
            "What the models read where --join makes words of pieces. If not given: as the weights "
            "were tuned, else words.",
            "Normalisation",
        ),
    ] = None
    raw: Annotated[
        bool, Opt("Words as they stand, without the run's normalisation.", "Normalisation")
    ] = False
    context: Annotated[
        Literal["none", "previous"],
        Opt(
            "What a list is read after: nothing, or the hypotheses chosen before it in its "
            "recording.",
            "Models",
        ),
    ] = "none"
    recordings: Annotated[
        str,
        Opt(
            "Regular expression whose first group is the recording in a list's id; lists of one "
            "recording stay together in significance tests and folds. If not given, the id up to "
            "its times or its last part. A list's field or column 'recording' counts instead.",
            "Models",
            metavar="REGEX",
        ),
    ] = ""
    adapt: AdaptChoice = "none"
    adapt_rates: AdaptRates = ""
    on_nan: Annotated[
        OnNan,
        Opt(
            "What to do with a feature that is not a finite number: refuse it, or take the list's "
            "worst value.",
            "Lists",
        ),
    ] = "error"
    allow_missing: Annotated[
        bool,
        Opt(
            "Leave out lists that one of several files lacks, fill in features that hypotheses "
            "lack, and report how often.",
            "Lists",
        ),
    ] = False
    max_line: Annotated[
        int,
        Opt(
            "Longest line allowed in lists; JSON may hold everything on one.",
            "Lists",
            least=1,
            metavar="MIB",
        ),
    ] = LONGEST // MIB
    encoding: Encoding = UTF8
    memory: Annotated[
        int,
        Opt(
            "Memory limit for word vectors, per model and process.",
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
        if self.read_as is not None and not self.join:
            raise ConfigError(
                f"--read-as {self.read_as}: no pieces are joined; expected --join MARK beside it; "
                "give one, or drop --read-as"
            )

    @property
    def inputs(self) -> list[object]:
        """What is read beside the lists, where `-` is standard input."""
        return [*self.models, *self.lms, self.mix, self.old_lm, self.map]

    @property
    def weights(self) -> str | Path | None:
        """The file of weights; tune takes none."""
        return None

    @property
    def dedup(self) -> Dedup:
        """How hypotheses with the same words count together; tune takes each separately."""
        return "none"

    @property
    def posterior_scale(self) -> float | None:
        """The scale of totals for posteriors; None: that of the weights."""
        return None

    @property
    def mbr(self) -> TextMetricName | None:
        """The metric by whose expected error hypotheses are chosen; None: by their totals."""
        return None

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
        """Rules for the copies that models read, in addition to a run's own rules."""
        plain = Normalisation(self.lower, "none")
        return replace(
            plain,
            punctuation=self.punctuation or "keep",
            split_hyphens=self.split_hyphens,
            map=rules_of(self.map, plain=plain),
        )

    @property
    def line_rules(self) -> LineRules:
        """How the lines of lists and references are read."""
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
        MetricName,
        Opt(
            "What is measured; cer counts code points, vowel signs and other combining marks among "
            "them. For translations, as by sacrebleu: chrf (chrF2), chrf++, bleu (tokeniser 13a), "
            "bleu-zh (Chinese), bleu-char, bleu-intl and bleu-none (its other tokenisers), ter "
            "(3 ms a hypothesis). counted-bleu is BLEU for lists that hold counts of matches."
        ),
    ] = "wer"
    format: Annotated[
        str,
        Opt(
            "Format of the lists; auto recognises it, and a wrong NAME is answered with all names.",
            "Lists",
            metavar="NAME",
        ),
    ] = "auto"
    columns: Annotated[
        str | Sequence[str],
        Opt(
            "Names of a table's columns, in order: id, rank, text, ref, recording, - for one "
            "without meaning, or the name of a feature. A feature is in nats, larger is better, "
            "unless its name ends in :cost, :log10 or :log2, as am:cost. If not given, as the "
            "weights were tuned, or as its header names them.",
            "Lists",
            metavar="A,B,…",
            cli_type=str,
        ),
    ] = ""
    features: Annotated[
        Sequence[str] | Mapping[str, str | Path],
        Opt(
            "File of a further feature of the lists, such as Kaldi's am=acwt; may be repeated.",
            "Lists",
            metavar="NAME=FILE",
        ),
    ] = ()
    length_penalty: Annotated[
        float,
        Opt(
            "Exponent of the length**P by which the scores of huggingface's, ctranslate2's or "
            "fairseq's lists were divided; they are multiplied back.",
            "Lists",
            metavar="P",
        ),
    ] = 0.0
    beam: Annotated[
        float,
        Opt(
            "Drop paths that are this far below the best; 0 drops none.",
            "Lattices",
            least=0,
            metavar="NATS",
        ),
    ] = LatticeOptions.beam
    recombine: Annotated[
        int, Opt("Merge paths whose last N words are the same; 0 never does.", "Lattices", least=0)
    ] = LatticeOptions.recombine
    n_best: Annotated[
        int,
        Opt(
            "Number of hypotheses taken from a lattice, besides the one that was best before.",
            "Lattices",
            least=1,
            flags=("-n", "--n-best"),
        ),
    ] = LatticeOptions.n_best
    words_txt: Annotated[
        str | Path | None, Opt("Kaldi's words.txt, where words are written as numbers.", "Lattices")
    ] = None
    at_once: Annotated[
        int,
        Opt(
            "Number of hypotheses scored together, in one prefix tree; more take more memory.",
            "Machine",
            least=1,
        ),
    ] = 4096

    @property
    def inputs(self) -> list[object]:
        return [*super().inputs, *self.feature_files.values(), self.words_txt]

    @property
    def line_buffered(self) -> bool:
        """Whether each list is answered as soon as it has been read."""
        return False

    @property
    def allow_test_tuning(self) -> bool:
        """Whether lists that the weights were tuned on may be reported on."""
        return False

    @property
    def column_names(self) -> tuple[str, ...]:
        return as_names(self.columns, option="--columns")

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


def check_references(paths: Sequence[str | Path], *, metric: MetricName) -> None:
    """Raises ConfigError for references from standard input, or more than the metric takes."""
    if "-" in map(str, paths):
        raise ConfigError("--refs -: expected a file; only the lists may be standard input")
    if len(paths) > 1 and not metric.startswith(OF_SEVERAL):
        raise ConfigError(
            f"--metric {metric}: found {len(paths)} --refs; expected one, or BLEU, chrF or TER"
        )
