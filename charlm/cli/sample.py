"""`charlm sample`: sentences drawn from a model, one a line, as soon as each is finished.

The sentences are data and go to stdout as they are; which model drew them, and that some were cut,
goes to stderr.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from charlm.cli.printing import output
from charlm.cli.program.build_command import Results, command
from charlm.scoring.likelihood.sampling.sample_options import SampleOptions

if TYPE_CHECKING:
    from charlm.scoring.likelihood.sampling.sampling import SampledSentence


@command(SampleOptions)
def sample(options: SampleOptions, *, as_json: bool) -> Results:
    """Draw sentences from a model.

    Each sentence begins from the model's start.

    In fp32, a seed gives the same sentences whatever their number and the batch size; in bf16 a
    few may differ. --json adds each sentence's log10 probability under the model itself, as eval
    gives it by sentence.

    \b
    charlm sample -n 3 --temperature 0.8 --prefix "the company" --seed 7
    charlm sample -n 3 --lm kn2.arpa
    """
    from charlm.scoring.likelihood.sampling.sampling import sample as draw

    model = options.model if options.lm else output.announced_run(options.model)
    result = draw(replace(options, model=model, on_sentence=None if as_json else _print))
    yield result
    if result.n_cut:
        output.say(
            f"{result.n_cut} of {options.n} sentences were cut at {options.max_length} words "
            "(--max-length)"
        )


def _print(sentence: "SampledSentence") -> None:
    output.write(" ".join(sentence.words))
