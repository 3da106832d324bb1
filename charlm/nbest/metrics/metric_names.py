"""Error rates by the name that --metric takes."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from charlm.nbest.metrics.error_rates import Metric

MetricName = Literal["wer", "cer", "bleu", "chrf", "counted-bleu"]


def metric_named(name: MetricName) -> "Metric":
    """The metric of this name.

    `counted-bleu` is for lists that hold counts of matches, and whose references are lengths.
    """
    # Imported here, since option classes use this module without NumPy, rapidfuzz and sacrebleu.
    from charlm.nbest.metrics.error_rates import CharacterErrorRate, WordErrorRate

    if name in ("wer", "cer"):
        return WordErrorRate() if name == "wer" else CharacterErrorRate()
    if name == "chrf":
        from charlm.nbest.metrics.chrf import ChrF

        return ChrF()
    from charlm.nbest.metrics.bleu import Bleu, CountedBleu

    return Bleu() if name == "bleu" else CountedBleu()
