"""`charlm report`: a page about runs, or pictures of them; prints what was written.

The page is the result; what could not be put into it goes to stderr, each with its reason.
"""

import webbrowser
from dataclasses import dataclass, replace
from typing import Annotated, Any

from charlm.cli.printing import output
from charlm.cli.program.build_command import Results, command
from charlm.errors import ConfigError
from charlm.insight.report_options import ReportOptions
from charlm.interface.options import Opt


@dataclass(frozen=True, kw_only=True)
class ReportCommand(ReportOptions):
    """What is shown, and whether a browser is."""

    open: Annotated[bool, Opt("Open the page in the browser when it is written.")] = False


@command(ReportCommand)
def report(options: ReportCommand) -> Results:
    """Show a model in one HTML file, or draw pictures.

    The page holds perplexities with signatures, learning curves, nearest words, maps of words and
    of character n-grams, gates, perplexity by frequency and by position beside the other runs and
    Kneser-Ney, the hardest and the easiest sentences, and a table across data sets.

    \b
    charlm report exp/first exp/second --data corpus --out report.html
    charlm report exp/first --open
    charlm report exp/first --picture words --out words.svg --data-out words.tsv
    charlm report exp/gated --picture gate
    """
    from charlm.insight.report.report import report as make_report

    has_page = options.picture is None and (options.pictures is None or options.out is not None)
    if options.open and not has_page:
        raise ConfigError("--open: is for the page, which is not made; leave it out")
    runs = options.runs or output.announced_run(None, named="name a RUN")
    result = make_report(replace(options, runs=runs, on_stage=output.say))
    if options.open:
        page = result.files[-1]  # it comes last of what is written
        if not webbrowser.open(page.resolve().as_uri()):
            output.say(f"--open: found no browser; open {page} in one")
    yield result
    output.say_notes(result.notes)
    for missing in result.missing:
        output.say(f"not there: {missing}")
    if result.gate is not None:
        output.say(_gate(result.gate))
    for path in result.files:
        output.write(str(path))


def _gate(figures: dict[str, Any]) -> str:
    """What Miyamoto and Cho tell of a gate between words and characters, beside the picture."""
    rho, frequent = (
        "undefined" if value is None else f"{value:+z.3f}"
        for value in (figures["gate_rank_spearman"], figures["gate_rank_spearman_frequent"])
    )
    return (
        f"gate: Spearman's rho with the frequency rank {rho} over {figures['n_words']} words, "
        f"{frequent} over the {figures['n_frequent']:,} most frequent; mean "
        f"{figures['gate_mean']:.3g}; <unk> {figures['unk_gate']:.3g}, "
        f"above {figures['unk_percentile']:.4g} % of the words"
    )
