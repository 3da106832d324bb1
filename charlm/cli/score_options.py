"""The options of `charlm score`, by what they are of: lists, models, weights, rates, lattices.

What several commands share is in `options`; checks are the library's.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

RECORDING = r"^(.*)[-_][^-_]*$"  # of an utterance's id: all but its last part

Lists = Annotated[
    Path | None,
    typer.Argument(
        metavar="LIST",
        help="n-best lists, lattices, or sentences: a file, a folder of some formats, or -.",
    ),
]
Models = Annotated[
    list[Path] | None,
    typer.Option("--model", metavar="RUN", help="Run directory of a model; may come again."),
]
Lms = Annotated[
    list[Path] | None,
    typer.Option("--lm", metavar="FILE", help="n-gram model, ARPA or KenLM; may come again."),
]
Mix = Annotated[
    Path | None,
    typer.Option(
        metavar="TEXT",
        help="Mix all models word by word, with the weights that suit this text best.",
    ),
]
MixWeights = Annotated[
    str | None, typer.Option(metavar="A,B", help="Mix all models word by word, with these weights.")
]
OldLm = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="n-gram model that the list was made with: it is taken out of Kaldi's graph score.",
    ),
]
Format = Annotated[
    str, typer.Option("--format", metavar="NAME", help="Format of the lists; auto looks at them.")
]
Columns = Annotated[
    str,
    typer.Option(metavar="A,B,…", help="Names of a table's columns: id, rank, text, features."),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE", help="Further file of the lists, as Kaldi's am=acwt; may come again."
    ),
]
OnNan = Annotated[
    Literal["error", "worst"],
    typer.Option(help="A feature that is no finite number: refuse it, or take the list's worst."),
]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing",
        help="Do without, or fill in, what one of several files lacks; told how many.",
    ),
]
LengthPenalty = Annotated[
    float,
    typer.Option(
        metavar="P", help="The lists' scores were divided by length**P: multiply them back."
    ),
]
MaxLine = Annotated[
    int,
    typer.Option(
        metavar="MIB", min=1, help="Longest line of a list; JSON may have all of it on one."
    ),
]
Out = Annotated[
    str, typer.Option(metavar="PATH", help="Where the lists go: a file, a folder/, or - (stdout).")
]
Write = Annotated[
    Literal["scored", "ranked", "nbest", "kaldi", "trn", "text", "tsv", "jsonl", "none"],
    typer.Option(
        help="The lists with a score more, lattices with new ones (scored), the same best first "
        "(ranked), as JSON lines whatever they were (nbest), or the best hypotheses alone in a "
        "layout; none: no lists."
    ),
]
Sort = Annotated[
    bool,
    typer.Option(
        "--sort", help="Best hypotheses first, as --write ranked; else as the list has them."
    ),
]
Dedup = Annotated[
    Literal["none", "sum", "max"],
    typer.Option(
        help="Hypotheses with the same words: each for itself; or ranked together by log Σ exp of "
        "their totals (sum), or the largest (max). The best of them stands for them with its own "
        "features; the others' lines stay, behind it where ranked, and nbest leaves them out. "
        "--tune goes by the largest."
    ),
]
WeightsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Weights of features; --tune writes them there."),
]
Weight = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=NUMBER",
        help="Weight of one feature, over --weights; where --tune begins; may come again.",
    ),
]
Refs = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="References: of --tune's lists if there are any, else of LIST; own: as LIST has them.",
    ),
]
TestRefs = Annotated[
    Path | None, typer.Option(metavar="FILE", help="References of LIST where there is --tune.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Of --tune's random restarts.")]
Lower = Annotated[
    bool, typer.Option("--lower", help="Lower-case what the models read, not what is written.")
]
Tune = Annotated[
    Path | None,
    typer.Option(metavar="DEV", help="Lists to find weights on, with references in --refs."),
]
Metric = Annotated[
    Literal["wer", "cer", "bleu", "counted-bleu"],
    typer.Option(help="Error rate; counted-bleu is for lists that hold counts of matches."),
]
Tuned = Annotated[
    str, typer.Option(metavar="A,B,…", help="Features that --tune weighs; all if not given.")
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=LOW:HIGH",
        help="Between what a weight is looked for; may come again.",
    ),
]
Restarts = Annotated[
    int, typer.Option(metavar="N", min=0, help="Random starts of --tune, besides the first.")
]
Folds = Annotated[
    int, typer.Option(metavar="N", min=0, help="Parts of the cross-validation; 0 makes none.")
]
AllowTestTuning = Annotated[
    bool,
    typer.Option("--allow-test-tuning", help="Report a rate on the lists of the tuning, too."),
]
Context = Annotated[
    Literal["none", "previous"],
    typer.Option(help="Every list on its own, or after the chosen ones of its recording."),
]
Recordings = Annotated[
    str,
    typer.Option(
        metavar="REGEX", help="Its first group is the recording that a list's id belongs to."
    ),
]
OpenVocabulary = Annotated[
    bool,
    typer.Option("--open-vocabulary", help="Unknown words by their spelling (train --speller)."),
]
Unnormalised = Annotated[
    bool,
    typer.Option(
        "--unnormalised", help="Scores without their sum, for models trained so (nce, selfnorm)."
    ),
]
Raw = Annotated[
    bool, typer.Option("--raw", help="Words as they stand, without the run's normalisation.")
]
Memory = Annotated[
    int, typer.Option(metavar="MIB", min=1, help="Most memory for vectors of words, per model.")
]
AtOnce = Annotated[
    int, typer.Option(metavar="N", min=1, help="Hypotheses that share a tree and memory.")
]
LineBuffered = Annotated[
    bool,
    typer.Option("--line-buffered", help="Each list as soon as it has come, for pipes in use."),
]
Explain = Annotated[
    str | None,
    typer.Option(
        metavar="UTT[:A,B]",
        help="Why hypothesis A of this list beats B; the best and the first if not given.",
    ),
]
Serve = Annotated[
    bool,
    typer.Option(
        "--serve",
        help="Answer each JSON line of stdin at once, the model kept loaded; bad ones by an error.",
    ),
]
Beam = Annotated[
    float,
    typer.Option(metavar="NATS", min=0, help="Lattices: paths so far below the best go; 0: none."),
]
Recombine = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, help="Lattices: paths with so many last words alike are one; 0: never."
    ),
]
NBest = Annotated[
    int,
    typer.Option(
        "-n",
        "--n-best",
        metavar="N",
        min=1,
        help="Lattices: hypotheses that are taken, besides what was best.",
    ),
]
Symbols = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Lattices: Kaldi's words.txt, where words are numbers."),
]
