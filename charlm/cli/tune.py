"""`charlm tune`: weights of features and models, found on lists with references."""

from dataclasses import replace

from charlm.cli.printing import output, score_output
from charlm.cli.program.build_command import Results, command
from charlm.cli.program.rank_0 import errors_from_rank_0, is_rank_0
from charlm.scoring.rescoring.options.tune_options import TuneOptions


@command(TuneOptions)
def tune(options: TuneOptions) -> Results:
    """Find weights that give lists the lowest error rate.

    The features are the lists' own, the models' scores, and the numbers of words and of unknown
    words. Cross-validation shows how far the weights can be trusted: the error rate on the lists
    that they were tuned on is too good, and `charlm score` reports none there.

    \b
    charlm tune dev.tsv --refs dev.refs --model exp/first --out weights.json
    charlm score lists.tsv --model exp/first --weights weights.json --write ranked
    """
    from charlm.scoring.rescoring.tune import tune as tune_on

    with errors_from_rank_0():
        result = tune_on(replace(options, on_stage=output.say))
    if not is_rank_0():
        return
    score_output.warn(result)
    yield result
    for line in score_output.report_lines(result):
        output.write(line)
