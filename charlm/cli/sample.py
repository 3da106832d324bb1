"""`charlm sample`: sentences drawn from a model, one a line, as soon as each is finished.

What was drawn is data and goes to stdout as it is; which model drew it, and that some sentences
were cut, goes to stderr.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from charlm.cli import options, output

if TYPE_CHECKING:
    from charlm.scoring.sampling import SampledSentence

Number = Annotated[int, typer.Option("-n", metavar="N", help="Number of sentences, 1 or more.")]
Temperature = Annotated[
    float,
    typer.Option(
        metavar="T",
        help="Divisor of log-probabilities: below 1 likelier words, above 1 rarer ones.",
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(metavar="N", help="Draw from the N likeliest words alone; from all if not given."),
]
TopP = Annotated[
    float,
    typer.Option(
        metavar="P", help="Draw from the likeliest words that hold this share, above 0 and up to 1."
    ),
]
NoUnk = Annotated[
    bool, typer.Option("--no-unk", help="Never draw <unk>; the others share its due.")
]
OpenVocabulary = Annotated[
    bool,
    typer.Option(
        "--open-vocabulary",
        help="Spell each <unk>, by the run's speller (charlm train --speller).",
    ),
]
Prefix = Annotated[
    str, typer.Option(metavar="WORDS", help="Words that every sentence begins with.")
]
MaxLength = Annotated[
    int, typer.Option(metavar="N", help="Greatest length in words; what is longer is cut there.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random numbers, 0 or more.")]
BatchSize = Annotated[
    int, typer.Option(metavar="N", help="Sentences drawn side by side; changes the speed alone.")
]


def sample(
    *,
    model: options.Model = None,
    n: Number = 10,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = 1.0,
    no_unk: NoUnk = False,
    open_vocabulary: OpenVocabulary = False,
    prefix: Prefix = "",
    max_length: MaxLength = 200,
    seed: Seed = 1,
    batch_size: BatchSize = 128,
    device: options.Device = "auto",
    precision: options.Precision = "fp32",
    threads: options.Threads = None,
    as_json: options.Json = False,
) -> None:
    """Draw sentences from a model, each from its initial state.

    A seed gives the same sentences whatever their number and the batch size. --json tells each
    sentence's log10 probability under the model itself, as eval gives it by sentence.

    \b
    charlm sample -n 3 --temperature 0.8 --prefix "the company" --seed 7
    """
    chosen = {name: value for name, value in locals().items() if name != "as_json"}
    from charlm.run.which import which_run
    from charlm.scoring.sampling import sample as draw

    chosen["model"] = which_run(model)
    if model is None:
        output.say(f"model: {chosen['model']}")
    result = draw(**chosen, on_sentence=None if as_json else _print)
    if as_json:
        output.write_json(result.to_dict())
    elif result.n_cut:
        output.say(f"{result.n_cut} of {n} sentences were cut at {max_length} words (--max-length)")


def _print(sentence: "SampledSentence") -> None:
    output.write(" ".join(sentence.words))
