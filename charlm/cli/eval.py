"""`charlm eval`: perplexities of texts under a run's model, and the scores of their words."""

from typing import Annotated, Literal

import typer

from charlm.cli import options, output, perplexities
from charlm.cli.voices import is_first, is_one_of_several, one_voice

State = Annotated[
    Literal["both", "carried", "sentence"],
    typer.Option(help="Text read as one stream (carried), or every sentence on its own."),
]
Raw = Annotated[
    bool, typer.Option("--raw", help="Text as it stands, without the run's normalisation.")
]
OpenVocabulary = Annotated[
    bool,
    typer.Option(
        "--open-vocabulary",
        help="Also with words outside the vocabulary spelled by the run's speller, instead of "
        "<unk>; the layouts keep <unk>'s probabilities.",
    ),
]


def eval_command(
    *,
    files: options.Files = None,
    model: options.Model = None,
    data: options.DataOrFiles = None,
    split: options.Split = None,
    state: State = "both",
    layout: perplexities.Layout = "srilm",
    debug: perplexities.Debug = 0,
    raw: Raw = False,
    open_vocabulary: OpenVocabulary = False,
    encoding: options.Encoding = "utf-8",
    device: options.Device = "auto",
    precision: options.Precision = "fp32",
    threads: options.Threads = None,
    gpus: options.Gpus = None,
    processes: options.Processes = None,
    as_json: options.Json = False,
) -> None:
    """Measure the perplexity of texts, state carried over the text and sentence by sentence.

    Prints SRILM's two lines as `ngram -unk -ppl` would (<unk> is a word), perplexities over other
    denominators, and a signature of all that they depend on. --debug and the other formats print
    the scores of sentences and words, in the carried state unless --state sentence.

    \b
    charlm eval --model exp/first --data corpus --split test
    """
    chosen = {k: v for k, v in locals().items() if k not in perplexities.PRESENTATION}
    from charlm.run.which import which_run
    from charlm.scoring.evaluation.evaluate import evaluate

    if is_first():
        perplexities.refuse_contradictions(layout, debug=debug, as_json=as_json)
        chosen["model"] = which_run(model)
        if model is None:
            output.say(f"model: {chosen['model']}")
        if state == "carried" and is_one_of_several(gpus, processes):
            output.say("note: one stream is read by one process; --state sentence is divided")
    chosen["files"] = files or ()
    on_sentence, on_text = (None, None) if as_json else perplexities.printers(layout, debug=debug)
    with one_voice():
        results = evaluate(**chosen, on_sentence=on_sentence, on_text=on_text)
    if as_json and is_first():
        texts = [result.to_dict() for result in results]
        output.write_json({"model": str(chosen["model"]), "texts": texts})
