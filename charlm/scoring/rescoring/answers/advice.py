"""Advice to the user: what makes a result worse than it could be, and what to do about it."""

from collections.abc import Iterator, Sequence

from charlm.errors import first_few
from charlm.nbest.metrics.metric_names import name_in
from charlm.nbest.ranking.features import OOV, WORDS
from charlm.nbest.ranking.weights import Origin
from charlm.nbest.reading.repairs import Notices
from charlm.nbest.tuning.tuning import TunedWeight
from charlm.scoring.rescoring.answers.result import (
    RescoringResult,
    ScoreResult,
    TuneResult,
    history_name,
)
from charlm.scoring.rescoring.hypothesis_text import TextCounts
from charlm.scoring.rescoring.run import FOREIGN, unweighed
from charlm.scoring.rescoring.scorers.build_scorers import NEURAL

FEW = 10  # unknown words, which any text may have
SOME = 3  # words that end with punctuation; one or two may be abbreviations
UNCUT = 1 / 10  # of the words of references, which may cite Chinese
OF_SPEECH = ("wer", "cer")  # metrics of what was said
# What to measure instead, where a metric goes by words and blanks do not separate them.
OF_CHARACTERS = "bleu-zh (Chinese), bleu-char or chrf"
OF_WORDS = ("bleu", "bleu-intl", "bleu-none", "ter")
BY_CHARACTERS = {"wer": "cer"} | dict.fromkeys(OF_WORDS, OF_CHARACTERS)
ASTRAY = 1 / 3  # of the references; of a wrong order about half are
# What a format's `confidence` is; AWS' are logs.
FROM_0_TO_1 = "a number from 0 to 1"
OWN_SCALE = {"azure": FROM_0_TO_1, "google": FROM_0_TO_1, "vosk": "of no known scale"}
OTHER_CASE = 1 / 2  # of the words; a recogniser makes fewer errors of case


def advice_on(result: RescoringResult) -> list[str]:
    """Sentences for the user about a result, the most serious first; empty if all is well."""
    tuned = result.tuned.details if isinstance(result, TuneResult) else ()
    return [
        *_on_references(result.notices),
        *_on_words(result.notices, metric=_metric_of(result)),
        *_on_weights(result),
        *_on_metric(result),
        *_on_scale(result),
        *_on_order(result),
        *_on_recordings(result),
        *_on_vocabulary(result),
        *on_tuned(result, tuned),
    ]


def _on_references(notices: Notices) -> Iterator[str]:
    """On references that seem not to be those of their lists."""
    if notices.share_astray >= ASTRAY:
        yield (
            f"{notices.share_astray:.0%} of the references are nearer to the first hypothesis of "
            "the list before than to that of their own: they seem to be in another order than the "
            "lists, or of others, and then the rates tell nothing"
        )


def _metric_of(result: RescoringResult) -> str:
    """The name of what was measured, or else of what the weights were tuned for; "" if neither."""
    report = result.report if isinstance(result, ScoreResult) else None
    asked = report or (result.weights and result.weights.origin)
    return name_in(asked.metric) if asked else ""


def _on_words(notices: Notices, *, metric: str) -> Iterator[str]:
    """On words of lists and references that count as errors for how they are written."""
    if notices.share_in_case >= OTHER_CASE and metric != "ter":  # for which all is lower-cased
        yield (
            f"{notices.share_in_case:.0%} of the words that the lists share with their references "
            "differ from them in case, and count as errors: the rates tell nothing; write both in "
            "one case (--lower is of what models read)"
        )
    if notices.n_in_pieces:
        yield (
            f"{notices.n_in_pieces} words of the first hypotheses or of their references are "
            "marked as pieces of words (@@, \uffed, \u2581), and the others have none: the rates "
            "tell nothing; --join MARK makes words of them, as --join @@"
        )
    if notices.n_in_other_characters:
        yield (
            f"{notices.n_in_other_characters} words of the first hypotheses differ from their "
            "references' in Unicode form (NFC, NFD), apostrophe (\u2019, '), letters of another "
            "keyboard (\u0219, \u015f) or what nobody sees (soft hyphens) alone, and count as "
            "errors: write both alike"
        )
    noise = notices.noise_without_reference
    if noise and metric in OF_SPEECH:  # translations may cite [1]
        named = first_few([f"{label:.60}" for label in noise])
        yield (
            f"no reference has {named}: if they are labels of noise, the rates count each "
            "as a wrong word, and SRILM's do not; take them out of the lists"
        )
    if notices.n_optional:  # sclite, and not charlm, lets hypotheses leave them out
        yield (
            f"{notices.n_optional} words of the references stand in parentheses, as (uh): to "
            "sclite each is right without them, and so is none in its place, and here both are "
            "errors; take these words, or their parentheses, out of the references"
        )


