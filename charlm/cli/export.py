"""`charlm export`: an ARPA file that comes near to a neural model, for first-pass decoding.

The file is the result and goes where `--arpa` says; stdout has the table of what was mixed.
"""

from pathlib import Path
from typing import Annotated

import typer

from charlm.cli import options, output

Arpa = Annotated[
    Path,
    typer.Option(metavar="FILE", help="Where the ARPA file goes; packed by .gz, .bz2 or .xz."),
]
Tokens = Annotated[
    int, typer.Option(metavar="N", help="Tokens of text drawn from the model, each </s> included.")
]
Order = Annotated[
    int, typer.Option(metavar="N", min=2, max=6, help="Length of the longest n-grams.")
]
Prune = Annotated[
    str | None,
    typer.Option(
        metavar="0,0,1",
        help="Largest count of the drawn text's n-grams left out, by order; the last holds for "
        "longer ones; 0,0,1 if not given.",
    ),
]
Followers = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Words drawn at each position of both texts, whose n-grams come in, too; 0 for none.",
    ),
]
EntropyPrune = Annotated[
    float,
    typer.Option(
        metavar="T",
        help="Drop n-grams whose loss raises the perplexity by this share at most, as 1e-8; 0 "
        "drops none.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the text drawn, 0 or more.")]


def export(
    *,
    arpa: Arpa,
    data: options.Data,
    model: options.ModelSaid = None,
    tokens: Tokens = 1_000_000,
    order: Order = 5,
    prune: Prune = None,
    followers: Followers = 16,
    entropy_prune: EntropyPrune = 0.0,
    seed: Seed = 1,
    device: options.Device = "auto",
    precision: options.Precision = "fp32",
    threads: options.Threads = None,
    as_json: options.Json = False,
) -> None:
    """Write the ARPA file of an n-gram approximation of a model.

    Mixes Kneser-Ney of DIR's train.txt and of text drawn from the model with the model's own
    probabilities of their n-grams, averaged over full histories; weights from valid.txt.

    \b
    charlm export --model exp/ptb --data ptb --arpa ptb.arpa.gz --entropy-prune 1e-8
    """
    chosen = {name: value for name, value in locals().items() if name != "as_json"}
    from charlm.run.history import shown_ppl
    from charlm.scoring.export.export import export as approximate

    result = approximate(**chosen, on_stage=output.say)
    if as_json:
        output.write_json(result.to_dict())
        return
    rows = [
        (name, f"{result.weights[name]:.3f}" if name in result.weights else "-", shown_ppl(ppl))
        for name, ppl in result.valid_ppls.items()
    ]
    output.table(rows, header=["part", "weight", "valid ppl"])
    sizes = " + ".join(f"{size:,}" for size in result.sizes)
    output.write(f"{arpa}: {sizes} n-grams, {result.n_bytes:,} bytes")
    output.say(f"{result.n_sampled:,} tokens drawn, {result.seconds:.0f} s")
