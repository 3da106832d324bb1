"""Any model with states as a language model for the CTC decoders of flashlight-text and torchaudio.

These decoders take only classes that derive from flashlight's own, and hold two hypotheses for the
same words if they carry the same state object. So equal words give the same object here. This file
can be imported without flashlight-text.
"""

from collections.abc import Sequence
from functools import cached_property

from charlm.errors import ConfigError
from charlm.interface.arguments import checked_call
from charlm.scoring.decoding.states import Floats, State, StatefulModel
from charlm.text.corpus.tokens import UNK

try:
    from flashlight.lib.text.decoder import LM, LMState
except ImportError:  # then there is no decoder, either
    LM = LMState = object


class _Words(LMState):  # type: ignore[misc]  # flashlight has no types
    """The words since the start of a sentence: those before the last, and the last."""

    def __init__(self, before: State, last: str | None) -> None:
        super().__init__()
        self._before, self._last = before, last
        self.log_probs: Floats | None = None  # of the next word
        self.longer: dict[int, _Words] = {}  # by the next word's id

    @cached_property
    def state(self) -> State:
        """The model's; it reads only words after which it is asked something."""
        if self._last is None:
            return self._before
        return self._before.model.step(self._before, [self._last]).state


class FlashlightLM(LM):  # type: ignore[misc]
    """ln P(word | words before), and of the sentence's end; the weights are the decoder's.

    `words` are what the decoder's word ids stand for, in their order (without a lexicon: its
    tokens). A word that the model does not know has the probability of `<unk>`, times that of its
    spelling if there is a speller. One object serves one decoder at a time: `start` forgets the
    sentence before.
    """

    @checked_call
    def __init__(self, model: StatefulModel, *, words: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.words = words
        self._ids = model.ids_of(words)
        self._spelled = model.spelled(words, self._ids != UNK)

    def start(self, start_with_nothing: bool) -> _Words:
        """The start of a sentence."""
        self._start = _Words(self.model.start(), None)  # keeps what Python knows of all states
        return self._start

    def score(self, state: _Words, usr_token_idx: int) -> tuple[_Words, float]:
        """The words with one more, and that word's log-probability.

        Raises:
            ConfigError: the decoder has more words.
        """
        if usr_token_idx >= len(self.words):
            raise ConfigError(
                f"words: found {len(self.words)}, but the decoder asks about word {usr_token_idx}; "
                "expected all words of its dictionary, in their order"
            )
        if state.log_probs is None:
            table_NV = self.model.distribution(state.state)
            state.log_probs = table_NV[0, self._ids] + self._spelled
        log_prob = float(state.log_probs[usr_token_idx])
        longer = state.longer.get(usr_token_idx)
        if longer is None:
            longer = _Words(state.state, self.words[usr_token_idx])
            state.longer[usr_token_idx] = longer
        return longer, log_prob

    def finish(self, state: _Words) -> tuple[_Words, float]:
        """The log-probability that the sentence ends here."""
        return state, float(self.model.finish(state.state)[0])
