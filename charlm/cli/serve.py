"""`charlm serve`: JSON lines on stdin, each answered on stdout at once; the rest on stderr."""

from dataclasses import replace

from charlm.cli.printing import output, score_output
from charlm.cli.program.build_command import command
from charlm.cli.program.rank_0 import errors_from_rank_0, is_rank_0
from charlm.cli.score import stdout_in
from charlm.scoring.rescoring.options.serve_options import ServeOptions


@command(ServeOptions, has_json=False)  # the answers are JSON lines
def serve(options: ServeOptions) -> None:
    """Answer JSON lines as they come, models kept loaded.

    A line is a list, {"id": "u", "hyps": [{"text": "the cat", "am": -3}, ...]}, or one hypothesis,
    {"id": "u", "text": "the cat"}; it comes back as `charlm score` would write it. A list's own
    scores, such as am, count only with --weights, which `charlm tune` finds, or with --weight.
    Any other line is answered with an error, a blank one not at all.

    \b
    charlm serve --model exp/first --weights weights.json --write ranked
    """
    from charlm.scoring.rescoring.serve import serve as serve_lines

    out = stdout_in(options.written_encoding, is_flushed=True)
    with errors_from_rank_0():
        result = serve_lines(replace(options, out=out))
    if is_rank_0():
        score_output.warn(result)
        for line in score_output.report_lines(result):
            output.say(line)
