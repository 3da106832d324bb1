"""An exported model as a scorer: as the scorer of a run, but without torch."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from charlm.nbest.scorer import WordLogProbs, Words
from charlm.run.onnx_model import OnnxModel, State
from charlm.scoring.likelihood.onnx_steps import OnnxSteps, sentence_log_probs
from charlm.text.corpus.tokens import UNK


class ExportedScorer:
    """Scores by a folder that `charlm export --onnx` wrote."""

    def __init__(self, model: OnnxModel, *, name: str = "nn") -> None:
        self.name = name
        self.inventory = model.inventory
        self.learned_single_sentences = model.learned_single_sentences
        self._steps = OnnxSteps(model)

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        state = cast("State | None", memory)
        log_probs = sentence_log_probs(self._steps, sentences, state=state)
        known = [self._steps.ids(words) != UNK for words in sentences]
        return [WordLogProbs(*pair) for pair in zip(log_probs, known, strict=True)]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        """The state after a sentence that followed `memory`, its end not yet read."""
        at, row = self._steps.start(1, state=cast("State | None", memory)), np.zeros(1, np.int64)
        for word in sentence:
            at = self._steps.read(at, rows=row, tokens=[word], words=self._steps.ids([word]))
        return at.state
