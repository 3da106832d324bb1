"""Perplexities of texts under a model, with state carried or sentence by sentence.

A text is read once, in blocks of bounded size, for both states at the same time. So a pipe can be
read, and memory depends only on the longest line. An exported model is evaluated without torch.
"""

import os

from charlm.interface.options import keywords
from charlm.run.exported_folder import is_exported
from charlm.run.which import VARIABLE
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions
from charlm.text.perplexity.perplexity import Evaluation


@keywords(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> tuple[Evaluation, ...]:
    """The perplexities of each of `files`, or of one split of a corpus directory.

    The run's text normalisation is applied to every line unless `raw` is set. With
    `open_vocabulary`, `on_sentence` still receives the probabilities of `<unk>`. A result's
    `counts.n_oov` counts every word whose target is `<unk>`, including literal `<unk>`. With
    `adapt`, each text starts from the trained weights, and its figures depend on the order of its
    sentences. Several processes divide the sentences among them. Under torchrun the first process
    evaluates with its options, the others help it whatever their own options are, and all return
    the same results.

    >>> (result,) = charlm.evaluate("exp/first", data="corpus", split="test", state="sentence")
    >>> result.by_state["sentence"]
    Perplexity(ppl=..., n_tokens=14)
    >>> result.counts.n_oov, result.by_state["sentence"].log10_prob < 0
    (1, True)

    Raises:
        ConfigError: neither files nor data, or both; a split of files; a device or precision that
            is not there; an open vocabulary without a speller.
        DataError: a text or run that is not as expected; a model that gives no finite numbers.
        ProcessError: another process ended.
    """
    said = options.model or os.environ.get(VARIABLE)
    if said and is_exported(said):
        from charlm.scoring.evaluation.evaluate_exported import evaluate_exported

        return evaluate_exported(said, options)
    from charlm.scoring.evaluation.evaluate_run import evaluate_run

    return evaluate_run(options)
