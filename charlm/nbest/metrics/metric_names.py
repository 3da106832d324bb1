"""Error rates by the name that --metric takes."""

from typing import Literal

from charlm.nbest.metrics.error_rates import CharacterErrorRate, Metric, WordErrorRate

MetricName = Literal["wer", "cer", "bleu", "counted-bleu"]


def metric_named(name: MetricName, *, lower: bool = False, tokenise: str = "13a") -> Metric:
    """The metric; `tokenise` is for BLEU alone.

    `counted-bleu` is for lists that hold counts of matches; their references are lengths.

    Raises:
        ConfigError: a tokeniser that sacrebleu has not.
    """
    if name == "wer":
        return WordErrorRate(lower=lower)
    if name == "cer":
        return CharacterErrorRate(lower=lower)
    from charlm.nbest.metrics.bleu import Bleu, CountedBleu  # sacrebleu is slow to import

    return Bleu(lower=lower, tokenise=tokenise) if name == "bleu" else CountedBleu()
