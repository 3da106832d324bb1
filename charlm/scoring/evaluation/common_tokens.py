"""The tokens that all streams of a mixture have scored: the same words, or a refusal.

Releases of probabilities lack the first token of their text; beside one, the others go without it.
"""

from collections.abc import Sequence
from dataclasses import replace

from charlm.errors import DataError
from charlm.text.corpus.tokens import UNK_WORD
from charlm.text.perplexity.score_streams import WordScores


def on_common_tokens(scores: Sequence[WordScores]) -> list[WordScores]:
    """What each stream gives to the tokens that all have.

    Raises:
        DataError: they differ in a word, or in how many there are.
    """
    least = min(len(each.words) for each in scores)
    lacking = [each for each in scores if each.lacks_first and len(each.words) == least]
    kept = [
        replace(each, words=each.words[1:], log10_probs=each.log10_probs[1:])
        if lacking and len(each.words) == least + 1
        else each
        for each in scores
    ]
    for other in kept[1:]:
        _require_same_words(kept[0], other)
    return kept


def _require_same_words(first: WordScores, other: WordScores) -> None:
    pairs = enumerate(zip(first.words, other.words, strict=False), 1)
    differing = next(((n, pair) for n, pair in pairs if pair[0] != pair[1]), None)
    if differing is not None:
        raise DataError(_difference(first, other, token=differing[0], pair=differing[1]))
    if len(first.words) != len(other.words):
        raise DataError(
            f"{first.source} and {other.source}: {len(first.words)} and {len(other.words)} "
            "tokens; expected the same text; is one of them cut?"
        )


def _difference(first: WordScores, other: WordScores, *, token: int, pair: tuple[str, str]) -> str:
    if UNK_WORD in pair:
        hint = "different vocabularies do not mix; estimate an n-gram model with --vocab RUN"
    else:
        hint = "one text, normalised in one way, is what they must have scored"
    return (
        f"{first.source} and {other.source}: token {token} is {pair[0]!r} in the one and "
        f"{pair[1]!r} in the other; expected the same words; {hint}"
    )
