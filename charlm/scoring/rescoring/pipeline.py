"""Lists to tables of features: hypotheses read by the text's rules, and scored by every scorer.

Many lists are scored in one go, since they share prefixes and fill batches. Lattices come scored:
of them the words are counted here, and nothing else.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from charlm.errors import ConfigError
from charlm.nbest.features import FeatureTable, feature_table
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.lattices.lattice_options import GRAPH, REST
from charlm.nbest.lattices.lattice_options import OLD as OLD_LM
from charlm.nbest.scorer import Scorer, WordLogProbs
from charlm.scoring.rescoring.hypothesis_text import HypothesisText, Known
from charlm.scoring.rescoring.memory import Memory


@dataclass(frozen=True)
class ScoredList:
    """A list with all features of its hypotheses."""

    nbest: NbestList
    table: FeatureTable
    texts: tuple[tuple[str, ...], ...]  # what the scorers read of each hypothesis
    scores: tuple[tuple[WordLogProbs, ...], ...]  # of each scorer, of each hypothesis


class Rescorer:
    """Adds the features of scorers to lists; the first scorer says which words are known.

    `old_lm` is the model that a list was made with: Kaldi's graph score has it in it, and has it
    taken out here, so that it becomes a feature of its own. Lists that need no scorers come with
    `is_known`.
    """

    def __init__(
        self,
        scorers: Sequence[Scorer],
        *,
        text: HypothesisText,
        old_lm: Scorer | None = None,
        is_known: Known | None = None,
        memory: Memory | None = None,
    ) -> None:
        """`memory`: of what lists follow; none: each is on its own."""
        self.scorers = scorers
        self.text = text
        self.old_lm = old_lm
        self._is_known = is_known
        self.memory = memory

    def score(self, lists: Sequence[NbestList]) -> list[ScoredList]:
        """The lists with their features.

        Raises:
            ConfigError: `old_lm` for a list without a graph score; a feature that is there already.
            DataError: a list whose hypotheses do not have the same features.
        """
        texts = [tuple(self.text.read(h.words)) for nbest in lists for h in nbest.hypotheses]
        states = self._states()
        by_scorer = [
            scorer.score(texts, memory=state)
            for scorer, state in zip(self.scorers, states, strict=True)
        ]
        n_oov = [
            self.text.count_unknown(text, known)
            for text, known in zip(texts, self._known(texts, by_scorer), strict=True)
        ]
        results, first = [], 0
        for nbest in lists:
            part = slice(first, first + len(nbest.hypotheses))
            first = part.stop
            scores = tuple(tuple(each[part]) for each in by_scorer)
            table = self._table(nbest, scores, n_oov=n_oov[part])
            results.append(ScoredList(nbest, table, tuple(texts[part]), scores))
        return results

    def _states(self) -> Sequence[object]:
        """What each scorer remembers; the memory of lattices, which come scored, is of others."""
        if self.memory is None or not self.scorers:
            return [None] * len(self.scorers)
        return self.memory.states

    def _known(
        self, texts: Sequence[tuple[str, ...]], by_scorer: Sequence[Sequence[WordLogProbs]]
    ) -> list[list[bool]]:
        if by_scorer:
            return [score.known.tolist() for score in by_scorer[0]]
        is_known = self._is_known
        return [[is_known is None or is_known(word) for word in text] for text in texts]

    def _table(
        self,
        nbest: NbestList,
        scores: Sequence[Sequence[WordLogProbs]],
        *,
        n_oov: Sequence[int],
    ) -> FeatureTable:
        added = {
            scorer.name: [each.log_prob for each in own]
            for scorer, own in zip(self.scorers, scores, strict=True)
        }
        if self.old_lm is not None and self.scorers:
            old = self.old_lm.score([hypothesis.words for hypothesis in nbest.hypotheses])
            added[OLD_LM] = [each.log_prob for each in old]
            nbest = _without_old(nbest, added[OLD_LM])
        return feature_table(nbest, added=added, n_oov=n_oov)


def _without_old(nbest: NbestList, old: Sequence[float]) -> NbestList:
    hypotheses = []
    for hypothesis, log_prob in zip(nbest.hypotheses, old, strict=True):
        if GRAPH not in hypothesis.features:
            raise ConfigError(
                f"{hypothesis.place}: no feature {GRAPH!r} to take --old-lm out of; expected "
                "Kaldi's graph score; drop --old-lm, or name the column so"
            )
        features = {k: v for k, v in hypothesis.features.items() if k != GRAPH}
        features[REST] = hypothesis.features[GRAPH] - log_prob
        hypotheses.append(replace(hypothesis, features=features))
    return replace(nbest, hypotheses=tuple(hypotheses))


def in_batches(lists: Iterable[NbestList], *, at_once: int) -> Iterator[list[NbestList]]:
    """Lists of at least so many hypotheses together; 0: each alone."""
    batch: list[NbestList] = []
    n_hypotheses = 0
    for nbest in lists:
        batch.append(nbest)
        n_hypotheses += len(nbest.hypotheses)
        if n_hypotheses >= at_once:
            yield batch
            batch, n_hypotheses = [], 0
    if batch:
        yield batch
