"""An open vocabulary: P(w | h) = P(<unk> | h) · s(w) / (1 − Σ s(v)) for a word outside it.

s is the run's speller, a distribution over all spellings. The sum is over the known words, for
which `<unk>` never stands. The second factor is the same in every context and for every model with
these words, including Kneser–Ney.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError, DataError
from charlm.model.speller import LONGEST_DRAWN, Speller
from charlm.run.folder import load_info
from charlm.run.stored_speller import RunSpeller, load_speller
from charlm.run.stored_weights import LoadedRun, load_words
from charlm.text.corpus.tokens import UNK, UNK_WORD, form_of
from charlm.text.vocabulary.vocabulary import Inventory

MOST_REMEMBERED = 1 << 20  # words; a server sees new ones without end
MAX_DRAWS = 1000  # attempts to draw a word outside the vocabulary
LEAST_LEFT = 1e-9  # of the probability, for unknown words; less would be rounding


class OpenVocabulary:
    """Probabilities of words outside a vocabulary, given that the next word is outside it."""

    def __init__(self, trained: RunSpeller, inventory: Inventory) -> None:
        self.inventory = inventory
        self.speller = trained.speller
        self.sha256 = trained.sha256
        self.known_mass = trained.known_mass
        self._log_left = math.log1p(-trained.known_mass)
        self._cache: dict[str, float] = {}

    @classmethod
    def of_run(cls, run: LoadedRun) -> "OpenVocabulary":
        """From the speller of a run, for the words outside the run's vocabulary.

        Raises:
            ConfigError: the run has no speller.
            DataError: a speller that is cut, damaged or hostile.
        """
        return cls(load_speller(run.path, run.info, inventory=run.inventory), run.inventory)

    @classmethod
    def at(cls, path: str | Path) -> "OpenVocabulary":
        """As `of_run`, for the run in a folder, without its weights."""
        folder = Path(path)
        info = load_info(folder)
        inventory = load_words(folder, info)
        return cls(load_speller(folder, info, inventory=inventory), inventory)

    def log_probs(self, spellings: Sequence[str]) -> npt.NDArray[np.float64]:
        """log P(w | <unk>) of each spelling in nats, shape (N,); −inf for the empty word.

        Raises:
            ValueError: a spelling is a word of the vocabulary.
        """
        known = next((each for each in spellings if each in self.inventory.word_ids), None)
        if known is not None:
            raise ValueError(f"{known!r} is a word of the vocabulary: it has its own probability")
        if len(self._cache) > MOST_REMEMBERED:
            self._cache = {}
        cache = self._cache  # another thread may replace the attribute
        new = [each for each in dict.fromkeys(spellings) if each not in cache]
        log_probs = (self.speller.log_probs(new) - self._log_left).tolist()
        cache.update(zip(new, log_probs, strict=True))
        return np.array([cache[each] for each in spellings], np.float64)

    def spelled(
        self,
        tokens: Sequence[str],
        known: Sequence[bool] | npt.NDArray[np.bool_],
        *,
        name: str = "the model",
    ) -> npt.NDArray[np.float64]:
        """log P(w | <unk>) of each token that `name` does not know, 0 for the others, shape (N,).

        A literal `<unk>` has no spelling and gets 0, as does `<unk>:<unk>`.

        Raises:
            ConfigError: an unknown token is a word of the vocabulary, plain or as `<unk>:form`.
        """
        added = np.zeros(len(tokens))
        unknown = np.flatnonzero(~np.asarray(known, np.bool_)).tolist()
        places = [place for place in unknown if form_of(tokens[place]) != UNK_WORD]
        for token in (tokens[place] for place in places):
            form = form_of(token)
            if form in self.inventory.word_ids and form != token:
                raise ConfigError(
                    f"{name}: found {token!r:.60}, and the run's vocabulary has {form!r:.60}; "
                    "expected <unk>:form of words outside it; write the word alone"
                )
            if form in self.inventory.word_ids:
                raise ConfigError(
                    f"{name}: does not know {token!r:.60}, a word of the run's vocabulary; "
                    "--open-vocabulary expects the same words of all models; estimate it with "
                    "--vocab RUN"
                )
        if places:
            added[places] = self.log_probs([form_of(tokens[place]) for place in places])
        return added

    def spell(self, generator: np.random.Generator) -> str:
        """A word of limited length drawn from P(w | <unk>), spelled in the inventory's characters.

        Raises:
            DataError: the speller draws only known or too long words.
        """
        for _ in range(MAX_DRAWS):
            word = self.speller.draw(generator)
            if word not in self.inventory.word_ids and len(word) <= LONGEST_DRAWN:
                return word
        raise DataError(
            "the speller spells hardly any word outside the vocabulary; expected one in "
            f"{MAX_DRAWS}; train it on more words"
        )


def known_mass(speller: Speller, inventory: Inventory) -> float:
    """Σ s(v) over the words of a vocabulary, without `</s>` and `<unk>`.

    Raises:
        DataError: the sum is 1 within rounding, which leaves nothing for other words.
    """
    mass = math.fsum(speller.log_probs(inventory.words[UNK + 1 :]).exp().tolist())
    if not mass < 1 - LEAST_LEFT:
        raise DataError(
            f"the speller gives the known words a probability of {mass:.9f}, and so nothing to "
            "others; expected less than 1; train it on more words"
        )
    return mass
