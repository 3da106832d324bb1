"""`charlm bench step`: what a word more costs a decoder's beam."""

from charlm.bench.step_options import StepBenchOptions
from charlm.cli import output
from charlm.cli.command import command

HEADER = ("path", "ms a step", "fastest ms", "processor ms")


@command(StepBenchOptions)
def step(options: StepBenchOptions, *, as_json: bool) -> None:
    """Measure the steps of a decoder's beam against their bare matrix products.

    The model is untrained, its vocabulary that of a made text. The ratio is of processor time.

    \b
    charlm bench step --rows 64 --threads 1
    """
    from charlm.bench.step import bench_step

    result = bench_step(options)
    if as_json:
        output.write_json(result.to_dict())
        return
    output.write(f"{result.arch}, untrained; {result.n_words:,} words; {result.machine}")
    rows = [
        (
            name,
            *(
                f"{seconds / result.n_steps * 1e3:.2f}"
                for seconds in (timing.median, timing.fastest, timing.median_processor)
            ),
        )
        for name, timing in result.timings.items()
    ]
    output.table(rows, header=HEADER)
    output.write(
        f"{result.n_rows} rows: {result.ratio:.2f} times their matrix products, "
        f"{result.seconds_per_row * 1e3:.2f} ms a row"
    )
