"""Why a hypothesis of a list won: the list is waited for, and two of its hypotheses explained."""

import re

from charlm.errors import ConfigError, DataError
from charlm.nbest.hypotheses import Rescored
from charlm.nbest.weights import Weights
from charlm.scoring.rescoring.explain import Explanation, explain
from charlm.scoring.rescoring.pipeline import ScoredList

RANK = re.compile(r" *[0-9]{1,9} *")


class Why:
    """A question about two hypotheses of one list: `UTT`, or `UTT:A,B` with ranks from 1.

    Without ranks it is the best one against the first of the list, or against the next best; of
    other words, if there are any: a list may hold a text several times.
    """

    def __init__(self, question: str, *, names: tuple[str, ...]) -> None:
        """`names` are those of the scorers.

        Raises:
            ConfigError: ranks that are no numbers.
        """
        self.id, self.ranks = question, None
        head, colon, tail = question.rpartition(":")
        fields = tail.split(",")
        if colon and len(fields) == 2 and all(map(RANK.fullmatch, fields)):
            self.id, self.ranks = head, (int(fields[0]), int(fields[1]))
        if not self.id:
            raise ConfigError(f"--explain {question!r}: expected UTT or UTT:A,B, as utt1:1,2")
        self.names = names
        self._found: Explanation | None = None

    def look(self, scored: ScoredList, result: Rescored, *, weights: Weights) -> None:
        """Explain, if this is the list."""
        if scored.nbest.id != self.id:
            return
        if not scored.scores:
            raise ConfigError(
                "--explain: found a lattice; expected a list; write one with --write nbest"
            )
        ranks = self.ranks or _ranks(result)
        scores = {
            name: (own[ranks[0] - 1], own[ranks[1] - 1])
            for name, own in zip(self.names, scored.scores, strict=True)
            if 1 <= min(ranks) <= max(ranks) <= len(own)
        }
        self._found = explain(
            scored.nbest,
            ranks,
            scores=scores,
            table=scored.table,
            weights=weights,
            texts=_pair(scored, ranks),
        )

    def found(self) -> Explanation:
        """The answer.

        Raises:
            DataError: the list did not come.
        """
        if self._found is None:
            raise DataError(f"--explain: found no list {self.id!r:.80}; expected the id of one")
        return self._found


def _pair(
    scored: ScoredList, ranks: tuple[int, int]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """What was read of both; None where there are no such ranks."""
    if not 1 <= min(ranks) <= max(ranks) <= len(scored.texts):
        return None
    return scored.texts[ranks[0] - 1], scored.texts[ranks[1] - 1]


def _ranks(result: Rescored) -> tuple[int, int]:
    ranking = result.ranking
    if len(ranking) < 2:
        raise ConfigError(
            f"--explain: list {result.nbest.id!r:.80} has one hypothesis; expected two to compare"
        )
    best, *others = ranking
    hypotheses = result.nbest.hypotheses
    rivals = [each for each in others if hypotheses[each].words != hypotheses[best].words] or others
    return best + 1, (0 if 0 in rivals else rivals[0]) + 1
