"""`charlm compare-kn`: neural models against Kneser–Ney, in tables that a paper could print.

There is one set of tables for each vocabulary: perplexities over different words never share a
column.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from charlm.cli.printing import output
from charlm.cli.printing.perplexities import fallback_warning, shown_bits, shown_interval
from charlm.cli.program.build_command import Results, command
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions
from charlm.text.perplexity.perplexity import shown_ppl

if TYPE_CHECKING:
    from charlm.scoring.evaluation.comparison.bootstrap import Difference
    from charlm.scoring.evaluation.comparison.frequency_bands import Band
    from charlm.scoring.evaluation.comparison.results import (
        Group,
        MeanDifference,
        SeedFigures,
        System,
    )
    from charlm.scoring.evaluation.evaluate_options import State

DIFFERENCE = ("difference", "from", "to", "first-better")


@command(CompareKnOptions)
def compare_kn(options: CompareKnOptions) -> Results:
    """Compare models with Kneser-Ney, alone and mixed.

    Estimates interpolated modified Kneser-Ney on train.txt in the vocabulary of each model, fits
    the weights of mixtures on valid.txt, and prints perplexities, their differences with intervals
    by paired bootstrap over sentences (--block: over several in a row), and both by how frequent
    the predicted word is. Trainings that differ in their seed alone have a mean, a standard
    deviation and the perplexity of all of them averaged; several such groups are compared by
    Welch's t test.

    Without --model and --vocab, types seen once are <unk>, unless train.txt holds <unk> itself;
    `charlm ngram` keeps them all as words, so its perplexities differ.

    \b
    charlm compare-kn --data corpus --model exp/first --order 5
    """
    from charlm.scoring.evaluation.comparison.compare_kn import compare_kn as compare

    result = compare(replace(options, on_stage=output.say))
    for group in result.groups:
        if group.fallback_orders:
            output.say(fallback_warning(group.fallback_orders))
    yield result
    for number, group in enumerate(result.groups):
        if number:
            output.write("")
        _print_group(group, options)
    for note in result.notes:
        output.write(f"note: {note}")


def _print_group(group: "Group", options: CompareKnOptions) -> None:
    counts = group.counts
    for sentence in group.verdict:
        output.write(sentence)
    output.write(
        f"{options.data} {options.split}: {counts.n_sentences} sentences, "
        f"{counts.n_tokens} tokens, {counts.n_characters} characters; vocabulary of "
        f"{group.n_words} words, {group.inventory.sha256[:12]}\n"
    )
    has_models = len(group.systems) > 1
    # Kneser-Ney starts every sentence anew: alone it has the same figures in every state.
    states = options.states if has_models else options.states[:1]
    _print_systems(group, states=states)
    _print_seeds(group)
    if has_models:
        output.write(
            f"\ndifference of ppl, first less second, with its 95 % interval: "
            f"{options.samples} draws of {options.units}, seed {options.seed}"
        )
        _print_pairs(group, states=states)
    told = f", state {group.state}; * is the best" if has_models else ""
    output.write(f"\nppl by how often the predicted word stands in train.txt{told}")
    _print_bands(group)
    best_two = group.best_two
    if best_two is not None:
        output.write(
            f"\ndifference of ppl there, {best_two.first} less {best_two.second}, of the same draws"
        )
        rows = [[band, *_shown(each)] for band, each in best_two.by_band.items()]
        output.table(rows, header=["count", *DIFFERENCE])
    output.write("")
    for note in group.notes:
        output.write(note)
    for name, signature in _signatures(group):
        output.write(f"signature of {name}: {signature}")


def _print_systems(group: "Group", *, states: "Sequence[State]") -> None:
    header = ["system", "params", "n-grams", "MB", "seconds"]
    is_alone = len(group.systems) == 1
    groups = [1] * len(header[1:])
    for state in states:
        figures = ["ppl"] if is_alone else ["weight", f"ppl:{state}"]
        header += [*figures, "bits/char"]
        groups.append(len(figures) + 1)
    rows = [_system_row(system, states=states, is_alone=is_alone) for system in group.systems]
    output.table(rows, header=header, groups=groups)
    if is_alone:
        output.write("MB: of the ARPA file; seconds: of estimating and scoring")
        return
    output.write(
        "MB: of weights or ARPA; seconds: of estimating and scoring "
        f"({states[0]}), not of training\n"
        "weight: the model's in the mixture, fitted on valid.txt"
    )
    if len(states) > 1:
        output.write(f"{group.systems[0].name} starts every sentence anew, in either state")


def _system_row(system: "System", *, states: "Sequence[State]", is_alone: bool) -> list[str]:
    row = [
        system.name,
        output.shown_number(system.n_parameters),
        output.shown_number(system.n_ngrams),
        f"{system.n_bytes / 1e6:.1f}",
        f"{system.seconds:.1f}",
    ]
    for state in states:
        figures = system.by_state[state]
        if not is_alone:
            row.append(output.shown_number(figures.weight, ".3f"))
        perplexity = figures.perplexity
        row += [shown_ppl(perplexity.ppl), shown_bits(perplexity.bits_per_character)]
    return row


def _print_seeds(group: "Group") -> None:
    """Means and spreads of trainings that differ in their seed alone, if there are some."""
    baseline = group.systems[0].name
    for alone, mixed in zip(group.seeds, group.mixed_seeds, strict=True):
        output.write(
            f"\nppl of {len(alone.names)} trainings that differ in their seed alone: "
            f"{', '.join(alone.names)}"
        )
        rows = [
            [state, name, *_spread(figures)]
            for found, name in ((alone, output.NOTHING), (mixed, baseline))
            for state, figures in found.by_state.items()
        ]
        spread = ["mean", "deviation", "lowest", "highest", "averaged"]
        output.table(rows, header=["state", "mixed-with", *spread], labels=2)
        output.write("averaged: of the mean of their probabilities, word by word")
    differences = [
        [first.label, second.label, state, *_mean_difference(found)]
        for first, second, by_state in group.seed_differences()
        for state, found in by_state.items()
    ]
    if differences:
        output.write(
            "\ndifference of mean ppl, first less second, with its 95 % interval over seeds "
            "(Welch's t test)"
        )
        header = ["first", "second", "state", *DIFFERENCE[:3], "p"]
        output.table(differences, header=header, labels=3)


def _mean_difference(found: "MeanDifference | None") -> list[str]:
    if found is None:
        return ["undefined"] * 3 + [output.NOTHING]
    return [*shown_interval(found), output.shown_number(found.p, ".2g")]


def _spread(found: "SeedFigures") -> list[str]:
    return [
        shown_ppl(ppl)
        for ppl in (found.mean, found.deviation, found.lowest, found.highest, found.averaged)
    ]


def _print_pairs(group: "Group", *, states: "Sequence[State]") -> None:
    rows = [
        [pair.first, pair.second, state, *_shown(pair.by_state[state])]
        for state in states
        for pair in group.pairs
    ]
    output.table(rows, header=["first", "second", "state", *DIFFERENCE], labels=3)


def _shown(difference: "Difference") -> list[str]:
    """The columns DIFFERENCE."""
    return [*shown_interval(difference), f"{difference.first_better:.1%}"]


def _print_bands(group: "Group") -> None:
    rows: list[list[output.Cell]] = [
        [band.name, band.n_tokens, f"{band.share:.2%}", *(_marked(ppl, band) for ppl in band.ppls)]
        for band in group.bands
    ]
    names = (system.name for system in group.systems)
    output.table(rows, header=["count", "tokens", "share", *names])


def _marked(ppl: float | None, band: "Band") -> str:
    """A star marks the best, and all that print as the same."""
    shown = shown_ppl(ppl)
    is_best = len(band.ppls) > 1 and ppl is not None and shown == shown_ppl(band.best)
    return shown + ("*" if is_best else " ")


def _signatures(group: "Group") -> list[tuple[str, str]]:
    """The signatures of each system by state; an n-gram model's is the same in both."""
    named = [
        (system.name, figures.signature)
        for system in group.systems
        for figures in system.by_state.values()
    ]
    return [(name, signature) for name, signature in dict.fromkeys(named) if signature]
