"""N-gram models, mixtures, and a user's own function as scorers."""

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError, DataError
from charlm.interface.arguments import checked_call
from charlm.nbest.scorer import Scorer, WordLogProbs, Words
from charlm.ngram.files.arpa_writing import LOG10_ZERO
from charlm.ngram.files.load import NgramModel
from charlm.ngram.word_ids import UNK
from charlm.text.corpus.tokens import UNK_WORD

ROUNDING = 1e-3  # by which a log-probability may be above 0

LogProbs = npt.NDArray[np.float64]


class NgramScorer:
    """An n-gram model: our own Kneser–Ney, an ARPA file, or a KenLM binary.

    Every sentence starts from `<s>`: an n-gram model remembers nothing of the sentence before. A
    word of probability 0, such as an unknown word in a model without `<unk>`, gets log10 −99, which
    is how ARPA files write zero.
    """

    def __init__(self, model: NgramModel, *, name: str = "kn") -> None:
        self.model = model
        self.name = name

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The scores of each sentence, from `<s>`."""
        scores = self.model.score([list(words) for words in sentences])
        log10s = scores.log10_probs
        log_probs = np.where(np.isneginf(log10s), LOG10_ZERO, log10s) * math.log(10)
        known = scores.word_ids != UNK
        ends = accumulate((len(words) + 1 for words in sentences), initial=0)
        return [WordLogProbs(log_probs[i:end], known[i : end - 1]) for i, end in pairwise(ends)]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return None


class MixedScorer:
    """Several scorers as one, word by word: Σ_k weight_k · P_k(word | words before).

    The weights sum to 1. A mixture of probabilities is a probability again, so its weights may be
    found by EM on any text. A weighted sum of log-probabilities is not a probability: for that,
    use feature weights.
    """

    def __init__(self, scorers: Sequence[Scorer], weights: Sequence[float], *, name: str) -> None:
        used = [pair for pair in zip(scorers, weights, strict=True) if pair[1] > 0]
        self.scorers = [scorer for scorer, _ in used]
        self.log_weights = np.log([weight for _, weight in used])
        self.name = name

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The mixture's scores; a word is known where the first scorer knows it."""
        memories = self._memories(memory)
        scores = [
            scorer.score(sentences, memory=each)
            for scorer, each in zip(self.scorers, memories, strict=True)
        ]
        results = []
        for of_one in zip(*scores, strict=True):
            log_probs_KN = np.stack([each.log_probs for each in of_one])
            mixed_N: LogProbs = np.logaddexp.reduce(log_probs_KN + self.log_weights[:, None])
            results.append(WordLogProbs(mixed_N, of_one[0].known))
        return results

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        memories = self._memories(memory)
        return tuple(
            scorer.remember(sentence, memory=each)
            for scorer, each in zip(self.scorers, memories, strict=True)
        )

    def _memories(self, memory: object) -> tuple[object, ...]:
        return memory if isinstance(memory, tuple) else (None,) * len(self.scorers)


class SameWords:
    """A guard for mixtures: an n-gram model must call unknown what the first model calls unknown.

    A model that says `<unk>` where another predicts a word has an easier task, not a better
    probability, yet its share of the mixture would grow word by word. Its vocabulary is therefore
    compared with the other's on every word that it scores.
    """

    def __init__(self, scorer: Scorer, is_known: Callable[[str], bool], *, other: str) -> None:
        """`other` names the model whose vocabulary `is_known` tests."""
        self.scorer = scorer
        self.is_known = is_known
        self.name = scorer.name
        self._other = other

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The scores that the scorer gives.

        Raises:
            ConfigError: a word that one of the two models knows and the other does not.
        """
        scores = self.scorer.score(sentences, memory=memory)
        for words, score in zip(sentences, scores, strict=True):
            for word, known in zip(words, score.known.tolist(), strict=True):
                if known != (word != UNK_WORD and self.is_known(word)):
                    knows, lacks = (self.name, self._other) if known else (self._other, self.name)
                    raise ConfigError(
                        f"mixture: {knows} knows {word!r:.60} and {lacks} does not; expected the "
                        "same words of both; estimate an n-gram model with --vocab RUN, make one "
                        "of two ARPA files (charlm mix A B --arpa FILE), or weigh them as "
                        "features, unmixed"
                    )
        return scores

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return self.scorer.remember(sentence, memory=memory)


class FunctionScorer:
    """A user's own function from sentences to lists of their words' log-probabilities, in nats.

    Each list, array or tensor must have one number more than its sentence has words, and none NaN
    or above 0, as a loss is (rounding aside); else a DataError names it.

    >>> own = charlm.FunctionScorer(lambda sentences: [[-2.0] * (len(s) + 1) for s in sentences])
    >>> found = charlm.score("lists.tsv", scorer=own, out="scored.tsv")
    >>> found.counts.n_lists
    2
    """

    @checked_call
    def __init__(
        self, function: "Callable[[Sequence[Words]], Sequence[npt.ArrayLike]]", *, name: str = "own"
    ) -> None:
        self.function = function
        self.name = name

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        """The function's scores; it is not given the memory.

        Raises:
            DataError: a sentence for which the function does not give the expected numbers.
        """
        with _no_gradients():
            answers = self.function(sentences)
        if not isinstance(answers, Sequence | np.ndarray) or isinstance(answers, str):
            raise DataError(
                f"scorer {self.name!r}: its function gives {type(answers).__name__}; expected a "
                "list of lists, the log-probabilities of each sentence's words and of its end"
            )
        if len(answers) != len(sentences):
            raise DataError(
                f"scorer {self.name!r}: {len(answers)} answers to {len(sentences)} sentences; "
                "expected one each"
            )
        results = []
        for words, answer in zip(sentences, answers, strict=True):
            log_probs = _numbers(answer)
            if log_probs.shape != (len(words) + 1,) or not (log_probs <= ROUNDING).all():
                raise DataError(
                    f"scorer {self.name!r}: {answer!r:.60} for a sentence of "
                    f"{len(words)} words; expected {len(words) + 1} numbers, the last of its end, "
                    "and none NaN or above 0; ln P is the negated loss"
                )
            results.append(WordLogProbs(log_probs, np.ones(len(words), np.bool_)))
        return results

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """None: every sentence stands on its own."""
        return None


def _no_gradients() -> AbstractContextManager[object]:
    """Torch's `no_grad` where torch is loaded: charlm has undone the caller's own."""
    no_grad = getattr(sys.modules.get("torch"), "no_grad", nullcontext)
    found: AbstractContextManager[object] = no_grad()
    return found


def _numbers(answer: object) -> LogProbs:
    """A function's results as numbers; NaN for anything that is not one."""
    try:
        return np.asarray(answer, np.float64).copy()
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor with a gradient
        return np.array([np.nan])
