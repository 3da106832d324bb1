"""Metrics by the name that --metric takes."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from charlm.nbest.metrics.error_rates import Metric

TextMetricName = Literal[
    "wer",
    "cer",
    "bleu",
    "bleu-zh",
    "bleu-char",
    "bleu-intl",
    "bleu-none",
    "chrf",
    "chrf++",
    "ter",
]
MetricName = Literal[TextMetricName, "counted-bleu"]  # the last one compares no texts
HIGHER_IS_BETTER = ("bleu", "chrf")  # how their names begin; what is minimised is 1 - each
OF_SEVERAL = ("bleu", "chrf", "ter")  # take more than one reference of a sentence
USUAL = ("13a", "tercom")  # sacrebleu's tokenisers of BLEU and TER if none is named


def metric_named(name: MetricName) -> "Metric":
    """The metric of this name.

    `counted-bleu` is for lists that hold counts of matches, and whose references are lengths.
    """
    # Imported here, since option classes use this module without NumPy, rapidfuzz and sacrebleu.
    from charlm.nbest.metrics.error_rates import CharacterErrorRate, WordErrorRate

    if name in ("wer", "cer"):
        return WordErrorRate() if name == "wer" else CharacterErrorRate()
    if name.startswith("chrf"):
        from charlm.nbest.metrics.chrf import ChrF

        return ChrF(of_words=name.count("+"))
    if name == "ter":
        from charlm.nbest.metrics.ter import TranslationEditRate

        return TranslationEditRate()
    from charlm.nbest.metrics.bleu import Bleu, CountedBleu

    if name == "counted-bleu":
        return CountedBleu()
    assert name.startswith("bleu"), f"{name}: has no class here"
    return Bleu(name.partition("-")[2])


def lower_is_better(signature: str) -> str:
    """What the rate of the metric with a signature is: the metric, or 1 - it."""
    return f"1 - {signature}" if signature.startswith(HIGHER_IS_BETTER) else signature


def name_in(signature: str) -> str:
    """The name of the metric with a signature, as weights files keep it."""
    kind, *parts = signature.split("|")
    if "counted" in parts:
        return f"counted-{kind}"
    tokenisers = [part[4:] for part in parts if part.startswith("tok:")]
    return "-".join([kind, *(each for each in tokenisers if each not in USUAL)])