def _on_weights(result: RescoringResult) -> Iterator[str]:
    """On the lists' own scores without a weight, where a model's scores have one."""
    values = {} if result.weights is None else result.weights.values
    ranking = [name for name, value in values.items() if value]
    idle = unweighed(result.counts.features, values, models=list(result.scorers))
    others = set(ranking).difference(result.scorers, (WORDS, OOV))
    if idle and not others and any(map(values.get, result.scorers)):
        yield (
            f"THE RECOGNISER'S SCORES COUNT NOTHING: ranked by {', '.join(ranking)} alone, without "
            f"{', '.join(idle)} of the lists; charlm tune finds weights, --weight sets one"
        )


def _on_metric(result: RescoringResult) -> list[str]:
    """On rates of words that are not cut, or other ones than the weights were tuned to lower."""
    metric, origin = _metric_of(result), result.weights and result.weights.origin
    if metric == "wer" and origin and name_in(origin.metric) != "wer":
        kind, name = origin.metric.partition("|")[0].upper(), name_in(origin.metric)
        return [f"the rates are WER, but the weights were tuned for {kind}: --metric {name}"]
    uncut = result.notices.share_uncut
    if uncut >= UNCUT and metric in BY_CHARACTERS:
        return [
            f"{uncut:.0%} of the references' words are whole phrases, written without blanks, and "
            f"one wrong letter makes them wrong: --metric {BY_CHARACTERS[metric]}, "
            "or cut references and lists"
        ]
    n_punctuated = result.notices.n_punctuated
    if n_punctuated >= SOME and metric == "wer":
        return [
            f"{n_punctuated} words of the first hypotheses or of their references end with "
            "punctuation, and hardly any of the others does, so they count as errors: cut it off, "
            "or leave it out, in both"
        ]
    return []


def _on_scale(result: RescoringResult) -> list[str]:
    """A decoder's score of another scale than a model's, which is a sum of logs, ranked with it."""
    weights = result.weights
    values = {} if weights is None or weights.origin else weights.values
    if not any(map(values.get, result.scorers)):
        return []
    if result.notices.may_be_means and values.get("score"):
        return [
            f"score of {result.format}'s lists may be divided by the number of tokens, as the "
            "decoder does unless told otherwise, and a model's scores are sums: give the length "
            "penalty that it had (--length-penalty 1), or weights that charlm tune finds"
        ]
    own = [values.get(name) for name in ("confidence", *result.scorers)]
    if result.format in OWN_SCALE and own[0] and set(filter(None, own)) == {1}:  # by default
        return [
            f"confidence of {result.format}'s lists is {OWN_SCALE[result.format]}, and a model's "
            "scores are sums of logs: which of them decides is chance; charlm tune finds weights, "
            "--weight sets one"
        ]
    return []


def _on_order(result: RescoringResult) -> Iterator[str]:
    """On lines that would be compared with those of another order, as fairseq's batches have."""
    if result.notices.n_out_of_order:
        yield (
            "the lists are not in the order of their numbers, so that line 1 of --write text may "
            "not belong to line 1 of a reference: --write kaldi or tsv keeps the ids"
        )


def on_tuned(result: RescoringResult, details: Sequence[TunedWeight]) -> Iterator[str]:
    """On tuned weights that look wrong."""
    idle = []
    scale = next((each for each in details if each.is_fixed and each.weight), None)
    for each in details:
        name = each.feature
        # Where the interval ends at 0, hypotheses may tie there, and any of them may win.
        may_be_0 = each.weight == 0 or each.flat_low < 0 < each.flat_high
        if name in result.scorers and each.weight < 0:
            yield (
                f"{name} has a negative weight, {each.weight:g}: a language model that is to "
                "prefer what it finds unlikely fits these lists by chance, or is of another "
                f"domain; give --range {name}=0:, or leave it out (--tuned)"
            )
        elif not each.is_fixed and each.has_effect and may_be_0:
            idle.append(name)
        elif each.at_border:
            others = [other.feature for other in details if other is not each]
            yield _on_border(each, scale=scale, order=(name, *others))
    if len(idle) == 1:
        yield (
            f"{idle[0]} hardly matters: without it the rate rises by 0.1 % at most; leave it out "
            "(--tuned), or tune on more lists"
        )
    elif idle:  # of two that say the same, each alone may go
        yield (
            f"{', '.join(idle)} hardly matter, each alone: without any one of them the rate rises "
            "by 0.1 % at most, without all perhaps by more; leave out one at a time (--tuned), or "
            "tune on more lists"
        )


