"""`charlm bench cost`: how speed and memory of training change as one quantity grows."""

from charlm.bench.bench_options import CostBenchOptions
from charlm.cli import output
from charlm.cli.command import command

HEADER = ("tokens/s", "ms a step", "peak MB", "parameters")


@command(CostBenchOptions)
def cost(options: CostBenchOptions, *, as_json: bool) -> None:
    """Measure training as a vocabulary, a model, a batch or a text grows.

    The text is made. Shares are those of a step's time, each part forward and backward by itself;
    the update is clipping and optimiser. Memory is that of the whole process.

    \b
    charlm bench cost words=10000,100000 --set output.type=hierarchical
    """
    from charlm.bench.cost import PARTS, bench_cost

    result = bench_cost(options)
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
