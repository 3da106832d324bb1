"""What `charlm score`, `tune` and `serve` report: rates in per cent, weights, oddities.

The report goes to stderr if the lists go to stdout: a filter's output is its lists alone.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from charlm.cli.printing import output
from charlm.nbest.metrics.metric_names import lower_is_better
from charlm.text.corpus.tokens import shown_counts, visible

if TYPE_CHECKING:
    from charlm.nbest.metrics.calibration import Calibration
    from charlm.nbest.metrics.rates_report import Rate, RateReport
    from charlm.nbest.metrics.significance import Significance
    from charlm.nbest.tuning.tuning import Tuned, TunedWeight
    from charlm.scoring.rescoring.answers.explain import Explanation
    from charlm.scoring.rescoring.answers.result import (
        RescoringResult,
        ScoreResult,
        ServeResult,
        TuneResult,
    )
    from charlm.text.corpus.normalisation.normalisation import Normalisation

CHANCE = 0.05  # a larger p is no evidence of a gain
SMALLEST_P = 1e-290  # shares below 1e-300 are left out of the sum that p is


def report_lines(result: "ScoreResult | ServeResult | TuneResult") -> Iterator[str]:
    """The lines of the whole report: what was read and done, and tables of rates or weights."""
    from charlm.scoring.rescoring.answers.result import ScoreResult, ServeResult, TuneResult

    if isinstance(result, ServeResult) and result.n_errors:
        yield f"lines answered by an error: {result.n_errors}"
    yield from _read(result)
    if isinstance(result, TuneResult):
        yield from (*_lattices(result), *_tuned(result.tuned), *_scorers(result))
        return
    yield from (*_lists(result), *_lattices(result), *_scorers(result))
    yield from (*_written(result), *_weights(result))
    if isinstance(result, ScoreResult) and result.report is not None:
        yield from _rates(result.report)
    if isinstance(result, ScoreResult) and result.confidences is not None:
        yield from _confidences(result.confidences)


def warn(result: "RescoringResult") -> None:
    """Say what was repaired or skipped in the lists, and what could be improved."""
    from charlm.scoring.rescoring.answers.advice import advice_on

    notices = result.notices
    if notices.n_marked:
        output.say(
            f"warning: <s> or </s> at the ends of {_hypotheses(notices.n_marked)}: left out, every "
            "sentence is scored with its end"
        )
    for place in notices.headings:
        output.say(
            f"warning: {place} looks like a header, and was read as a hypothesis; call its columns "
            "id and text, or begin the line with #"
        )
    if notices.ids_read_as_words:
        output.say(
            f"warning: sentences begin or end with {', '.join(notices.ids_read_as_words):.80}, "
            "which look like ids and were scored as words; if they are, name the format, as "
            "--format kaldi-text, trn or kaldi, or cut them off"
        )
    for filling, n in notices.filled.items():
        output.say(
            f"warning: {filling.feature}: {filling.cause} in {_hypotheses(n)}, which got "
            f"{filling.value}"
        )
    for what, n in notices.passed_over.items():
        output.say(f"warning: {what}: {n}, passed over")
    output.say_notes([*notices.said_otherwise, *advice_on(result)])


def _hypotheses(n: int) -> str:
    return output.counted(n, "hypothesis", several="hypotheses")


def _read(result: "RescoringResult") -> Iterator[str]:
    """What was read, and how much of it the models knew."""
    counts, text = result.counts, result.text
    is_text = result.format == "text"
    what = f"{counts.n_lists}" + ("" if is_text else f", {_hypotheses(text.n_hypotheses)}")
    yield (
        f"{'sentences' if is_text else 'lists'}: {what}, {output.counted(text.n_words, 'word')}; "
        f"format {result.format}; {result.seconds:.1f} s"
    )
    if text.n_words and result.scorers:
        yield (
            f"words: {text.n_changed / text.n_words:.2%} changed by the model's text rules, "
            f"{text.share_unknown:.2%} unknown to the model"
        )
    yield from _text_rules(result)
    if text.n_noise:
        yield f"labels of noise: {text.n_noise}, which no model reads"
    if text.unknown:
        yield f"most frequent unknown: {shown_counts(text.unknown)}"
    if text.unknown and result.spelled:
        yield f"unknown words: by their spelling, for {', '.join(result.spelled)}"
    for each in result.remedies:
        examples = ", ".join(visible(f"{a:.60} > {b[:60] or 'nothing'}") for a, b in each.examples)
        yield (
            f"{each.rule}: {each.share:.0%} of the unknown words would be known by {each.advice}: "
            f"{examples}"
        )
    if counts.n_empty:
        scored = ", scored as the end of a sentence" if result.scorers else ""
        yield f"empty hypotheses: {counts.n_empty}{scored}"


def _text_rules(result: "RescoringResult") -> Iterator[str]:
    """The text rules in addition to the model's own, and how many words each changed."""
    rules, weights = result.text_rules, result.weights
    asked_for = _options_of(rules)
    if asked_for:
        changed = ", ".join(f"{n} by {name}" for name, n in result.text.by_rule.items())
        yield f"copies for the models: {asked_for}{changed and f'; words changed: {changed}'}"
    if weights is not None and weights.text is not None and weights.text != rules:
        yield (
            "note: the weights were tuned on words read under other rules "
            f"({_options_of(weights.text) or 'none'}): rules on the command line replace all of "
            "these; give none there, or every rule that shall apply"
        )


