"""`charlm bench`: how fast this machine trains, evaluates, scores, estimates and prepares.

A group of commands, one for each kind of work. Paths are run in turns, and medians are printed;
other work on the machine changes the figures, but least those of the fastest repetition.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from charlm.bench.bench_options import (
    CostBenchOptions,
    EvalBenchOptions,
    KnBenchOptions,
    PrepBenchOptions,
    ScoreBenchOptions,
    StepBenchOptions,
    TrainBenchOptions,
)
from charlm.cli.printing import output
from charlm.cli.program.build_command import Results, command
from charlm.cli.program.usage import Command
from charlm.text.perplexity.perplexity import shown_ppl

if TYPE_CHECKING:
    from charlm.bench.timing import Measured

HEADER = ("path", "tokens/s", "median s", "fastest s", "processor s", "peak MB")
STEP_HEADER = ("path", "ms a step", "fastest ms", "processor ms")
COST_HEADER = ("tokens/s", "ms a step", "peak MB", "parameters")


@command(TrainBenchOptions)
def train(options: TrainBenchOptions) -> Results:
    """Measure training steps against the naive way and the machine's limit.

    Naive: fp32, eager, the CNN on every token, clipping and update in a Python loop. The limit is
    one large matrix product in the precision that is used; operations are counted from shapes.

    \b
    charlm bench train --arch char-large --threads 2
    """
    from charlm.bench.train import NAIVE, OURS, bench_train

    result = bench_train(options)
    yield result
    output.write(
        f"{result.arch}, {result.n_parameters:,} parameters; {result.precision}; {result.machine}"
    )
    output.write(
        f"{output.counted(result.n_steps, 'step')} of {result.n_tokens // result.n_steps} tokens, "
        f"{result.forms_per_step:.0f} distinct forms each; text: {result.data}"
    )
    _table(result)
    fastest = f"{result.undisturbed_speed_up:.2f} by the fastest of each"
    output.write(f"{result.speed_up:.2f} times the naive path, {fastest}")
    output.write(
        f"{result.share_of_peak(OURS):.1%} of a matrix product's {result.peak_flops / 1e9:,.0f} "
        f"GFLOP/s (naive: {result.share_of_peak(NAIVE):.1%}); "
        f"{result.flops_per_token / 1e6:.1f} MFLOP a token"
    )


@command(EvalBenchOptions)
def eval_command(options: EvalBenchOptions) -> Results:
    """Measure the perplexity of test.txt against the naive way and the machine's limit.

    charlm's time includes encoding the vocabulary, but not loading the run.

    \b
    charlm bench eval --model exp/first --data ptb
    """
    from charlm.bench.evaluate import bench_eval
    from charlm.bench.train import OURS

    result = bench_eval(options)
    yield result
    output.write(f"{result.model}; fp32; {result.machine}; text: {result.data}")
    _table(result)
    seconds = result.timings[OURS].median
    output.write(
        f"{result.n_tokens} tokens in {seconds:.2f} s, ppl {shown_ppl(result.ppl)}; "
        f"{result.speed_up:.2f} times the naive path, "
        f"{abs(result.log10_prob_difference):.1e} off it a token (log10)\n"
        f"{result.share_of_peak:.1%} of a matrix product's {result.peak_flops / 1e9:,.0f} GFLOP/s"
    )


@command(ScoreBenchOptions)
def score(options: ScoreBenchOptions) -> Results:
    """Measure the rescoring of a list: the tree of prefixes against batches that share nothing.

    Sharing is the number of tokens over that of distinct prefixes. The tree, as in `score`, also
    keeps the first layer's products, which the batches compute anew.

    \b
    charlm bench score nbest.txt --model exp/first --max-hypotheses 10000
    """
    from charlm.bench.score import bench_score

    result = bench_score(options)
    yield result
    output.write(
        f"{result.n_lists} lists, {result.n_hypotheses} hypotheses, {result.n_tokens} tokens; "
        f"{output.counted(result.threads, 'thread')}; {result.model}"
    )
    _table(result)
    output.write(
        f"sharing {result.sharing:.2f}, {result.sharing_of_distinct:.2f} without duplicates"
    )
    output.write(
        f"{result.speed_up:.2f} times the batches, {result.speed_up / result.sharing:.2f} of the "
        f"sharing; the two differ by {result.largest_difference:.1e} nats at most"
    )
    if result.bf16_deviation is not None:
        output.write(
            f"bf16 moves a hypothesis by {result.bf16_deviation:.3f} nats at most, "
            f"{result.bf16_mean_deviation:.3f} on average"
        )


@command(StepBenchOptions)
def step(options: StepBenchOptions) -> Results:
    """Measure the steps of a decoder's beam against their bare matrix products.

    The model is untrained, with the vocabulary of a generated text. Ratios are of processor time.

    \b
    charlm bench step --rows 64 --threads 1
    """
    from charlm.bench.step import bench_step

    result = bench_step(options)
    yield result
    output.write(f"{result.arch}, untrained; {result.n_words:,} words; {result.machine}")
    rows = []
    for name, timing in result.timings.items():
        seconds = (timing.median, timing.fastest, timing.median_processor)
        rows.append((name, *(f"{each / result.n_steps * 1e3:.2f}" for each in seconds)))
    output.table(rows, header=STEP_HEADER)
    output.write(
        f"{result.n_rows} rows: {result.ratio:.2f} times their matrix products, "
        f"{result.seconds_per_row * 1e3:.2f} ms a row"
    )


@command(KnBenchOptions)
def kn(options: KnBenchOptions) -> Results:
    """Measure Kneser-Ney: from a text to an ARPA file, and queries; lmplz and KenLM where found.

    \b
    charlm bench kn --data ptb --lmplz kenlm/build/bin/lmplz
    """
    from charlm.bench.kn import bench_kn

    result = bench_kn(options)
    yield result
    output.write(
        f"order {result.order}, {result.n_ngrams:,} n-grams of {result.n_tokens:,} tokens; "
        f"{result.n_queries:,} queries; text: {result.data}"
    )
    _table(result)
    if result.ratio_to_lmplz is not None:
        output.write(f"{result.ratio_to_lmplz:.2f} times lmplz's time")


@command(PrepBenchOptions)
def prep(options: PrepBenchOptions) -> Results:
    """Measure preparing a text, counting its vocabulary and encoding it.

    \b
    charlm bench prep --tokens 5000000
    """
    from charlm.bench.prep import bench_prep

    result = bench_prep(options)
    yield result
    output.write(f"{result.n_tokens:,} tokens, V {result.n_words:,}; text: {result.data}")
    _table(result)


@command(CostBenchOptions)
def cost(options: CostBenchOptions) -> Results:
    """Measure training as a vocabulary, a model, a batch or a text grows.

    The text is generated. Shares are of a step's time, each part timed forward and backward by
    itself; the update is clipping and optimiser. Memory is that of the whole process.

    \b
    charlm bench cost words=10000,100000 --set output.type=hierarchical
    """
    from charlm.bench.cost import PARTS, bench_cost

    result = bench_cost(options)
    yield result
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
    output.table(rows, header=(result.quantity, *COST_HEADER, *PARTS))


def _table(result: "Measured") -> None:
    rows = []
    for name, path in result.paths().items():
        timing = result.timings[name]
        speed, memory = f"{path['tokens_per_second']:,.0f}", f"{timing.peak_bytes / 1e6:,.0f}"
        seconds = (timing.median, timing.fastest, timing.median_processor)
        rows.append((name, speed, *(f"{each:.2f}" for each in seconds), memory))
    output.table(rows, header=HEADER)


BENCHES: dict[str, Callable[..., None]] = {
    "train": train,
    "eval": eval_command,
    "score": score,
    "step": step,
    "kn": kn,
    "prep": prep,
    "cost": cost,
}

bench = typer.Typer(
    name="bench",
    help="Measure speed on this machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for name, function in BENCHES.items():
    bench.command(name, cls=Command)(function)