def _on_border(weight: TunedWeight, *, scale: TunedWeight | None, order: Sequence[str]) -> str:
    name = weight.feature
    note = (
        f"{name} is no worse at the end of its range (flat from {weight.flat_low:.4g} to "
        f"{weight.flat_high:.4g}): a wider --range {name}=LOW:HIGH may find a better one; "
        "leave it out (--tuned) if the end is 0"
    )
    if scale is None or weight.flat_low <= 0:
        return note
    # As all of `weight` means none of `scale`, whose sign was not looked for.
    return (
        f"{note}; if {scale.feature} is a cost, its weight, {scale.weight:g}, has the wrong sign: "
        f"name another feature first (--tuned {','.join(order)})"
    )


def _on_recordings(result: RescoringResult) -> Iterator[str]:
    """On context from earlier lists that is missing or does harm."""
    n_lists, n_recordings = result.counts.n_lists, result.counts.n_recordings
    origin = result.weights and result.weights.origin
    history = history_name(result.counts, result.adaptation)
    if origin and n_lists and result.scorers and origin.history not in (None, history):
        yield (
            "the weights were tuned on scores of another kind: what models know of the lists "
            f"before is {history or 'nothing'} here, and was {origin.history or 'nothing'}; give "
            "the same --context, --adapt and --adapt-rates, or tune again"
        )
    if not n_recordings:
        return
    option = "--adapt" if result.adaptation else "--context previous"
    if n_recordings == n_lists:
        yield (
            f"no list has another of its recording before it, and {option} does nothing; "
            "expected ids as 1089-134686-0007 in their order; --recordings REGEX says what else "
            "names a recording"
        )
    elif n_recordings == 1:
        yield (
            f"all {n_lists} lists are taken for one recording; if their ids only number them, "
            f"leave {option} out, or say what names a recording (--recordings REGEX)"
        )
    if result.by_sentence and n_recordings < n_lists:
        yield (
            f"{', '.join(result.by_sentence)} learned sentences that begin anew, which what was "
            "said before does harm; leave --context previous out, or train with "
            "recipe.batching.type=streams"
        )


def _is_foreign(text: TextCounts, *, origin: Origin | None) -> bool:
    """Whether many words are unknown, and more than when the weights were tuned."""
    expected = 0.0 if origin is None else origin.unknown
    if expected is None or text.n_unknown < FEW:
        return False
    return text.share_unknown > max(FOREIGN, 2 * expected)


def _on_vocabulary(result: RescoringResult) -> Iterator[str]:
    """On unknown words that win because all of them have the probability of `<unk>`."""
    weights, n_wins = result.weights, result.counts.n_unknown_wins
    if isinstance(result, TuneResult):
        n_wins = 0  # the counts are those of the search's initial weights
    origin = weights.origin if weights else None
    # Weights of charlm 0.1 do not say whether unknown words were spelled (spelled is None).
    if origin and result.scorers and origin.spelled is (not result.spelled):
        was, now = ("spelled", "<unk>") if origin.spelled else ("<unk>", "spelled")
        yield (
            f"the weights were tuned with unknown words {was}, and here they are {now}: tune "
            f"again, or give {'a run with a speller, and --' if origin.spelled else '--no-'}"
            "open-vocabulary"
        )
    text = result.text
    ranks = weights and any(weights.values.get(name) for name in result.scorers)
    if ranks and result.counts.n_choices and _is_foreign(text, origin=origin):
        before = f" ({origin.unknown:.0%} in the tuning)" if origin else ""
        yield (
            f"{text.share_unknown:.0%} of the words are unknown to the model{before}, which is of "
            "another domain: a ranking by it may do harm; expected a model of such text, or "
            f"weights that charlm tune finds{' with this model' if origin else ''}"
        )
    if n_wins and not result.spelled and not (weights and weights.values.get(OOV)):
        by_speller = "spell them (--open-vocabulary; charlm train --resume --speller gives a run "
        by_speller = f"{by_speller}one), or " if NEURAL in result.scorers else ""
        yield (
            f"in {n_wins} of {result.counts.n_lists} lists the best hypothesis has unknown words "
            "that the first one lacks: to the model any of them is as likely as <unk>, typing "
            f"errors too; {by_speller}give them a price (--weight {OOV}=-5; charlm tune finds "
            "one), or make them known (charlm vocab --against LIST says by which rule of spelling)"
        )