def _options_of(rules: "Normalisation") -> str:
    """The rules for spoken text, as options of the command line."""
    asked = {
        "--lower": rules.lower,
        "--split-hyphens": rules.split_hyphens,
        "--punctuation drop": rules.punctuation == "drop",
        f"--map ({len(rules.map)} rules)": bool(rules.map),
    }
    return ", ".join(name for name, is_asked in asked.items() if is_asked)


def _lists(result: "ScoreResult | ServeResult") -> Iterator[str]:
    """How much there was to choose from; nothing for plain sentences."""
    counts = result.counts
    if counts.n_recordings:
        yield f"recordings: {counts.n_recordings}, each list after those before it"
    if result.adaptation:
        yield (
            f"adapted to what was chosen before in a recording, {result.adaptation}: scores depend "
            "on the order of the lists"
        )
        if "squares=none" in result.adaptation:
            yield (
                "plain gradient steps: the run keeps no mean squared gradients; charlm eval "
                "--adapt dynamic --data DIR makes them once, of the train.txt of the training"
            )
    if not counts.n_choices:
        return
    if counts.n_duplicates:
        together = {
            "none": "",
            "sum": ", ranked by the sum over them",
            "max": ", ranked by the best of them",
        }[result.dedup]
        scored = ", scored once" if result.scorers else ""
        yield f"texts that occur earlier in their list: {counts.n_duplicates}{scored}{together}"
    if result.sharing is not None:
        yield f"sharing: {result.sharing:.2f} tokens a prefix"
    if result.mbr is not None:
        yield f"chosen by the lowest expected error (minimum Bayes risk, {result.mbr})"
    yield f"another hypothesis is the best one now: {output.counted(counts.n_moved, 'list')}"
    if counts.n_empty_wins:
        yield f"the best hypothesis is empty: {output.counted(counts.n_empty_wins, 'list')}"


def _lattices(result: "RescoringResult") -> Iterator[str]:
    found = result.lattices
    if found is None:
        return
    yield (
        f"lattices: {found.n_exact} of {result.counts.n_lists} searched exactly; "
        f"{found.n_merged} histories merged, {found.n_pruned} pruned"
    )
    if found.n_useless:
        yield f"nodes on no path to the end: {found.n_useless}, left out"
    if found.scales:
        scales = " ".join(f"{name}={value:.9g}" for name, value in found.scales.items())
        yield f"written for decoders: they find these best paths at {scales}"
    if found.n_misjudged:
        yield (
            f"but another one in {found.n_misjudged} of them, whose histories were merged: a "
            "larger --recombine merges fewer, 0 none"
        )


def _scorers(result: "RescoringResult") -> Iterator[str]:
    yield from (f"{name}: {source}" for name, source in result.scorers.items())
    if result.mixture:
        mixed = ", ".join(f"{name} {weight:.4f}" for name, weight in result.mixture.items())
        yield f"mixture, word by word: {mixed}"
    if result.deviation is not None:
        far = result.deviation
        yield (
            f"bf16: {far.n_sentences} scores differ from fp32's by {far.mean:.4f} nats on average, "
            f"by {far.largest:.4f} at most"
        )


def _written(result: "RescoringResult") -> Iterator[str]:
    """Which model's score is written, if that is not obvious."""
    first, *others = result.scorers or [""]
    if others and not result.mixture and not (result.lattices and result.lattices.scales):
        yield f"written as `charlm`: {first}; --write nbest holds all, and their total"
    elif not first and not result.lattices:
        yield "no model: no score is added to the lists"


