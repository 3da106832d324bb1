"""Any model with states as a language model for pyctcdecode.

`BeamSearchDecoderCTC(alphabet, PyctcdecodeLM(charlm.load("exp/a")))` works because the decoder uses
only the methods of its AbstractLanguageModel and does not check the class. So this file can be
imported without pyctcdecode. The decoder asks for one prefix at a time; `ctc_beam_search` asks for
a whole beam.
"""

import math
from numbers import Real

from charlm.interface.arguments import checked_call
from charlm.scoring.decoding.prefixes import PrefixSums
from charlm.scoring.decoding.states import State, StatefulModel

UNBOUNDED = 1 << 20  # words; a state remembers all of them, so no history may be cut
TYPICAL_LENGTH = 6  # letters of a word, as in pyctcdecode
LN_10 = math.log(10)


class PyctcdecodeLM:
    """alpha · ln P(word | words before) + beta; the last word's score includes the sentence end.

    `unk_score_offset` is pyctcdecode's: a log10 value that is added, before alpha, for each unknown
    word, and added unchanged for letters that begin no word. It is not used where the model spells
    unknown words. The letters of an unfinished word come without a state, so their score does not
    depend on the context.
    """

    @checked_call
    def __init__(
        self,
        model: StatefulModel,
        *,
        alpha: float = 0.5,
        beta: float = 1.5,
        unk_score_offset: float = -10.0,
        score_boundary: bool = True,
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.beta = beta
        self.unk_score_offset = unk_score_offset
        self.score_boundary = score_boundary
        self._prefixes = PrefixSums(model.words, speller=model.speller)

    @property
    def order(self) -> int:
        """How many words of history the decoder must keep; for runs, all of them."""
        return int(getattr(self.model, "order", UNBOUNDED))

    def get_start_state(self) -> State:
        """The start of a sentence."""
        return self.model.start()

    def score(
        self, prev_state: State, word: str, *, is_last_word: bool = False
    ) -> tuple[float, State]:
        """A word's score in nats and the state after it; an empty string is no word."""
        log_prob, added, state = 0.0, 0.0, prev_state
        if word:
            step = self.model.step(prev_state, [word])
            log_prob, added, state = float(step.log_probs[0]), self.beta, step.state
            if not step.known[0] and self.model.speller is None:
                # An offset of −∞ forbids unknown words at an alpha of 0, too: 0 · −∞ is NaN.
                finite = self.unk_score_offset > -math.inf
                added += (self.alpha if finite else 1.0) * self.unk_score_offset * LN_10
        if is_last_word and self.score_boundary:
            log_prob += float(self.model.finish(state)[0])
        return self.alpha * log_prob + added, state

    def score_partial_token(self, partial_token: str) -> float:
        """0 for letters that begin a word of the vocabulary, else the cost of an unknown word."""
        if self._prefixes.begins_word(partial_token):
            return 0.0
        if self.model.speller is not None:
            return self.alpha * self._prefixes.log_prob_of_others(partial_token)
        return self.unk_score_offset * max(1.0, len(partial_token) / TYPICAL_LENGTH)

    def reset_params(self, **params: object) -> None:
        """Change alpha, beta, unk_score_offset or score_boundary, as pyctcdecode's own does."""
        for name in ("alpha", "beta", "unk_score_offset"):
            value = params.get(name)
            if isinstance(value, Real):
                setattr(self, name, float(value))
        if isinstance(params.get("score_boundary"), bool):
            self.score_boundary = bool(params["score_boundary"])
