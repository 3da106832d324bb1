"""`charlm score`: rescoring n-best lists, lattices and sentences.

The list goes to stdout unless --out says otherwise; then everything else goes to stderr, so that
the command is a filter.
"""

from collections.abc import Callable
from dataclasses import replace

import typer

from charlm.cli.printing import output, score_output
from charlm.cli.program.build_command import Results, command
from charlm.cli.program.rank_0 import errors_from_rank_0, is_rank_0
from charlm.scoring.rescoring.options.score_options import ScoreOptions


@command(ScoreOptions)
def score(options: ScoreOptions, *, as_json: bool) -> Results:
    """Score lists, lattices or sentences by models.

    Finds the best hypotheses of n-best lists, and writes the lists as they came in with one more
    score, `charlm`, that of the first model; or the best first, or the best alone (--write).
    Lattices are written with new language scores, with which decoders find the same best paths at
    the scales that are printed. A total is the weighted sum of a list's features and of the
    models' scores, all in nats; weights come from --weights, which `charlm tune` finds on other
    lists, or from --weight. Without a model the lists' own features rank them.

    \b
    charlm score sentences.txt --model exp/first
    charlm score lists.tsv --model exp/first --write ranked --out ranked.tsv
    """
    from charlm.scoring.rescoring.score import score as score_lists

    has_lists = options.lists is not None and options.explain is None and options.write != "none"
    to_stdout = has_lists and options.out in (None, "-")
    if as_json and to_stdout:
        raise typer.BadParameter("--json: the lists go to standard output; give --out FILE")
    is_asked_for = options.out == "-" or options.layout not in ("scored", "none")
    if options.explain is not None and options.out in (None, "-") and is_asked_for:
        raise typer.BadParameter(
            "--explain: its answer goes to standard output in the place of the lists; give --out "
            "FILE for these, or drop --write, --sort and --out"
        )
    out = None if options.out == "-" else options.out
    if to_stdout:
        out = stdout_in(options.written_encoding, is_flushed=options.line_buffered)
    on_stage = None if options.line_buffered else output.say  # a filter answers lists itself
    with errors_from_rank_0():
        result = score_lists(replace(options, out=out, on_stage=on_stage))
    if not is_rank_0():
        return
    score_output.warn(result)
    yield result
    if result.explanation is not None:
        score_output.tell_why(result.explanation)
        if result.report is None:
            return
        output.write("")
    tell = output.say if to_stdout else output.write
    for line in score_output.report_lines(result):
        tell(line)


def stdout_in(encoding: str, *, is_flushed: bool) -> Callable[[str], None]:
    """Writes text to stdout in an encoding, `is_flushed` so that its reader has it at once."""
    is_encoded = False

    def write(text: str) -> None:
        nonlocal is_encoded
        if not is_encoded:  # by now the library has said whether there is such an encoding
            output.encode_stdout(encoding)
            is_encoded = True
        output.write_exactly(text)
        if is_flushed:
            output.flush()

    return write
