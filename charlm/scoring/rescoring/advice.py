"""What makes a result worse than it need be, each with what to do about it."""

from typing import TYPE_CHECKING

from charlm.nbest.features import OOV
from charlm.scoring.rescoring.run import FOREIGN

if TYPE_CHECKING:
    from charlm.scoring.rescoring.result import RescoringResult


def advice_on(result: "RescoringResult") -> list[str]:
    """Sentences for the user of a result, the gravest first; none where all is well."""
    return [*_on_vocabulary(result)]


def _on_vocabulary(result: "RescoringResult") -> list[str]:
    """Unknown words that win because all of them have the probability of `<unk>`."""
    weights, n_wins = result.weights, result.counts.n_unknown_wins
    notes = []
    origin = weights and weights.origin
    if origin and result.scorers and origin.spelled != bool(result.spelled):
        was, now = ("spelled", "<unk>") if origin.spelled else ("<unk>", "spelled")
        notes.append(
            f"the weights were tuned with unknown words {was}, and here they are {now}: tune "
            f"again, or give --{'' if origin.spelled else 'no-'}open-vocabulary"
        )
    text = result.text
    ranks = weights and not origin and any(weights.values.get(name) for name in result.scorers)
    if ranks and result.counts.n_choices and text.n_unknown > FOREIGN * text.n_read:
        notes.append(
            f"{text.n_unknown / text.n_read:.0%} of the words are unknown to the model, which is "
            "of another domain: a ranking by it may do harm; expected a model of such text, or "
            "weights that charlm tune finds"
        )
    if n_wins and not result.spelled and not (weights and weights.values.get(OOV)):
        notes.append(
            f"in {n_wins} of {result.counts.n_lists} lists the best hypothesis has unknown words "
            "that the first one lacks: to the model any of them is as likely as <unk>, typing "
            "errors too; spell them (--open-vocabulary; charlm train --resume --speller gives a "
            f"run one), or give them a price (--weight {OOV}=-5; charlm tune finds one), or "
            "make them known (charlm vocab --against LIST says by which rule of spelling)"
        )
    return notes
