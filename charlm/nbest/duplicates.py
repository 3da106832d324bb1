"""Hypotheses of one list with the same words: several derivations or alignments of one answer.

Each keeps its line and its features. What they share is a total, by which they are ranked together:
the largest of theirs, or the sum, as probabilities add up over derivations. A sum means that only
where totals are log-probabilities: under weights of the size that they have in decoding.
"""

from dataclasses import replace

import numpy as np

from charlm.nbest.hypotheses import Dedup, Rescored


def merged(item: Rescored, dedup: Dedup) -> Rescored:
    """The list, those of the same words one behind the other, the best of them first.

    All have their common total: log Σ exp(total), or the largest. Ties go as they went before.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for index in item.ranking:
        groups.setdefault(item.nbest.hypotheses[index].words, []).append(index)
    totals = list(item.totals)
    for members in groups.values():
        own = [item.totals[index] for index in members]
        common = float(np.logaddexp.reduce(own)) if dedup == "sum" else max(own)
        for index in members:
            totals[index] = common
    ranked = sorted(groups.values(), key=lambda members: -totals[members[0]])
    return replace(
        item,
        totals=tuple(totals),
        order=tuple(index for members in ranked for index in members),
        merged=frozenset(index for members in ranked for index in members[1:]),
    )