def _weights(result: "ScoreResult | ServeResult") -> Iterator[str]:
    if result.weights is None or not result.counts.n_choices:
        return
    values = {name: value for name, value in result.weights.values.items() if value}
    if not values:
        order = "a text counts as often as its list has it"
        if result.dedup != "sum":
            order = "lists keep their order"
        if result.mbr is not None:
            order = "all hypotheses of a list are equally likely"
        yield f"weights: none: {order}; --weight sets one, charlm tune finds some"
    else:
        yield f"weights: {', '.join(f'{name} {value:g}' for name, value in values.items())}"
        if result.ignored:
            advice = "" if result.weights.origin else "; charlm tune finds some"
            yield f"without a weight: {', '.join(result.ignored)}{advice}"
    if values.get("graph") and result.scorers:
        yield (
            "graph: language model, transitions and lexicon of the lists together, which the new "
            "scores come on top of; --old-lm takes the old model out"
        )


def _remark(weight: "TunedWeight") -> str:
    if weight.same_as:
        return f"always equals {weight.same_as}, whose weight is tuned for both"
    if not weight.has_effect:
        return "the same for all hypotheses of a list"
    if weight.at_border:
        return "no worse at the end of its range"
    return "sets the scale" if weight.is_fixed else ""


def _tuned(tuned: "Tuned") -> Iterator[str]:
    header = ["feature", "weight", "flat from", "to", ""]
    rows = []
    for each in tuned.details:
        flat = (f"{end:.4g}" for end in (each.flat_low, each.flat_high))
        rows.append([each.feature, f"{each.weight:g}", *flat, _remark(each)])
    yield from output.table_lines(rows, header=header)
    held_out = "not cross-validated: too good for other lists"
    if tuned.held_out_error is not None:
        held_out = f"{_percent(tuned.held_out_error)} cross-validated"
    yield (
        f"tuned on {output.counted(tuned.n_lists, 'list')}: {_percent(tuned.first_error)} first, "
        f"{_percent(tuned.error)} tuned, {held_out}; {lower_is_better(tuned.metric)}"
    )
    if tuned.held_out_gain is not None:
        told, *remarks = _gain(tuned.held_out_gain)
        yield from (f"cross-validated, {told}", *remarks)
    yield "flat: the range in which a weight, moved alone, raises the rate by at most 0.1 %"
    if (sureness := tuned.weights.sureness) is not None:
        yield (
            f"posteriors: of totals × {sureness.scale:g}; a word that all hypotheses have is right "
            f"in {_percent(sureness.ceiling)} of the cases"
        )
    # Whether what was gained on other lists is nothing, or may be chance.
    if tuned.generalises is False:
        yield (
            "tuning does not pay: lists that it has not seen are no better ranked than they were; "
            "the first hypotheses are as good, or there are too few lists"
        )
    elif tuned.held_out_gain is not None and tuned.held_out_gain.p > CHANCE:
        yield (
            "no gain beyond chance: as large a gain on lists that it has not seen may come about "
            "by chance; other models, text more like theirs, or more lists may tell"
        )


def _rates(report: "RateReport") -> Iterator[str]:
    named = [
        ("first-best", report.first),
        ("rescored", report.rescored),
        *((f"oracle of {depth}", rate) for depth, rate in report.oracles.items()),
        ("oracle", report.oracle),
        ("worst", report.worst),
    ]
    has_edits = report.first.n_tokens is not None
    name = lower_is_better(report.metric).partition("|")[0]
    header = ["", *(("rate", "sub", "del", "ins", "of") if has_edits else (name,))]
    rows = [_rate_row(*each, has_edits=has_edits) for each in named]
    yield from output.table_lines(rows, header=header)
    if report.recovered is not None:
        yield (
            f"share of the gap from first-best to oracle that was recovered: {report.recovered:.1%}"
        )
    yield f"lists: {report.n_better} better, {report.n_worse} worse, {report.n_lists} in all"
    yield from _gain(report.significance)
    yield from _limit(report)
    yield from _kinds(report)
    yield from _recordings(report)
    yield f"metric: {report.metric}"


def _kinds(report: "RateReport") -> Iterator[str]:
    """How many errors of each kind there are, before and after; nothing where there are none."""
    rows = [
        [name, *map(str, counts)] for name, counts in (report.kinds or {}).items() if any(counts)
    ]
    if rows:
        yield from output.table_lines(rows, header=["error", "first-best", "rescored"])


