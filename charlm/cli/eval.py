"""`charlm eval`: perplexities of texts under a run's model, and the scores of their words."""

from dataclasses import dataclass, replace

from charlm.cli import output, perplexities
from charlm.cli.command import command
from charlm.cli.rank_0 import errors_from_rank_0, has_other_ranks, is_rank_0
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions


@dataclass(frozen=True, kw_only=True)
class EvalCommand(perplexities.Layout, EvaluateOptions):
    """What is evaluated, and how it is printed."""


@command(EvalCommand)
def eval_command(options: EvalCommand, *, as_json: bool) -> None:
    """Measure the perplexity of texts under a model.

    As one stream, with the state carried over the text, and sentence by sentence: first as the
    model was trained, which is the latter after `charlm train --for sentences`.

    Prints SRILM's two lines as `ngram -unk -ppl` would (<unk> is a word), perplexities over other
    denominators, and a signature of all that they depend on. --debug and the other formats print
    the scores of sentences and words in the first state, unless --state names another.

    With --adapt the model follows each text as it reads it, from its trained weights on; the run's
    own files stay as they are.

    \b
    charlm eval --model exp/first --data corpus --split test
    charlm eval --model exp/first --data corpus --adapt dynamic --state carried
    """
    from charlm.scoring.evaluation.evaluate import evaluate

    model = options.model
    if is_rank_0():
        perplexities.refuse_contradictions(options, as_json=as_json)
        model = output.told_run(options.model)
        if options.state == "carried" and has_other_ranks(options.gpus, options.processes):
            output.say("note: one stream is read by one process; --state sentence is divided")
    on_sentence, on_text = (None, None) if as_json else perplexities.printers(options)
    with errors_from_rank_0():
        results = evaluate(
            replace(
                options,
                model=model,
                on_sentence=on_sentence,
                on_text=on_text,
                on_stage=output.say,
            )
        )
    if as_json and is_rank_0():
        texts = [result.to_dict() for result in results]
        output.write_json({"model": str(model), "texts": texts})
