"""Any model with states as a full scorer for ESPnet's beam searches.

ESPnet takes only scorers that derive from its ScorerInterface. A state is the model's before the
last token of a hypothesis, as in ESPnet's own language models, and None at the start. This file can
be imported without ESPnet.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from charlm.errors import ConfigError
from charlm.interface.arguments import checked_call
from charlm.scoring.decoding.states import State, StatefulModel
from charlm.text.corpus.tokens import END, END_WORD, START_WORD, UNK, UNK_WORD

try:
    from espnet.nets.scorer_interface import BatchScorerInterface
except ImportError:  # then there is no search, either
    BatchScorerInterface = object

BLANK = "<blank>"  # ESPnet's; a frame without a token

Place = tuple[State, int]  # a row of a state


class EspnetScorer(BatchScorerInterface):  # type: ignore[misc]  # ESPnet has no types
    """ln P(token | tokens before) of all tokens; that of `eos` is the sentence's end.

    `tokens` is the recogniser's `token_list`. Where these are pieces of words, the model must have
    been trained on text that is cut into the same pieces. A token that the model does not know has
    the probability of `<unk>`, times that of its spelling if there is a speller.
    """

    @checked_call
    def __init__(
        self, model: StatefulModel, *, tokens: Sequence[str], eos: str = "<sos/eos>"
    ) -> None:
        """
        Raises:
            ConfigError: `eos` is not among the tokens; the model knows fewer than half of them.
        """
        if eos not in tokens:
            raise ConfigError(f"eos: found {eos!r}, which is not among the tokens; expected one")
        self.model = model
        marks = {eos, BLANK, START_WORD, END_WORD}
        self._words = [UNK_WORD if token in marks else token for token in tokens]
        self._ids = model.ids_of(self._words)
        pairs = zip(self._words, self._ids, strict=True)
        unknown = [word for word, number in pairs if number == UNK and word != UNK_WORD]
        if 2 * len(unknown) > len(tokens):
            raise ConfigError(
                f"tokens: the model does not know {len(unknown)} of {len(tokens)}, "
                f"{unknown[0]!r:.40} among them; expected a model that is trained on text cut into "
                "these tokens"
            )
        self._added = model.spelled(self._words, self._ids != UNK)
        self._added[[token in marks for token in tokens]] = -math.inf
        self._ids[tokens.index(eos)], self._added[tokens.index(eos)] = END, 0.0

    def init_state(self, x: Tensor) -> None:
        """The start of a sentence."""

    def batch_init_state(self, x: Tensor) -> None:
        """The start of a sentence."""

    def select_state(self, state: Sequence[Place] | None, i: int) -> Place | None:
        """The state of hypothesis i."""
        return None if state is None else state[i]

    def final_score(self, state: Place) -> float:
        """0: the end has been scored as a token."""
        return 0.0

    def score(self, y: Tensor, state: Place | None, *frames: Tensor) -> tuple[Tensor, Place]:
        """The log-probabilities of all tokens after one hypothesis, and the state there."""
        scores, states = self.batch_score(y[None], [state], *frames)
        return scores[0], states[0]

    def batch_score(
        self, ys: Tensor, states: Sequence[Place | None], *frames: Tensor
    ) -> tuple[Tensor, list[Place]]:
        """The log-probabilities of all tokens after each hypothesis, and the states there."""
        last = [self._words[number] for number in ys[:, -1].tolist()]
        groups: dict[int, list[int]] = {}  # one, if all come from the same call
        for k, place in enumerate(states):
            groups.setdefault(id(place and place[0]), []).append(k)
        scores = np.empty((len(states), len(self._words)), np.float32)
        now: dict[int, Place] = {}
        for group in groups.values():
            before = [place for k in group if (place := states[k]) is not None]
            if before:
                rows = before[0][0].select([row for _, row in before])
                after = self.model.step(rows, [last[k] for k in group]).state
            else:
                after = self.model.start(len(group))
            scores[group] = self.model.distribution(after)[:, self._ids] + self._added
            now.update((k, (after, row)) for row, k in enumerate(group))
        return torch.from_numpy(scores).to(ys.device), [now[k] for k in range(len(states))]
