"""Error rates by the name that --metric takes."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from charlm.nbest.metrics.error_rates import Metric

MetricName = Literal["wer", "cer", "bleu", "counted-bleu"]


def metric_named(name: MetricName, *, lower: bool = False, tokenise: str = "13a") -> "Metric":
    """The metric; `tokenise` is for BLEU alone.

    `counted-bleu` is for lists that hold counts of matches; their references are lengths.

    Raises:
        ConfigError: a tokeniser that sacrebleu has not.
    """
    # Options name the metrics, and are read without NumPy, jiwer and sacrebleu.
    from charlm.nbest.metrics.error_rates import CharacterErrorRate, WordErrorRate

    if name == "wer":
        return WordErrorRate(lower=lower)
    if name == "cer":
        return CharacterErrorRate(lower=lower)
    from charlm.nbest.metrics.bleu import Bleu, CountedBleu

    return Bleu(lower=lower, tokenise=tokenise) if name == "bleu" else CountedBleu()
