"""`charlm export`: an ARPA file that comes near to a neural model, for first-pass decoding.

The file is the result and goes where `--arpa` says; stdout has the table of what was mixed.
"""

from dataclasses import replace

from charlm.cli import output
from charlm.cli.command import command
from charlm.scoring.export.export_options import ExportOptions


@command(ExportOptions)
def export(options: ExportOptions, *, as_json: bool) -> None:
    """Write the ARPA file of an n-gram approximation of a model.

    Mixes Kneser-Ney of DIR's train.txt and of text drawn from the model with the model's own
    probabilities of their n-grams, averaged over full histories; weights from valid.txt.

    \b
    charlm export --model exp/ptb --data ptb --arpa ptb.arpa.gz --entropy-prune 1e-8
    """
    from charlm.run.history import shown_ppl
    from charlm.scoring.export.export import export as approximate

    result = approximate(replace(options, on_stage=output.say))
    if as_json:
        output.write_json(result.to_dict())
        return
    rows = [
        (name, f"{result.weights[name]:.3f}" if name in result.weights else "-", shown_ppl(ppl))
        for name, ppl in result.valid_ppls.items()
    ]
    output.table(rows, header=["part", "weight", "valid ppl"])
    sizes = " + ".join(f"{size:,}" for size in result.sizes)
    output.write(f"{options.arpa}: {sizes} n-grams, {result.n_bytes:,} bytes")
    output.say(f"{result.n_sampled:,} tokens drawn, {result.seconds:.0f} s")