def _recordings(report: "RateReport") -> Iterator[str]:
    """The rates of each recording, with --write errors."""
    rows = [
        [name, str(each.n_lists), str(each.first.n_tokens)]
        + [_percent(rate.error) for rate in (each.first, each.rescored)]
        for name, each in report.recordings.items()
    ]
    if rows:
        header = ["recording", "lists", "of", "first-best", "rescored"]
        yield from output.table_lines(rows, header=header)


def _confidences(found: "Calibration") -> Iterator[str]:
    """How often words are right that are as sure; the last bin's are certain."""
    ends = [f"{each.low:g}" for each in found.bins]  # the last begins a trifle below 1
    names = [*(f"{low} to {high}" for low, high in pairwise(ends)), ends[-1]]
    rows = [
        [
            name,
            str(each.n_words),
            *(output.shown_number(n, ".4f") for n in (each.mean, each.correct)),
        ]
        for name, each in zip(names, found.bins, strict=True)
    ]
    yield from output.table_lines(rows, header=["confidence", "words", "mean", "correct"])
    if found.mean is not None:
        yield (
            f"confidences: {_percent(found.mean)} on average, where "
            f"{_percent(found.n_correct / found.n_words)} of {found.n_words} words are correct; "
            f"normalised cross-entropy (NCE) {_nce(found.nce)}"
        )
        yield (
            f"hypotheses differ on {output.counted(found.n_contested, 'word')}: NCE of these alone "
            f"{_nce(found.nce_contested)}"
        )


def _nce(value: float | None) -> str:
    return "none (all right, or all wrong)" if value is None else f"{value:.3f}"


def _limit(report: "RateReport") -> Iterator[str]:
    """Whether the errors come from the lists or from the choice among their hypotheses."""
    left, first = report.share_of_lists, report.share_of_lists_in_first
    if left is None or first is None:
        return
    limit = "the lists" if report.is_limited_by_lists else "the choice, by models and weights"
    yield (
        f"limit: {limit}: {left:.0%} of the errors left, and {first:.0%} of the first-best's, are "
        "in every hypothesis of their list"
    )
    depth = report.half_depth
    if depth is not None and report.oracle.error > 0:
        more = "still falls: longer lists would hold more"
        yield (
            f"length: the oracle is {_percent(report.oracles[depth].error)} of the first {depth}, "
            f"{_percent(report.oracle.error)} of up to {report.longest}: it "
            f"{more if report.grows else 'hardly falls: longer lists would hold little more'}"
        )


def _gain(found: "Significance") -> Iterator[str]:
    from charlm.nbest.metrics.resampling import remarks_on_units

    p = f"p = {found.p:.2g}" if found.p else f"p < {SMALLEST_P:g}"
    test = "matched pairs" if found.test == "exact" else f"{found.test} sign flips"
    units = f" of {found.n_units} recordings" if found.unit == "recording" else ""
    yield (
        f"difference: {_percent(found.difference)}, 95 % interval {_percent(found.low)} to "
        f"{_percent(found.high)}, {p} ({test}{units})"
    )
    yield from remarks_on_units(f"{found.unit}s", found.n_units)


def _rate_row(name: str, rate: "Rate", *, has_edits: bool) -> list[str]:
    edits = [rate.substitutions, rate.deletions, rate.insertions, rate.n_tokens]
    return [name, _percent(rate.error), *(str(each) for each in edits if has_edits)]


def tell_why(found: "Explanation") -> None:
    """Two hypotheses side by side, and what each word adds to their difference."""
    output.write(f"{found.id}: hypothesis {found.winner_rank} against {found.other_rank}; log10\n")
    header, rows = found.table()
    output.table(rows, header=header, labels=2, groups=[*(2 for _ in found.scorers), 3])
    if found.lacking_a_word:
        output.write(f"* not in the vocabulary of {', '.join(found.lacking_a_word)}")
    output.write(f"\ndecided by {_decided(found)}; the difference is {found.difference:.3f}")


def _decided(found: "Explanation") -> str:
    """The largest part of the difference, and what it brings."""
    if found.difference <= 0:
        return "nothing: the totals are equal, and the larger am or the list's order decides"
    if found.deciding is None:
        return f"the features, which bring {found.features_difference:+z.3f}"
    winner, other = (repr(word) if word else "no word" for word in found.deciding.shown)
    return f"{winner} against {other}, which brings {found.deciding.difference:+z.3f}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
