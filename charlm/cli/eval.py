"""`charlm eval`: perplexities of texts, and scores of their words in the layouts of older tools.

With `--debug` or another format stdout holds that layout and nothing else, since programs read it
by line and field; what we have to say beside it goes to stderr.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from charlm.cli import options, output
from charlm.errors import ConfigError

if TYPE_CHECKING:
    from charlm.text.perplexity import Evaluation, Perplexity, ScoredSentence

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Texts, one sentence a line: plain, gz, bz2 or xz; - is standard input.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Corpus directory, in the place of files."),
]
Split = Annotated[
    Literal["train", "valid", "test"], typer.Option(help="Part of the corpus directory.")
]
State = Annotated[
    Literal["both", "carried", "sentence"],
    typer.Option(help="Text read as one stream (carried), or every sentence on its own."),
]
Layout = Annotated[
    Literal["srilm", "kenlm", "jsonl"],
    typer.Option(
        "--format", help="SRILM's `ngram -ppl`, KenLM's `query`, or an object a sentence."
    ),
]
Debug = Annotated[
    int,
    typer.Option(
        metavar="0|1|2", min=0, max=2, help="SRILM's -debug: 1 adds sentences, 2 their words, too."
    ),
]
Raw = Annotated[
    bool, typer.Option("--raw", help="Text as it stands, without the run's normalisation.")
]

PRESENTATION = ("layout", "debug", "as_json")  # the other options are the library function's, too


def eval_command(
    *,
    files: Files = None,
    model: options.Model = None,
    data: Data = None,
    split: Split = "test",
    state: State = "both",
    layout: Layout = "srilm",
    debug: Debug = 0,
    raw: Raw = False,
    device: options.Device = "auto",
    precision: options.Precision = "fp32",
    threads: options.Threads = None,
    as_json: options.Json = False,
) -> None:
    """Measure the perplexity of texts, state carried over the text and sentence by sentence.

    Prints SRILM's two lines as `ngram -unk -ppl` would (<unk> is a word), perplexities over other
    denominators, and a signature of all that they depend on. --debug and the other formats print
    the scores of sentences and words, in the carried state unless --state sentence.

    \b
    charlm eval --model exp/first --data corpus --split test
    """
    chosen = {name: value for name, value in locals().items() if name not in PRESENTATION}
    _refuse_contradictions(layout, debug=debug, as_json=as_json)
    from charlm.run.which import which_run
    from charlm.scoring.evaluation import evaluate

    chosen["model"] = which_run(model)
    if model is None:
        output.say(f"model: {chosen['model']}")
    chosen["files"] = files or ()
    on_sentence, on_text = (None, None) if as_json else _printers(layout, debug=debug)
    results = evaluate(**chosen, on_sentence=on_sentence, on_text=on_text)
    if as_json:
        texts = [result.to_dict() for result in results]
        output.write_json({"model": str(chosen["model"]), "texts": texts})


def _refuse_contradictions(layout: str, *, debug: int, as_json: bool) -> None:
    if debug and layout != "srilm":
        raise ConfigError(f"--debug and --format {layout}: expected one of them; drop either")
    if as_json and (debug or layout != "srilm"):
        raise ConfigError("--json and a layout of words: expected one of them; drop either")


def _printers(
    layout: str, *, debug: int
) -> tuple[Callable[["ScoredSentence"], None] | None, Callable[["Evaluation"], None]]:
    """What to do with a sentence, and with a text when it is finished."""
    from charlm.text import layouts

    alone = bool(debug) or layout != "srilm"  # whether stdout belongs to the layout

    def print_total(result: "Evaluation") -> None:
        perplexity = next(iter(result.by_state.values()))
        if layout == "srilm":
            output.write(layouts.srilm_total(result.name, perplexity))
        elif layout == "kenlm":
            output.write(layouts.kenlm_total(perplexity))
        if alone:
            output.say(_block(result))
        else:
            output.write(f"\n{_block(result)}\n")

    def print_sentence(sentence: "ScoredSentence") -> None:
        if layout == "srilm":
            output.write(layouts.srilm_sentence(sentence, debug=debug))
        elif layout == "kenlm":
            output.write(layouts.kenlm_sentence(sentence))
        else:
            output.write(layouts.jsonl_sentence(sentence))

    return (print_sentence if alone else None), print_total


def _block(result: "Evaluation") -> str:
    """The further perplexities side by side with their denominators, and the signatures."""
    counts = result.counts
    rows: list[tuple[str, Callable[[Perplexity], float | None], int, str]] = [
        ("ppl", lambda p: p.ppl, 2, f"{counts.n_tokens} tokens, each </s> one of them"),
        ("ppl1", lambda p: p.ppl1, 2, f"{counts.n_words} words"),
        ("ppl-known", lambda p: p.ppl_known, 2, f"{counts.n_known_tokens} tokens, without <unk>"),
        ("bits/char", lambda p: p.bits_per_character, 4, f"{counts.n_characters} characters"),
        ("bits/byte", lambda p: p.bits_per_byte, 4, f"{counts.n_bytes} bytes"),
    ]
    lines = [f"{'':9}" + "".join(f"  {state:>10}" for state in result.by_state) + "  over"]
    for name, measure, decimals, over in rows:
        values = [measure(perplexity) for perplexity in result.by_state.values()]
        shown = ["undefined" if v is None else f"{v:.{decimals}f}" for v in values]
        lines.append(f"{name:9}" + "".join(f"  {value:>10}" for value in shown) + f"  {over}")
    return "\n".join([*lines, *_remarks(result)])


def _remarks(result: "Evaluation") -> list[str]:
    from charlm.text.perplexity import share

    counts = result.counts
    remarks = [
        f"<unk> as target: {counts.n_oov} of {counts.n_words} words "
        f"({share(counts.n_oov, counts.n_words):.2%}); the bits leave their spelling out"
    ]
    if 2 * counts.n_oov > counts.n_words:
        remarks.append(
            "most words are <unk>, so the perplexities say little: another case or language?"
        )
    if counts.n_changed:
        remarks.append(
            f"normalised: {counts.n_changed} of {counts.n_words} words "
            f"({share(counts.n_changed, counts.n_words):.2%}) stand otherwise in the text"
        )
    return remarks + [f"signature: {signature}" for signature in result.signatures.values()]
