"""Perplexities of texts under an exported model, by onnxruntime and without torch.

A carried state reads one token at a time; sentences from the initial state are read side by side
with others of similar length.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from charlm.run.onnx_model import OnnxModel, State, Vectors, require_no_torch
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions
from charlm.scoring.evaluation.evaluated_text import Nlls, evaluated_text, text_paths
from charlm.scoring.likelihood.streams import as_words, sentence_batches
from charlm.text.corpus.tokens import END
from charlm.text.perplexity.perplexity import Evaluation
from charlm.text.vocabulary.encoding import Ids


def evaluate_exported(path: str | Path, options: EvaluateOptions) -> tuple[Evaluation, ...]:
    """`evaluate` for an exported model.

    Raises:
        ConfigError: an option that needs torch; as `evaluate`.
        DataError: a folder that was changed after the export; as `evaluate`.
    """
    require_no_torch(path, options)
    paths = text_paths(options)
    model = OnnxModel(path, threads=options.threads)
    precision: Any = f"{model.info.precision}-onnx"  # used in signatures only
    asked = replace(options, precision=precision)
    results = []
    for text in paths:
        reader = _Reader(model, asked.states(model))
        results.append(evaluated_text(text, reader, model=model, options=asked))
        if options.on_text is not None:
            options.on_text(results[-1])
    return tuple(results)


class _Reader:
    """Reads the blocks of one text, in the states that are asked for."""

    def __init__(self, model: OnnxModel, states: Sequence[str]) -> None:
        self.model = model
        self.states = states
        self._carried = model.initial_state(1)

    def nlls(self, sentences: Sequence[Ids], *, spellings: Sequence[str]) -> dict[str, Nlls]:
        """For each state, the nll in nats of all tokens of the next block, in order."""
        found: dict[str, Nlls] = {}
        if "carried" in self.states:
            stream = np.concatenate(sentences)[:, None]
            # Every block ends with a sentence's `</s>`, the first input of the next block.
            nlls, self._carried = self._walked(stream, spellings, state=self._carried)
            found["carried"] = nlls[:, 0]
        if "sentence" in self.states:
            found["sentence"] = np.concatenate(self._of_each(sentences, spellings))
        return found

    def _of_each(self, sentences: Sequence[Ids], spellings: Sequence[str]) -> list[Nlls]:
        results = [np.empty(0, np.float32)] * len(sentences)
        for chosen in sentence_batches(sentences):
            ids_TB = np.full((len(sentences[chosen[-1]]), len(chosen)), END, np.int32)
            for column, number in enumerate(chosen):
                ids_TB[: len(sentences[number]), column] = sentences[number]
            state = self.model.initial_state(len(chosen))
            nlls_TB, _ = self._walked(ids_TB, spellings, state=state)
            for column, number in enumerate(chosen):
                results[number] = nlls_TB[: len(sentences[number]), column]
        return results

    def _walked(self, ids_TB: Ids, spellings: Sequence[str], *, state: State) -> tuple[Nlls, State]:
        """nll_TB of the forms after `</s>` in each column, and the state after them."""
        before_TB = np.concatenate([np.full_like(ids_TB[:1], END), ids_TB[:-1]])
        words_TB = as_words(ids_TB, self.model.inventory.n_words)
        nlls_TB: Vectors = np.empty(ids_TB.shape, np.float32)
        columns = np.arange(ids_TB.shape[1])
        for step, read_B in enumerate(before_TB):
            x_BE = self.model.vectors.of(read_B, spellings)
            log_probs_BV, state = self.model.step(x_BE, state)
            nlls_TB[step] = -log_probs_BV[columns, words_TB[step]]
        return nlls_TB, state
