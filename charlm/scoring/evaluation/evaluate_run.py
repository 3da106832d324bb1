"""Perplexities of texts under a run, by one process or several.

The first process reads the texts; the others help with sentences.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from charlm.errors import ConfigError
from charlm.processes.command import First, Machine, run_command
from charlm.processes.group import EVALUATION, Group
from charlm.processes.worker_pool import WorkerPool
from charlm.run.folder import learned_unnormalised
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import autocast, keep_freed_memory, pick_device, pick_precision
from charlm.scoring.adaptation.adaptive_reader import Adaptation, AdaptiveReader
from charlm.scoring.adaptation.opened_adaptation import opened_adaptation
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions, states_of
from charlm.scoring.evaluation.evaluated_text import evaluated_text, text_paths
from charlm.scoring.evaluation.state_blocks import BlockReader, Blocks
from charlm.scoring.likelihood.log_z import MeteredOutput
from charlm.scoring.likelihood.nll import FormVectors, Nlls
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.text.perplexity.perplexity import Evaluation
from charlm.text.vocabulary.encoding import Ids


class AdaptiveBlocks:
    """The blocks of one text, read from the trained weights on, in the states asked for.

    One process reads them, one token after the other. Each state has its own copy of the model, so
    that what one learns does not reach the other.
    """

    def __init__(self, run: LoadedRun, adaptation: Adaptation, *, options: EvaluateOptions) -> None:
        self.precision, self._device = options.precision, next(run.model.parameters()).device
        states = states_of(options.state, run.learned_single_sentences)
        self.readers = {state: AdaptiveReader.of_copy(run, adaptation) for state in states}
        self._initial = run.model.context.initial_state(1)
        self._carried = self._initial

    def nlls(self, sentences: Sequence[Ids], *, spellings: Sequence[str]) -> dict[str, Nlls]:
        found: dict[str, Nlls] = {}
        for state, reader in self.readers.items():
            with autocast(self._device, self.precision):
                if state == "carried":
                    # Every block ends with a sentence's `</s>`, the first input of the next.
                    found[state], self._carried = reader.continued_nll(
                        np.concatenate(sentences), spellings=spellings, state=self._carried
                    )
                else:
                    alone = (
                        reader.continued_nll(ids, spellings=spellings, state=self._initial)[0]
                        for ids in sentences
                    )
                    found[state] = np.concatenate(list(alone))
        return found


def evaluate_run(options: EvaluateOptions) -> tuple[Evaluation, ...]:
    """`evaluate` for a run."""

    def lead(first: First[Group]) -> tuple[Evaluation, ...]:
        _require_one_process(options, first.size)
        paths = text_paths(options)
        device = pick_device(first.device)
        asked = replace(options, precision=pick_precision(options.precision, device))
        run = load_run(which_run(options.model), device=device)
        speller = OpenVocabulary.of_run(run) if options.open_vocabulary else None
        adaptation = opened_adaptation(
            run,
            mode=options.adapt,
            rates=options.adapt_rates,
            data=options.data,
            tell=options.on_stage,
        )
        group = first.start_others()
        group.from_first(lambda: (run.path, asked.precision))
        own = _reader(run, asked.precision, is_metered=adaptation is None)
        pool = WorkerPool(group, own)
        states, results = states_of(options.state, run.learned_single_sentences), []
        for path in paths:
            reader: Blocks | AdaptiveBlocks = Blocks(pool, states)
            if adaptation is not None:
                reader = AdaptiveBlocks(run, adaptation, options=asked)
            result = evaluated_text(
                path,
                reader,
                model=run,
                options=asked,
                speller=speller,
                adaptation="" if adaptation is None else adaptation.shown,
            )
            results.append(_with_log_z(result, reader))
            if options.on_text is not None:
                options.on_text(results[-1])
        pool.dismiss()
        return tuple(results)

    machine = Machine(options.device, options.gpus, options.processes, options.threads)
    return run_command(Group(work=EVALUATION), machine=machine, lead=lead, follow=_follow)


def _require_one_process(options: EvaluateOptions, n_processes: int) -> None:
    if options.adapt != "none" and n_processes > 1:
        raise ConfigError(
            "--adapt: each token waits for what was learned of those before it; expected one "
            "process; drop --gpus and --processes"
        )


def _with_log_z(result: Evaluation, reader: Blocks | AdaptiveBlocks) -> Evaluation:
    """The result with the mean and variance of log Z, if these were measured."""
    if isinstance(reader, AdaptiveBlocks) or not reader.log_z.n_tokens:
        return result
    return replace(result, log_z_mean=reader.log_z.mean, log_z_variance=reader.log_z.variance)


def _follow(group: Group, message: tuple[Path, str], *, device: torch.device) -> None:
    """Help the first process with sentences until it ends."""
    path, precision = message
    run = load_run(path, device=device)
    WorkerPool(group, _reader(run, precision)).follow()


def _reader(run: LoadedRun, precision: str, *, is_metered: bool = True) -> BlockReader:
    """A reader for the run's model; it measures log Z of a model trained to be unnormalised."""
    keep_freed_memory()
    if is_metered and learned_unnormalised(run.settings) and run.model.output.has_scores:
        run.model.output = MeteredOutput(run.model.output)
    with autocast(next(run.model.parameters()).device, precision):
        vectors = FormVectors(run.model, run.inventory, oov_input=run.oov_input)
    return BlockReader(vectors, precision=precision)
