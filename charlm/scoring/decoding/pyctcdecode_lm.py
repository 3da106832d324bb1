"""Any model with states as a language model of pyctcdecode.

`BeamSearchDecoderCTC(alphabet, PyctcdecodeLM(charlm.load("exp/a")))`: the decoder calls the methods
of its AbstractLanguageModel and does not check the class, so this can be imported without
pyctcdecode. It queries prefix by prefix; `ctc_beam_search` queries a whole beam at a time.
"""

import math

from charlm.arguments import checked_call
from charlm.scoring.decoding.prefixes import PrefixSums
from charlm.scoring.decoding.states import State, StatefulModel

UNBOUNDED = 1 << 20  # words: a state remembers all of them, so no history may be cut
TYPICAL_LENGTH = 6  # letters of a word, as in pyctcdecode
LN_10 = math.log(10)


class PyctcdecodeLM:
    """alpha · ln P(word | words before) + beta, and for the last word the sentence's end, too.

    `unk_score_offset` is pyctcdecode's: log10, before alpha, for each unknown word, and as it
    stands for letters that begin none; where the model spells unknown words it is not used. Letters
    of a word come without a state, so nothing of the context is in their score.
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
        """How many words the decoder may not forget; of runs all."""
        return int(getattr(self.model, "order", UNBOUNDED))

    def get_start_state(self) -> State:
        """The start of a sentence."""
        return self.model.start()

    def score(
        self, prev_state: State, word: str, *, is_last_word: bool = False
    ) -> tuple[float, State]:
        """What a word is worth, in nats, and the state behind it; no word at all is no word."""
        log_prob, bonus, state = 0.0, 0.0, prev_state
        if word:
            step = self.model.step(prev_state, [word])
            log_prob, bonus, state = float(step.log_probs[0]), self.beta, step.state
            if not step.known[0] and self.model.speller is None:
                log_prob += self.unk_score_offset * LN_10
        if is_last_word and self.score_boundary:
            log_prob += float(self.model.finish(state)[0])
        return self.alpha * log_prob + bonus, state

    def score_partial_token(self, partial_token: str) -> float:
        """Nothing for letters that words begin with; else what unknown ones cost."""
        if self._prefixes.begins_word(partial_token):
            return 0.0
        if self.model.speller is not None:
            return self.alpha * self._prefixes.log_prob_of_others(partial_token)
        return self.unk_score_offset * max(1.0, len(partial_token) / TYPICAL_LENGTH)

    def reset_params(self, **params: object) -> None:
        """Change alpha, beta, unk_score_offset or score_boundary, as the decoder's own does."""
        for name in ("alpha", "beta", "unk_score_offset"):
            value = params.get(name)
            if isinstance(value, int | float):
                setattr(self, name, float(value))
        if isinstance(params.get("score_boundary"), bool):
            self.score_boundary = bool(params["score_boundary"])
