"""`charlm mix`: models mixed word by word, with the weights that suit a text best.

The table is for the eye; a program reads --json, and the mixture's own scores go to a file, in
the layout of `charlm eval --debug 2`, so that they can be mixed again.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from charlm.cli import output
from charlm.cli.command import command
from charlm.scoring.evaluation.mix_options import MixOptions

if TYPE_CHECKING:
    from charlm.scoring.evaluation.mix import Mixture

LEFT_OUT = "left-out"


@command(MixOptions)
def mix(options: MixOptions, *, as_json: bool) -> None:
    """Mix models word by word, with the best weights.

    The weights are found by EM; the perplexity is that of the mixture.

    All streams must have scored the same words. Files of scores are tuned on the text they are of,
    as SRILM's compute-best-mix does; runs and n-gram models score valid, then test, of --data.
    An n-gram model reads the text by the rules of the runs beside it, in their vocabulary.

    \b
    charlm mix exp/first kn5.arpa --data corpus
    """
    from charlm.scoring.evaluation.mix import mix as mixed

    result = mixed(replace(options, on_stage=output.say))
    if as_json:
        output.write_json(result.to_dict())
    else:
        _print(result)


def _print(result: "Mixture") -> None:
    from charlm.run.history import shown_ppl

    weights = [*(f"{each.weight:.4f}" for each in result.streams), "-"]
    rows = [
        [each.source, weight, str(each.n_zeroprobs), shown_ppl(each.ppl)]
        for each, weight in zip((*result.streams, result.mixture), weights, strict=True)
    ]
    header = ["source", "weight", LEFT_OUT, "ppl"]
    if not _has_left_out(result):
        header, rows = header[:2] + header[3:], [row[:2] + row[3:] for row in rows]
    output.table(rows, header=header)
    output.write("\n" + "\n".join(_remarks(result)))


def _has_left_out(result: "Mixture") -> bool:
    return any(each.n_zeroprobs for each in (*result.streams, result.mixture))


def _remarks(result: "Mixture") -> list[str]:
    where = f" in {result.text}" if result.text else ""
    left_out = (
        f"{LEFT_OUT}: tokens to which a row gives nothing; its ppl is over the others, and over "
        "different tokens ppl do not compare"
    )
    tuned = f"tuned on {result.tuned_on}" if result.tuned_on else "as given"
    signatures = [each for each in result.streams if each.signature]
    return [
        f"ppl: {len(result.words)} tokens{where}, each </s> one of them",
        *([left_out] if _has_left_out(result) else []),
        f"weights: {tuned}",
        *(
            f"{each.source}: knows the words of {each.n_wasted} tokens that are <unk> to the runs; "
            "its <unk> was asked for, and what it gives to these words is lost; estimate it with "
            "--vocab RUN"
            for each in result.streams
            if each.n_wasted
        ),
        *(f"signature of {each.source}: {each.signature}" for each in signatures),
    ]
