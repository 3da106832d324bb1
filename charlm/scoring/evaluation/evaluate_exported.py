"""Perplexities of texts under an exported model, by onnxruntime and without torch.

A carried state reads one token at a time; sentences from the initial state are read side by side
with others of similar length, and prefixes that they share once.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from charlm.run.onnx_model import OnnxModel, require_no_torch
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions, states_of
from charlm.scoring.evaluation.evaluated_text import Nlls, evaluated_text, text_paths
from charlm.scoring.likelihood.onnx_steps import OnnxSteps, sentence_log_probs
from charlm.scoring.likelihood.streams import as_words, sentence_batches
from charlm.text.corpus.tokens import END, UNK_WORD
from charlm.text.perplexity.perplexity import Evaluation
from charlm.text.vocabulary.encoding import Ids


def evaluate_exported(path: str | Path, options: EvaluateOptions) -> tuple[Evaluation, ...]:
    """`evaluate` for an exported model."""
    require_no_torch(path, options)
    paths = text_paths(options)
    model = OnnxModel(path, threads=options.threads)
    precision: Any = f"{model.info.precision}-onnx"  # used in signatures only
    asked = replace(options, precision=precision)
    results = []
    for text in paths:
        reader = _Reader(model, states_of(options.state, model.learned_single_sentences))
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
        self._steps = OnnxSteps(model)

    def nlls(self, sentences: Sequence[Ids], *, spellings: Sequence[str]) -> dict[str, Nlls]:
        found: dict[str, Nlls] = {}
        if "carried" in self.states:
            found["carried"] = self._of_stream(np.concatenate(sentences), spellings)
        if "sentence" in self.states:
            found["sentence"] = np.concatenate(self._of_each(sentences, spellings))
        return found

    def _of_stream(self, ids: Ids, spellings: Sequence[str]) -> Nlls:
        # Every block ends with a sentence's `</s>`, the first input of the next block.
        before = np.concatenate([np.array([END], np.int32), ids[:-1]])
        nlls: Nlls = np.empty(len(ids), np.float32)
        for place, word in enumerate(as_words(ids, self.model.inventory.n_words)):
            x_1E = self.model.vectors.of(before[[place]], spellings)
            log_probs_1V, self._carried = self.model.step(x_1E, self._carried)
            nlls[place] = -log_probs_1V[0, word]
        return nlls

    def _of_each(self, sentences: Sequence[Ids], spellings: Sequence[str]) -> list[Nlls]:
        # A spelling may be that of a word: as `<unk>:form` it is none.
        tokens = [*self.model.inventory.words, *(f"{UNK_WORD}:{each}" for each in spellings)]
        results = [np.empty(0, np.float32)] * len(sentences)
        for chosen in sentence_batches(sentences):
            words = [[tokens[i] for i in sentences[number][:-1]] for number in chosen]
            found = sentence_log_probs(self._steps, words)
            for number, log_probs in zip(chosen, found, strict=True):
                results[number] = (-log_probs).astype(np.float32)
        return results
