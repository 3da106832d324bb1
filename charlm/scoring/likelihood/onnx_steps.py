"""An exported model, step by step and without torch, as `charlm.scoring.decoding.states.Steps`."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from charlm.errors import broken_model
from charlm.run.onnx_model import OnnxModel, State, Vectors
from charlm.text.corpus.tokens import END_WORD, UNK, form_of

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SENTENCES_AT_ONCE = 256  # with 10,000 words, their log-probabilities take 10 MB


class OnnxPosition(NamedTuple):
    """N rows, each at a position between two words."""

    log_probs_NV: Vectors
    state: State


class OnnxSteps:
    """Takes rows one word further; words outside the vocabulary are read as the run reads them."""

    def __init__(self, model: OnnxModel) -> None:
        self.model = model
        self.words = model.inventory.words
        self._word_ids = model.inventory.word_ids

    def ids(self, tokens: Sequence[str]) -> Rows:
        """The ids of words; that of `<unk>` for tokens outside the vocabulary."""
        return np.array([self._word_ids.get(token, UNK) for token in tokens], np.int64)

    def start(self, n: int, *, state: State | None = None) -> OnnxPosition:
        """`n` rows that have read `</s>` alone, or `</s>` after what `state`, one row, has read."""
        begun = self._stepped(state or self.model.initial_state(1), [END_WORD])
        return self.gather(begun, np.zeros(n, np.int64))

    def gather(self, position: OnnxPosition, rows: Rows) -> OnnxPosition:
        log_probs_NV, state = position
        return OnnxPosition(log_probs_NV[rows], tuple(leaf[rows] for leaf in state))

    def log_probs(self, position: OnnxPosition, *, rows: Rows, words: Rows) -> Floats:
        return position.log_probs_NV[rows, words].astype(np.float64)

    def read(
        self, position: OnnxPosition, *, rows: Rows, tokens: Sequence[str], words: Rows
    ) -> OnnxPosition:
        if not len(rows):
            return self.gather(position, rows)
        return self._stepped(tuple(leaf[rows] for leaf in position.state), tokens)

    def distribution(self, position: OnnxPosition) -> Floats:
        return position.log_probs_NV.astype(np.float64)

    def _stepped(self, state: State, tokens: Sequence[str]) -> OnnxPosition:
        n_words = len(self.words)
        spelled = dict.fromkeys(token for token in tokens if token not in self._word_ids)
        numbers = {token: n_words + k for k, token in enumerate(spelled)}
        ids = [self._word_ids.get(token, numbers.get(token, UNK)) for token in tokens]
        x_NE = self.model.vectors.of(np.array(ids, np.int32), [form_of(each) for each in spelled])
        log_probs_NV, state = self.model.step(x_NE, state)
        if not np.isfinite(log_probs_NV).all():
            raise broken_model(self.model.path, mend="export it again")
        return OnnxPosition(log_probs_NV, state)


def sentence_log_probs(
    steps: OnnxSteps, sentences: Sequence[Sequence[str]], *, state: State | None = None
) -> Iterator[Floats]:
    """log P in nats of each word and of the end, sentence by sentence, from `state` if it is given.

    Prefixes that several sentences share are read once.
    """
    for first in range(0, len(sentences), SENTENCES_AT_ONCE):
        yield from _of_some(steps, sentences[first : first + SENTENCES_AT_ONCE], state=state)


def _of_some(
    steps: OnnxSteps, sentences: Sequence[Sequence[str]], *, state: State | None
) -> list[Floats]:
    found = [np.empty(len(words) + 1) for words in sentences]
    position = steps.start(1, state=state)
    rows = dict.fromkeys(range(len(sentences)), 0)  # sentence → its row
    place = 0
    while rows:
        tokens = [(*sentences[number], END_WORD)[place] for number in rows]
        at = np.fromiter(rows.values(), np.int64, len(rows))
        log_probs = steps.log_probs(position, rows=at, words=steps.ids(tokens))
        for number, log_prob in zip(rows, log_probs, strict=True):
            found[number][place] = log_prob
        after: dict[tuple[int, str], int] = {}
        rows = {
            number: after.setdefault((row, token), len(after))
            for (number, row), token in zip(rows.items(), tokens, strict=True)
            if place < len(sentences[number])
        }
        parents = np.array([row for row, _ in after], np.int64)
        read = [token for _, token in after]
        position = steps.read(position, rows=parents, tokens=read, words=steps.ids(read))
        place += 1
    return found
