"""A text as several runs and Kneser–Ney read it, token by token; its hardest and easiest sentences.

Surprisal is the negative log10 probability of a token. Runs with other words than the first's
predict another text: their perplexities are in the table, but in no picture beside the first's.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from charlm.errors import ConfigError
from charlm.ngram.backoff import Log10s
from charlm.ngram.word_ids import END, UNK
from charlm.scoring.evaluation.comparison.compare_kn_options import CompareKnOptions
from charlm.scoring.evaluation.comparison.kneser_ney import KneserNey, kneser_ney
from charlm.scoring.evaluation.comparison.notes import remarks_on_text, remarks_on_training
from charlm.scoring.evaluation.comparison.runs import Contender, scores_of
from charlm.scoring.evaluation.comparison.scores import Scores
from charlm.scoring.evaluation.evaluate_options import State, states_of
from charlm.text.corpus.normalisation.hashed_text import ReadText
from charlm.text.corpus.sentences import split_path
from charlm.text.corpus.tokens import UNK_WORD, is_literal_unk

ORDER = 5  # of Kneser–Ney
# Words of a sentence that is shown: a language whose words are sentences may have none of 5.
SHORTEST, LONGEST = (5, 2), 40
READ: dict[State, str] = {"carried": "state carried", "sentence": "by sentence"}


@dataclass(frozen=True)
class ScoredLine:
    """A sentence of a text with the log10 probability of each token, `</s>` the last."""

    line: int  # from 1
    words: tuple[str, ...]
    log10_probs: tuple[float, ...]

    @property
    def mean(self) -> float:
        """log10 probability a token."""
        return sum(self.log10_probs) / len(self.log10_probs)


@dataclass(frozen=True)
class TextReading:
    """A text's scores by the runs, in both states, and by Kneser–Ney in the words of the first.

    Each is computed on first use, and once. All raise DataError for a text or run that is not what
    was expected, and for a model whose outputs are not finite.
    """

    options: CompareKnOptions
    members: tuple[Contender, ...]
    _found: dict[tuple[int, State], Scores] = field(default_factory=dict, init=False)

    def scores(self, number: int, state: State) -> Scores:
        """The text's scores by one of the members."""
        if (number, state) not in self._found:
            member, split = self.members[number], self.options.split
            found = scores_of(member, self.options, split=split, state=state)
            self._found[number, state] = found
        return self._found[number, state]

    @cached_property
    def baseline(self) -> KneserNey:
        """The 5-gram model that the runs are compared with."""
        return kneser_ney(self.members[0].inventory, self.options)

    @cached_property
    def baseline_scores(self) -> Scores:
        """The same in both states: an n-gram model starts sentences anew."""
        return self.baseline.scores_of(self.options.data, self.options.split)

    @property
    def sentences(self) -> Iterator[list[str]]:
        """As the first run reads them."""
        normalisation = self.members[0].inventory.normalisation
        return ReadText(self._path, normalisation=normalisation).sentences()

    @property
    def _path(self) -> Path:
        return split_path(self.options.data, self.options.split)

    @property
    def comparable(self) -> list[int]:
        """Which members predict the same words as the first, itself among them."""
        words = [(each.inventory.words, each.inventory.normalisation) for each in self.members]
        return [number for number, own in enumerate(words) if own == words[0]]

    @property
    def systems(self) -> tuple[str, ...]:
        """What may stand in one picture: comparable runs by name, then Kneser–Ney."""
        names = [self.members[number].name for number in self.comparable]
        return (*names, self.baseline.name)

    @property
    def states(self) -> tuple[State, ...]:
        """The state in which the first run was trained, and all are shown; then the other one."""
        return states_of("both", self.members[0].learned_single_sentences)

    @property
    def log10s(self) -> Log10s:
        """The log10 probabilities of the text's tokens under each of `systems`, (K, N)."""
        rows = [self.scores(number, self.states[0]).log10s for number in self.comparable]
        return np.stack([*rows, self.baseline_scores.log10s])

    def extremes(self, n: int) -> tuple[tuple[ScoredLine, ...], tuple[ScoredLine, ...]]:
        """The `n` hardest and the `n` easiest sentences for the first run, read as it was trained.

        Raises:
            ConfigError: the text has none of a length that is shown.
        """
        scores = self.scores(0, self.states[0])
        for shortest in SHORTEST:
            found = extreme_sentences(self.sentences, scores, n=n, shortest=shortest)
            if found[0]:
                return found
        raise ConfigError(
            f"{self._path}: no sentence of {min(SHORTEST)} to {LONGEST} words; expected one to "
            "show; choose another text"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the text, in sentences."""
        others = [m.name for n, m in enumerate(self.members) if n not in self.comparable]
        first = self.members[0]
        training: Iterable[str] = ()
        if "baseline" in self.__dict__:  # else nothing was held against it
            n_tokens = self.baseline.n_train_tokens
            training = remarks_on_training(self.members, self.options, n_tokens=n_tokens)
        return (
            *remarks_on_text(self.scores(0, self.states[0]).counts),
            *training,
            *(
                f"{each.name} was trained otherwise than {first.name}, and is read as {first.name} "
                f"was: {READ[self.states[0]]}"
                for each in self.members
                if each.learned_single_sentences != first.learned_single_sentences
            ),
            *(
                f"{name} has other words than {first.name}: its perplexities do not compare, and "
                "it is left out by frequency and by position"
                for name in others
            ),
        )


def extreme_sentences(
    sentences: Iterable[Sequence[str]], scores: Scores, *, n: int, shortest: int = SHORTEST[0]
) -> tuple[tuple[ScoredLine, ...], tuple[ScoredLine, ...]]:
    """The `n` hardest and the `n` easiest sentences of some words, by log10 probability a token.

    A sentence that occurs more than once is shown once. A word outside the vocabulary is written
    `<unk>:form`: the number is that of `<unk>`, and says nothing of the word.
    """
    ends = (np.flatnonzero(scores.targets == END) + 1).tolist()
    found: dict[tuple[str, ...], ScoredLine] = {}
    for line, (words, first, last) in enumerate(
        zip(sentences, [0, *ends[:-1]], ends, strict=True), 1
    ):
        if shortest <= len(words) <= LONGEST:
            log10s = tuple(scores.log10s[first:last].tolist())
            shown = tuple(
                f"{UNK_WORD}:{word}" if target == UNK and not is_literal_unk(word) else word
                for word, target in zip(words, scores.targets[first : last - 1], strict=True)
            )
            found.setdefault(tuple(words), ScoredLine(line, shown, log10s))
    ranked = sorted(found.values(), key=lambda each: (each.mean, each.line))
    easiest = sorted(ranked[n:], key=lambda each: (-each.mean, each.line))[:n]
    return tuple(ranked[:n]), tuple(easiest)
