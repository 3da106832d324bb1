"""`charlm combine`: the lists of several systems put together.

The lists go to stdout unless --out says otherwise; then everything else goes to stderr.
"""

from dataclasses import replace

import typer

from charlm.cli.printing import output
from charlm.cli.program.build_command import Results, command
from charlm.cli.score import stdout_in
from charlm.nbest.combination.combine_options import CombineOptions
from charlm.text.io.lines import UTF8


@command(CombineOptions)
def combine(options: CombineOptions, *, as_json: bool) -> Results:
    """Put the lists of several systems together.

    Each hypothesis of any system gets one score, `combined`: ln of the sum of its posteriors, each
    times its system's share. `charlm score` chooses by it: the likeliest hypothesis, or with --mbr
    the one that the systems agree with most.

    \b
    charlm score a.lists --weights a.json --write nbest --out a.jsonl
    charlm score b.lists --weights b.json --write nbest --out b.jsonl
    charlm combine a.jsonl b.jsonl --out both.jsonl
    charlm score both.jsonl --weight combined=1 --mbr wer --write trn
    """
    from charlm.nbest.combination.combine import combine as combined

    to_stdout = options.out in (None, "-")
    if as_json and to_stdout:
        raise typer.BadParameter("--json: the lists go to standard output; give --out FILE")
    out = stdout_in(UTF8, is_flushed=False) if to_stdout else options.out
    result = combined(replace(options, out=out, on_stage=output.say))
    yield result
    tell = output.say if to_stdout else output.write
    rows: list[list[output.Cell]] = [
        [each.source, f"{each.share:.3f}", each.n_lists, each.n_hypotheses]
        for each in result.systems
    ]
    for line in output.table_lines(rows, header=["system", "share", "lists", "hypotheses"]):
        tell(line)
    tell(
        f"combined: {output.counted(result.n_lists, 'list')}, {result.n_hypotheses} hypotheses; "
        f"in {result.n_agreed} all systems have the same best one"
    )
    if result.n_missing:
        tell(f"missing: {output.counted(result.n_missing, 'list')} in some of the files")
    output.say_notes(
        f"{each.source}: lists without posteriors, whose hypotheses are taken as equally likely; "
        "`charlm score … --write nbest` with weights gives them some"
        for each in result.systems
        if not each.has_posteriors
    )
