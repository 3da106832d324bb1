"""Perplexities of texts under a model, with state carried or sentence by sentence.

A text is read once, in blocks of bounded size, by both states in step: a pipe will do, and memory
depends on its longest line alone. An exported model is read without torch.
"""

import os

from charlm.options import keywords
from charlm.run.exported_folder import is_exported
from charlm.run.which import VARIABLE
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions
from charlm.text.perplexity.perplexity import Evaluation


@keywords(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> tuple[Evaluation, ...]:
    """The perplexities of each of `files`, or of one split of a corpus directory.

    The run's text normalisation is applied to every line unless `raw`. Even with `open_vocabulary`
    `on_sentence` is given the probabilities of `<unk>`. A result's `counts.n_oov` counts every word
    whose target is `<unk>`, including those written so. With `adapt` each text starts from the
    trained weights, and its figures depend on the order of its sentences. Several processes share
    the sentences. Under torchrun the first process evaluates as its options say, and the others
    help it, whatever their own options are; all return the same.

    >>> (result,) = charlm.evaluate("exp/first", data="corpus", split="test", state="sentence")
    >>> result.by_state["sentence"]
    Perplexity(ppl=..., n_tokens=14)
    >>> result.counts.n_oov, result.by_state["sentence"].log10_prob < 0
    (1, True)

    Raises:
        ConfigError: neither files nor data, or both; a split of files; a device or precision that
            does not exist; an open vocabulary without a speller.
        DataError: a text or run that is not what was expected; a model that gives no numbers.
        ProcessError: another process ended.
    """
    said = options.model or os.environ.get(VARIABLE)
    if said and is_exported(said):
        from charlm.scoring.evaluation.evaluate_exported import evaluate_exported

        return evaluate_exported(said, options)
    from charlm.scoring.evaluation.evaluate_run import evaluate_run

    return evaluate_run(options)
