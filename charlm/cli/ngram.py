"""`charlm ngram`: a Kneser–Ney baseline, estimated or loaded, kept and measured.

One command has the two uses of SRILM's ngram-count and ngram: `--train` or `--lm` says where the
model comes from, `--out` where it goes, and the texts behind are measured.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from charlm.cli import options, output, perplexities

if TYPE_CHECKING:
    from charlm.ngram.source import ModelInfo

Train = Annotated[
    Path | None,
    typer.Option(metavar="TEXT", help="Text to estimate a model of; else DIR's train.txt."),
]
Lm = Annotated[
    Path | None,
    typer.Option(
        metavar="MODEL",
        help="Model to load: ARPA (plain, gz, bz2, xz; - is standard input), or a KenLM binary, "
        "which is believed: take none from strangers.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Corpus directory to train on and measure a split of."),
]
OutFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Where the model goes: ARPA, packed by .gz, .bz2 or .xz; KenLM's binary by .bin, "
        ".binary or .klm.",
    ),
]
Order = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=6, help="Length of the longest n-grams estimated; 5 if not given."
    ),
]
Prune = Annotated[
    str | None,
    typer.Option(
        metavar="0,0,1",
        help="Largest count of the n-grams left out, by order; 1,1,1 leaves out words, too; the "
        "last holds for longer ones; none is if not given.",
    ),
]
Vocab = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|RUN", help="Vocabulary whose text rules apply and outside which all is <unk>."
    ),
]
Engine = Annotated[
    Literal["auto", "charlm", "kenlm", "lmplz"],
    typer.Option(
        help="What computes: charlm (auto) or lmplz (on the disk) estimate, kenlm (auto, if "
        "installed and it takes the file) or charlm, which checks more of it, answer for --lm."
    ),
]
Lmplz = Annotated[
    Path | None, typer.Option(metavar="PATH", help="KenLM's lmplz, to estimate with it.")
]
Start = Annotated[
    Literal["lmplz", "srilm"] | None,
    typer.Option(
        help="How the ARPA file has the log10 probability of <s>: lmplz's 0, as if not given, or "
        "SRILM's -99."
    ),
]
Speller = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="Run in whose vocabulary texts are read, and whose speller adds figures with words "
        "outside it spelled instead of <unk>.",
    ),
]
NoSentenceMarks = Annotated[
    bool,
    typer.Option(
        "--no-sentence-marks",
        help="Neither <s> before a sentence nor </s> behind it, as KenLM's query -n: the first "
        "word has no context, and words alone are counted.",
    ),
]


def ngram(
    *,
    files: options.Files = None,
    train: Train = None,
    lm: Lm = None,
    data: Data = None,
    split: options.Split = None,
    out: OutFile = None,
    order: Order = None,
    prune: Prune = None,
    vocab: Vocab = None,
    engine: Engine = "auto",
    lmplz: Lmplz = None,
    start: Start = None,
    speller: Speller = None,
    no_sentence_marks: NoSentenceMarks = False,
    encoding: options.Encoding = "utf-8",
    layout: perplexities.Layout = "srilm",
    debug: perplexities.Debug = 0,
    as_json: options.Json = False,
) -> None:
    """Estimate a Kneser-Ney model, or load one; keep it, and measure the perplexity of texts.

    Interpolated modified Kneser-Ney with lmplz's figures; small texts get fallback discounts.
    Prints what `charlm eval` prints of a text; its --debug 2 tells the n-grams' lengths, [5gram].

    \b
    charlm ngram --train corpus/train.txt --order 5 --out kn5.arpa.gz
    charlm ngram --lm kn5.arpa.gz corpus/test.txt
    """
    chosen = {k: v for k, v in locals().items() if k not in perplexities.PRESENTATION}
    perplexities.refuse_contradictions(layout, debug=debug, as_json=as_json)
    from charlm.ngram.baseline import ngram_baseline

    chosen["files"] = files or ()
    if speller is not None:
        from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

        chosen["speller"] = OpenVocabulary.at(speller)
    on_sentence, on_text = (None, None) if as_json else perplexities.printers(layout, debug=debug)
    result = ngram_baseline(
        **chosen, on_model=_tell_model, on_sentence=on_sentence, on_text=on_text
    )
    if as_json:
        output.write_json(result.to_dict())
    elif out is not None:
        output.say(f"{out}: {out.stat().st_size:,} bytes")


def _tell_model(info: "ModelInfo") -> None:
    sizes = " + ".join(f"{size:,}" for size in info.sizes)
    n_grams = f", {sizes} n-grams" if sizes else ""
    output.say(f"{info.source}: order {info.order}{n_grams}, {info.seconds:.1f} s")
    if info.fallback_orders:
        output.say(fallback_warning(info.fallback_orders))


def fallback_warning(orders: tuple[int, ...]) -> str:
    """One line that says that a text gave no discounts for some orders."""
    shown = ", ".join(map(str, orders))
    return (
        f"warning: too little text for Kneser-Ney discounts of order {shown}: took .5, 1, 1.5 there"
    )
