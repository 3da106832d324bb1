"""`charlm mix`: models mixed word by word, with the weights that suit a text best.

The table is for the eye; a program reads --json, and the mixture's own scores go to a file, in
the layout of `charlm eval --debug 2`, so that they can be mixed again.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from charlm.cli import options, output

if TYPE_CHECKING:
    from charlm.scoring.mix import Mixture

Streams = Annotated[
    list[Path],
    typer.Argument(
        metavar="STREAM",
        help="Two or more of: scores of words (SRILM's -debug 2, `charlm eval --debug 2` or "
        "`--format jsonl`), run directories, ARPA files, KenLM binaries.",
    ),
]
Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Corpus directory for runs and n-gram models.")
]
SplitName = Literal["train", "valid", "test"]
Split = Annotated[
    SplitName, typer.Option(help="Part of the corpus directory whose perplexity is printed.")
]
Tune = Annotated[
    SplitName, typer.Option(help="Part of the corpus directory that the weights are tuned on.")
]
Text = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Text for runs and n-gram models, tuned and printed on the same."
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(metavar="W,W,...", help="Weights in the order of the streams; nothing is tuned."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File for the mixture's scores: SRILM's layout, JSON lines if it ends with .jsonl.",
    ),
]
State = Annotated[
    Literal["carried", "sentence"],
    typer.Option(help="Text read by runs as one stream (carried), or every sentence on its own."),
]


def mix(
    *,
    streams: Streams,
    data: Data = None,
    split: Split = "test",
    tune: Tune = "valid",
    text: Text = None,
    weights: Weights = None,
    out: Out = None,
    state: State = "carried",
    device: options.Device = "auto",
    threads: options.Threads = None,
    as_json: options.Json = False,
) -> None:
    """Mix models word by word: the best weights by EM, and the perplexity of the mixture.

    All streams must have scored the same words. Files of scores are tuned on the text they are of,
    as SRILM's compute-best-mix does; runs and n-gram models score valid, then test, of --data.

    \b
    charlm mix exp/first kn5.arpa --data corpus
    """
    chosen = {name: value for name, value in locals().items() if name not in ("as_json", "streams")}
    from charlm.scoring.mix import mix as mixed

    result = mixed(streams, **chosen, on_stage=output.say)
    if as_json:
        output.write_json(result.to_dict())
    else:
        _print(result)


def _print(result: "Mixture") -> None:
    rows = [(each.source, f"{each.weight:.4f}", _ppl(each.ppl)) for each in result.streams]
    last = (result.mixture.source, "-", _ppl(result.mixture.ppl))
    output.table([*rows, last], header=("source", "weight", "ppl"))
    output.write("\n" + "\n".join(_remarks(result)))


def _ppl(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _remarks(result: "Mixture") -> list[str]:
    n_tokens, n_left_out = len(result.words), result.mixture.n_zeroprobs
    where = f" in {result.text}" if result.text else ""
    without = f"; left out, having no probability: {n_left_out}" if n_left_out else ""
    tuned = f"tuned on {result.tuned_on}" if result.tuned_on else "as given"
    signatures = [each for each in result.streams if each.signature]
    return [
        f"ppl: {n_tokens} tokens{where}, each </s> one of them{without}",
        f"weights: {tuned}",
        *(f"signature of {each.source}: {each.signature}" for each in signatures),
    ]
