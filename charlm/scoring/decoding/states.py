"""A language model for decoders: states that take words one by one, for many rows at once.

`step` gives the log-probability of each row's next word, and the state after it. A state never
changes: its rows may be selected again and again, each to go on with another word. All values are
in nats, and each row's values do not depend on the other rows (those of a run beyond fp32's
rounding). Threads may share a model and its states.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from charlm.errors import ConfigError
from charlm.interface.arguments import checked_call
from charlm.scoring.decoding.prefixes import PrefixSums
from charlm.text.corpus.tokens import END, END_WORD, START_WORD, UNK

if TYPE_CHECKING:
    from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]

MOST_ROWS = 1 << 24  # of a new state


class Steps(Protocol):
    """The contract of a model that advances N rows by one word.

    Words are numbered as `words` lists them, with `</s>` 0 and `<unk>` 1; every token that is not
    in `words` is `<unk>`. What a position holds is known to the model alone.
    """

    words: tuple[str, ...]  # all words that the model predicts

    def start(self, n: int) -> Any:
        """`n` rows at the start of a sentence."""

    def gather(self, position: Any, rows: Rows) -> Any:
        """These rows, in this order; a row may occur several times."""

    def log_probs(self, position: Any, *, rows: Rows, words: Rows) -> Floats:
        """log P(words[k]) after row rows[k], (K,)."""

    def read(self, position: Any, *, rows: Rows, tokens: Sequence[str], words: Rows) -> Any:
        """K rows: row k is row rows[k] after tokens[k], which has the id words[k]."""

    def distribution(self, position: Any) -> Floats:
        """log P of all words after every row, (N, V)."""


class Step(NamedTuple):
    """The result of a step, row by row."""

    log_probs: Floats  # of the words, in nats, (N,)
    known: Flags  # whether each word is in the vocabulary, (N,)
    state: "State"  # after these words


class State:
    """N rows of text, each at a position between two words; `len` is N."""

    def __init__(self, model: "StatefulModel", place: "_Place", rows: Rows) -> None:
        self.model = model
        # One attribute for both, since `_table` replaces them while another thread may read them.
        self._at = place, rows

    def __len__(self) -> int:
        return len(self._at[1])

    def __repr__(self) -> str:
        return f"<charlm state, {len(self)} rows>"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # it never changes

    def select(self, indices: Sequence[int] | Rows) -> "State":
        """These rows, in this order; a row may occur several times. It costs nothing.

        Raises:
            ConfigError: not a list of whole numbers, or one of them outside of 0 … N − 1.
        """
        try:
            picked = np.asarray(indices)
        except ValueError:  # nested lists of different lengths
            picked = np.array(None)
        if picked.ndim != 1 or (picked.dtype.kind not in "iu" and len(picked)):
            raise ConfigError(f"indices: found {indices!r:.60}; expected a list of whole numbers")
        picked = picked.astype(np.int64)
        wrong = picked[(picked < 0) | (picked >= len(self))]
        if len(wrong):
            raise ConfigError(f"indices: found {wrong[0]}; expected 0 to {len(self) - 1}")
        place, rows = self._at
        return State(self.model, place, rows[picked])


class _Place:
    """A position from which several states may select rows, with what has been computed there."""

    def __init__(self, position: Any, n_rows: int) -> None:
        self.position = position
        self.n_rows = n_rows
        self.log_probs_NV: Floats | None = None
        self.sums: Floats | None = None


class StatefulModel:
    """A model with states: from `charlm.load` (a run or an ARPA file), or a `MixedModel` of both.

    A word outside the vocabulary has the probability of `<unk>`, times that of its spelling if
    there is a speller.
    """

    def __init__(self, steps: Steps, *, speller: "OpenVocabulary | None" = None) -> None:
        self._steps = steps
        self.speller = speller
        self._prefixes: PrefixSums | None = None
        self._word_ids: dict[str, int] = {}

    def __copy__(self) -> Self:
        return self  # states of a copy would be another model's

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary by id: `</s>`, `<unk>`, and all other words."""
        return self._steps.words

    @checked_call
    def start(self, n: int = 1) -> State:
        """`n` rows at the start of a sentence.

        Raises:
            ConfigError: `n` below 0, or more rows than any memory holds.
        """
        if not 0 <= n <= MOST_ROWS:
            raise ConfigError(f"n: found {n}; expected 0 to {MOST_ROWS}")
        return State(self, _Place(self._steps.start(n), n), np.arange(n))

    @checked_call
    def step(self, state: State, words: Sequence[str]) -> Step:
        """The log-probability of each row's next word, and the state after these words.

        Words are taken as they are, without any text rules; `tokens` applies the rules.

        >>> model = charlm.load("exp/first")
        >>> step = model.step(model.start(2), ["the", "zebra"])
        >>> step.log_probs.shape, step.known.tolist(), len(step.state)
        ((2,), [True, False], 2)

        Raises:
            ConfigError: not one word for each row; `<s>` or `</s>` among them; with a speller,
                `<unk>:form` of a known word; another model's state.
        """
        self._check(state, words)
        ids = self.ids_of(words)
        known = ids != UNK
        log_probs = self._log_probs(state, ids) + self.spelled(words, known)
        place, rows = state._at
        position = self._steps.read(place.position, rows=rows, tokens=words, words=ids)
        behind = State(self, _Place(position, len(words)), np.arange(len(words)))
        return Step(log_probs, known, behind)

    @checked_call
    def finish(self, state: State) -> Floats:
        """The log-probability that each row's sentence ends here, shape (N,).

        Raises:
            ConfigError: another model's state.
        """
        self._check(state)
        return self._log_probs(state, np.full(len(state), END, np.int64))

    @checked_call
    def log_prob_of_unk(self, state: State) -> Floats:
        """The log-probability that each row's next word is outside the vocabulary, shape (N,).

        Raises:
            ConfigError: another model's state.
        """
        table, _, rows = self._table(state)
        log_probs: Floats = table[rows, UNK]
        return log_probs

    @checked_call
    def distribution(self, state: State) -> Floats:
        """The log-probabilities of all `words` after each row, shape (N, V).

        Raises:
            ConfigError: another model's state.
        """
        table, _, rows = self._table(state)
        return table[rows]

    @checked_call
    def prefix_log_prob(self, state: State, letters: str | Sequence[str]) -> Floats:
        """The log-probability that each row's next word begins with its letters, shape (N,).

        A single string is used for all rows. The sum is over the words of the vocabulary that begin
        with these letters and, if there is a speller, over all other spellings. Without a speller,
        `<unk>` does not count at all, not even for the empty prefix.

        Raises:
            ConfigError: not one string of letters for each row; another model's state.
        """
        prefixes = [letters] * len(state) if isinstance(letters, str) else letters
        self._check(state, prefixes, what="letters")
        if self._prefixes is None:
            self._prefixes = PrefixSums(self.words, speller=self.speller)
        table, place, rows = self._table(state)
        if place.sums is None:
            place.sums = self._prefixes.sums(table)
        return self._prefixes.log_probs(table, place.sums, rows=rows, prefixes=prefixes)

    def _log_probs(self, state: State, ids: Rows) -> Floats:
        """The log-probability of one word after each row."""
        place, rows = state._at
        if place.log_probs_NV is None:
            return self._steps.log_probs(place.position, rows=rows, words=ids)
        log_probs: Floats = place.log_probs_NV[rows, ids]
        return log_probs

    def _table(self, state: State) -> tuple[Floats, _Place, Rows]:
        """The distribution at the state's place, and its rows there; unselected rows drop out."""
        self._check(state)
        place, rows = state._at
        if place.log_probs_NV is None:
            used, where = np.unique(rows, return_inverse=True)
            if len(used) < place.n_rows:
                position = self._steps.gather(place.position, used)
                place, rows = state._at = _Place(position, len(used)), where.reshape(-1)
            place.log_probs_NV = self._steps.distribution(place.position)
        return place.log_probs_NV, place, rows

    def ids_of(self, words: Sequence[str]) -> Rows:
        """The ids of words, of `<unk>` for those outside the vocabulary."""
        if not self._word_ids:
            self._word_ids = {word: number for number, word in enumerate(self.words)}
        find = self._word_ids.get
        return np.fromiter((find(word, UNK) for word in words), np.int64, len(words))

    def spelled(self, words: Sequence[str], known: Flags) -> Floats:
        """log P(spelling | <unk>) of unknown words if there is a speller, and 0 of all other words.

        Raises:
            ConfigError: not one flag for each word; `<unk>:form` of a word that the vocabulary has.
        """
        if isinstance(words, str) or len(words) != len(known):
            raise ConfigError(
                f"words: found {words!r:.60} and {len(known)} flags; expected a list of words, "
                "and one flag for each"
            )
        if self.speller is None:
            return np.zeros(len(words))
        return self.speller.spelled(words, known)

    def _check(self, state: State, given: Sequence[str] | None = None, what: str = "words") -> None:
        if state.model is not self:
            raise ConfigError("state: found another model's; expected one of this model's")
        if given is None:
            return
        if len(given) != len(state):
            raise ConfigError(
                f"{what}: found {len(given)}; expected {len(state)}, one for each row of the state"
            )
        for mark in (START_WORD, END_WORD):
            if what == "words" and mark in given:
                raise ConfigError(
                    f"words: found {mark!r}; expected words; start and finish are the sentence's "
                    "ends"
                )
