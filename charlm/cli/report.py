"""`charlm report`: a page about runs, or pictures of them; prints what was written.

The page is the result; what could not be put into it goes to stderr, each with its reason.
"""

from dataclasses import replace

from charlm.cli import output
from charlm.cli.command import command
from charlm.insight.report_options import ReportOptions


@command(ReportOptions)
def report(options: ReportOptions, *, as_json: bool) -> None:
    """Show a model in one HTML file, or draw pictures.

    The page holds perplexities with signatures, learning curves, nearest words, maps of words and
    of character n-grams, gates, perplexity by frequency and by position beside the other runs and
    Kneser-Ney, and the hardest and the easiest sentences.

    \b
    charlm report exp/first exp/second --data corpus --out report.html
    charlm report exp/first --picture words --out words.svg --data-out words.tsv
    """
    from charlm.insight.report.make import report as make_report
    from charlm.run.which import which_run

    runs = options.runs
    if not runs:
        runs = which_run(None)
        output.say(f"model: {runs}")
    result = make_report(replace(options, runs=runs, on_stage=output.say))
    if as_json:
        output.write_json(result.to_dict())
        return
    for note in result.notes:
        output.say(f"note: {note}")
    for missing in result.missing:
        output.say(f"not there: {missing}")
    for path in result.files:
        output.write(str(path))
