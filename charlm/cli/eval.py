"""`charlm eval`: perplexities of texts under a run's model, and the scores of their words."""

from dataclasses import dataclass, replace

from charlm.cli.printing import output, perplexities
from charlm.cli.program.build_command import command
from charlm.cli.program.rank_0 import errors_from_rank_0, has_other_ranks, is_rank_0
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions


@dataclass(frozen=True, kw_only=True)
class EvalCommand(perplexities.Layout, EvaluateOptions):
    """What is evaluated, and how it is printed."""


@command(EvalCommand)
def eval_command(options: EvalCommand, *, as_json: bool) -> None:
    """Measure the perplexity of texts under a model.

    Each text is read as one stream, with the state carried over it, and sentence by sentence; the
    latter comes first for a model of `charlm train --for sentences`.

    Prints SRILM's two lines as `ngram -unk -ppl` would (<unk> is a word), perplexities over other
    denominators, and a signature of everything that they depend on. --debug and the other formats
    print scores of sentences and words as read the first way, unless --state names another.

    A model of text that was made lower-case and tokenised elsewhere reads raw text with --lower
    --tokenise simple; the signature names such rules (norm:).

    With --adapt the model adapts to each text while it reads it, starting from its trained
    weights; the run's own files are not changed.

    \b
    charlm eval --model exp/first --data corpus --split test
    charlm eval --model exp/first --data corpus --adapt dynamic --state carried
    """
    from charlm.scoring.evaluation.evaluate import evaluate

    model = options.model
    if is_rank_0():
        perplexities.refuse_contradictions(options, as_json=as_json)
        model = output.announced_run(options.model)
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
