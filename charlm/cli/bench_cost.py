"""`charlm bench cost`: how speed and memory of training change as one quantity grows."""

from typing import Annotated

import typer

from charlm.cli import options, output

HEADER = ("tokens/s", "ms a step", "peak MB", "parameters")

Over = Annotated[
    str,
    typer.Argument(
        metavar="NAME=A,B,C",
        help="The quantity and its values: words of the vocabulary, letters (so many times in a "
        "word), tokens of the text, or a setting, as context.dim=100,300.",
    ),
]
Arch = Annotated[str, typer.Option(metavar="NAME", help="Preset.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PART.OPTION=VALUE", help="Another setting; may be repeated."),
]
Steps = Annotated[int, typer.Option(min=1, metavar="N", help="Training steps at each value.")]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Seed of the made text and of the weights.")
]


def cost(
    over: Over,
    *,
    arch: Arch = "char-small",
    overrides: Overrides = None,
    steps: Steps = 10,
    seed: Seed = 1,
    threads: options.Threads = None,
    device: options.Device = "auto",
    precision: options.Precision = "auto",
    as_json: options.Json = False,
) -> None:
    """Measure training as a vocabulary, a model, a batch or a text grows.

    The text is made. Shares are those of a step's time, each part forward and backward by itself;
    the update is clipping and optimiser. Memory is that of the whole process.

    \b
    charlm bench cost words=10000,100000 --set output.type=hierarchical
    """
    from charlm.bench.cost import PARTS, bench_cost

    result = bench_cost(
        over,
        arch=arch,
        overrides=overrides or (),
        steps=steps,
        seed=seed,
        threads=threads,
        device=device,
        precision=precision,
    )
    if as_json:
        output.write_json(result.to_dict())
        return
    output.write(f"{' '.join((result.arch, *result.settings))}; {result.precision}")
    output.write(result.machine)
    rows = [
        (
            row.value,
            f"{row.tokens_per_second:,.0f}",
            f"{row.seconds_per_step * 1e3:,.0f}",
            f"{row.peak_bytes / 1e6:,.0f}",
            f"{row.n_parameters:,}",
            *(f"{row.shares[part]:.0%}" for part in PARTS),
        )
        for row in result.costs
    ]
    output.table(rows, header=(result.quantity, *HEADER, *PARTS))
