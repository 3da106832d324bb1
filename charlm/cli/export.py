"""`charlm export`: a model without torch, a page that runs it, or an ARPA file that resembles it.

The files are the result and go where the options say; stdout describes them.
"""

from dataclasses import replace

from charlm.cli.printing import output
from charlm.cli.program.build_command import Results, command
from charlm.scoring.export.export_options import ExportOptions
from charlm.text.perplexity.perplexity import shown_ppl


@command(ExportOptions)
def export(options: ExportOptions) -> Results:
    """Write a model as ONNX, as a page, or as an ARPA file.

    --onnx writes two networks: from word vectors and state to log-probabilities and the next
    state, and from spellings to word vectors. charlm eval, score, nn and surprisal take the folder
    as --model, as does charlm.load in Python, all without torch. The networks are checked against
    torch at batches of 1, 3 and 64.
    --arpa mixes Kneser-Ney of DIR's train.txt and of text drawn from the model with the model's own
    probabilities of their n-grams, averaged over full histories; valid.txt gives the weights.

    \b
    charlm export --model exp/ptb --data ptb --arpa ptb.gz --entropy-prune 1e-8
    charlm export --model exp/ptb --onnx ptb-onnx
    charlm export --model exp/ptb --page ptb.html
    """
    from charlm.scoring.export.export import export as run_export
    from charlm.scoring.export.onnx_export import OnnxExport
    from charlm.scoring.export.page.model_page import PageExport

    result = run_export(replace(options, on_stage=output.say))
    yield result
    if isinstance(result, PageExport):
        output.write(f"{result.page}: {result.n_bytes:,} bytes")
        output.say(f"open it in a browser; {result.seconds:.0f} s")
        return
    if isinstance(result, OnnxExport):
        output.table(
            [(name, f"{size:,}") for name, size in result.n_bytes.items()], header=["file", "bytes"]
        )
        output.say(
            f"{result.folder}: {result.precision}; at most {result.largest_difference:.1g} nats "
            f"from torch where it was tried, {result.seconds:.0f} s"
        )
        return
    rows = [
        (name, output.shown_number(result.weights.get(name), ".3f"), shown_ppl(ppl))
        for name, ppl in result.valid_ppls.items()
    ]
    output.table(rows, header=["part", "weight", "valid ppl"])
    sizes = " + ".join(f"{size:,}" for size in result.sizes)
    size = "" if result.n_bytes is None else f", {result.n_bytes:,} bytes"
    output.write(f"{options.arpa}: {sizes} n-grams{size}")
    output.say(f"{result.n_sampled:,} tokens drawn in whole sentences, {result.seconds:.0f} s")
