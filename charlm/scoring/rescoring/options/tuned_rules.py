"""Options that follow a file of weights: texts are read as they were read for the tuning."""

from dataclasses import replace
from typing import TypeVar

from charlm.nbest.ranking.weights import load_weights
from charlm.scoring.rescoring.options.rescoring_options import RescoringOptions
from charlm.text.corpus.normalisation.normalisation import NO_RULES

Options = TypeVar("Options", bound=RescoringOptions)


def with_tuned_rules(options: Options) -> Options:
    """The options with the text rules under which their weights were tuned, if they give no rules.

    Weights that were tuned without the model's own rules (--raw) are used without them, and those
    of unnormalised scores with such.
    """
    if options.weights is None:
        return options
    weights = load_weights(options.weights)
    if weights.unnormalised and options.models:
        options = replace(options, unnormalised=True)
    rules = options.text_rules
    is_said = rules != NO_RULES or options.punctuation is not None
    if not is_said and (weights.raw or not options.raw):
        rules = weights.text or NO_RULES
    return replace(
        options,
        join=options.join or (weights.pieces.mark if weights.pieces else ""),
        read_as=options.read_as or (weights.pieces.read_as if weights.pieces else None),
        raw=options.raw or bool(weights.raw),
        lower=rules.lower,
        split_hyphens=rules.split_hyphens,
        punctuation="drop" if rules.punctuation == "drop" else options.punctuation,
        map=dict(rules.map) or None,  # a pipe is read once
    )
