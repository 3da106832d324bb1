"""`charlm mix`: models mixed word by word, with the weights that suit a text best.

The table is for people; a program reads --json, and the mixture's own scores go to a file, in
the layout of `charlm eval --debug 2`, so that they can be mixed again.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from charlm.cli.printing import output
from charlm.cli.printing.perplexities import shown_interval
from charlm.cli.program.build_command import Results, command
from charlm.scoring.evaluation.mix_options import MixOptions
from charlm.text.corpus.tokens import END_WORD
from charlm.text.perplexity.perplexity import shown_ppl

if TYPE_CHECKING:
    from charlm.scoring.evaluation.mix import Mixture

LEFT_OUT = "left-out"


@command(MixOptions)
def mix(options: MixOptions) -> Results:
    """Mix models word by word, with the best weights.

    The weights are found by EM; the perplexity is that of the mixture.

    All streams must have scored the same words. Weights of score files are tuned on the text that
    the files score, as by SRILM's compute-best-mix; runs and n-gram models score valid.txt, then
    test.txt, of --data. An n-gram model reads the text as normalised for the runs beside it, in
    their vocabulary; without runs, ARPA files may differ in their words, and each gives nothing
    to those that only others have, as under SRILM's -mix-lm. Weights of published probabilities
    (FOLDER/test/MODEL.txt, their words in FOLDER/words_test.txt) are tuned on those of
    FOLDER/valid; their words align them.

    \b
    charlm mix exp/first kn5.arpa --data corpus
    charlm mix kn5.arpa release/test/doc.txt --add exp/first --data corpus --bands
    charlm mix own.arpa large.arpa --data corpus --arpa both.arpa
    charlm mix own.arpa large.arpa --weights 0.6,0.4 --arpa both.arpa
    """
    from charlm.scoring.evaluation.mix import mix as mixed

    result = mixed(replace(options, on_stage=output.say))
    yield result
    _print(result)


def _print(result: "Mixture") -> None:
    mixtures = [result.mixture, *([result.gain.without] if result.gain else [])]
    weights = [*(f"{each.weight:.4f}" for each in result.streams), *("-" for _ in mixtures)]
    rows = [
        [each.source, weight, str(each.n_zeroprobs), shown_ppl(each.ppl)]
        for each, weight in zip((*result.streams, *mixtures), weights, strict=True)
    ]
    header = ["source", "weight", LEFT_OUT, "ppl"]
    if not result.words:  # nothing was measured
        header, rows = header[:2], [row[:2] for row in rows[:-1]]
    elif not _has_left_out(result):
        header, rows = header[:2] + header[3:], [row[:2] + row[3:] for row in rows]
    output.table(rows, header=header)
    if result.bands:
        _print_bands(result)
    output.write("\n" + "\n".join(_remarks(result)))


def _print_bands(result: "Mixture") -> None:
    """One row for each model, since names may be long, and there are few bands."""
    output.write("\nppl by how often the predicted word stands in train.txt")
    names = [each.source for each in (*result.streams, result.mixture)]
    rows = [
        ["tokens", *(str(band.n_tokens) for band in result.bands)],
        *(
            [name, *(shown_ppl(band.ppls[number]) for band in result.bands)]
            for number, name in enumerate(names)
        ),
    ]
    output.table(rows, header=["source", *(band.name for band in result.bands)])


def _has_left_out(result: "Mixture") -> bool:
    return any(each.n_zeroprobs for each in (*result.streams, result.mixture))


def _remarks(result: "Mixture") -> Iterator[str]:
    if result.words:
        where = f" in {result.text}" if result.text else ""
        yield f"ppl: {len(result.words)} tokens{where}, each </s> one of them"
    if _has_left_out(result):
        of_bands = "; of a band that holds such tokens it is undefined" if result.bands else ""
        yield (
            f"{LEFT_OUT}: tokens to which a row gives nothing; its ppl is over the others, and "
            f"over different tokens ppl do not compare{of_bands}"
        )
    yield f"weights: {f'tuned on {result.tuned_on}' if result.tuned_on else 'as given'}"
    if result.arpa is not None:
        sizes = " + ".join(f"{size:,}" for size in result.arpa.sizes)
        measured = f", ppl {shown_ppl(result.arpa.ppl)}" if result.words else ""
        yield f"{result.arpa.path}: {sizes} n-grams{measured}"
    yield from _remarks_on_gain(result)
    if result.n_cut:
        yield "the first token is left out, as the probabilities leave it out; all words behind fit"
    for each in result.streams:
        if each.n_wasted:
            yield (
                f"{each.source}: knows the words of {each.n_wasted} tokens that are <unk> to the "
                "runs; its <unk> was asked for, and what it gives to these words is lost; estimate "
                "it with --vocab RUN"
            )
    for each in result.streams:
        if each.n_lacking:
            yield (
                f"{each.source}: lacks {each.n_lacking} of the words of all n-gram models "
                "together, and gives them nothing; they are not its <unk>"
            )
    for each in result.streams:
        if each.signature:
            yield f"signature of {each.source}: {each.signature}"


def _remarks_on_gain(result: "Mixture") -> list[str]:
    from charlm.nbest.metrics.resampling import remarks_on_units
    from charlm.scoring.evaluation.mix import DRAWS

    if result.gain is None:
        return []
    without = result.gain.without
    if without.n_zeroprobs != result.mixture.n_zeroprobs:
        return [
            f"gain: no number, since without what is new {without.n_zeroprobs} tokens are left "
            f"out, and with it {result.mixture.n_zeroprobs}"
        ]
    ppl, low, high = shown_interval(result.gain.difference)
    return [
        f"gain: what is new changes the mixture's ppl by {ppl} (95 % interval {low} to {high}: "
        f"{DRAWS} draws of sentences)",
        *remarks_on_units("sentences", result.words.count(END_WORD)),
    ]
