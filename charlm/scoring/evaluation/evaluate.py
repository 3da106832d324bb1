"""Perplexities of texts under a run's model, with state carried or sentence by sentence.

A text is read once, in blocks of bounded size, by both states in step: a pipe will do, and memory
depends on its longest line alone. Of several processes the first reads, and the others help with
sentences. Nats end here; what comes out is log10.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from charlm.errors import ConfigError, DataError
from charlm.options import keywords, several
from charlm.processes.command import First, Machine, run_command
from charlm.processes.group import EVALUATION, Group, WorkerPool
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import autocast, pick_device, pick_precision
from charlm.scoring.evaluation.evaluate_options import EvaluateOptions
from charlm.scoring.evaluation.state_blocks import BlockReader, Blocks
from charlm.scoring.likelihood.log_z import MeteredOutput
from charlm.scoring.likelihood.nll import FormVectors, Nlls
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.scoring.likelihood.streams import as_words
from charlm.text.corpus.hashed_text import ReadText
from charlm.text.corpus.sentences import blocks, split_path
from charlm.text.corpus.tokens import END_WORD, UNK
from charlm.text.io.files import display_name
from charlm.text.io.lines import TEXT
from charlm.text.perplexity.perplexity import (
    Counts,
    Evaluation,
    Log10Sums,
    Perplexity,
    ScoredSentence,
    counts_of,
    log10_sums,
)
from charlm.text.perplexity.signature import signature
from charlm.text.perplexity.spelled_words import Spelling, spelling_of
from charlm.text.vocabulary.encoding import FormIds, encode_sentences

SELF_NORMALISED = ("self-normalised", "nce")  # criteria
SPLIT = "test"  # of a corpus directory, where nothing else is said
BLOCK = 1 << 16  # tokens held in memory at a time, or one sentence if it is longer

Log10s = npt.NDArray[np.float64]


@keywords(EvaluateOptions)
def evaluate(options: EvaluateOptions) -> tuple[Evaluation, ...]:
    """The perplexities of each of `files`, or of one split of a corpus directory.

    The run's text normalisation is applied to every line unless `raw`. With `open_vocabulary`
    `on_sentence` hears the probabilities of `<unk>` all the same. A result's `n_oov` counts every
    word whose target is `<unk>`, those written so included. Several processes divide the sentences
    among them. Under torchrun the first process evaluates as asked, and the others beside it,
    whatever their options are; all return the same.

    Raises:
        ConfigError: neither files nor data, or both; a split of files; a device or precision that
            is not there; an open vocabulary and no speller.
        DataError: a text or run that is not what was expected; a model that gives no numbers.
        ProcessError: another process ended.
    """

    def lead(first: First[Group]) -> tuple[Evaluation, ...]:
        paths = _paths(options)
        device = pick_device(first.device)
        asked = replace(options, precision=pick_precision(options.precision, device))
        run = load_run(which_run(options.model), device=device)
        speller = OpenVocabulary.of_run(run) if options.open_vocabulary else None
        group = first.start_others()
        group.from_first(lambda: (run.path, asked.precision))
        pool = WorkerPool(group, _reader(run, asked.precision))
        results = []
        for path in paths:
            reader = Blocks(pool, options.states)
            results.append(_evaluated(path, reader, run=run, options=asked, speller=speller))
            if options.on_text is not None:
                options.on_text(results[-1])
        pool.dismiss()
        return tuple(results)

    machine = Machine(options.device, options.gpus, options.processes, options.threads)
    return run_command(Group(work=EVALUATION), machine=machine, lead=lead, follow=_follow)


def _follow(group: Group, told: tuple[Path, str], *, device: torch.device) -> None:
    """Help the first process with sentences until it ends."""
    path, number_format = told
    run = load_run(path, device=device)
    WorkerPool(group, _reader(run, number_format)).follow()


def _reader(run: LoadedRun, precision: str) -> BlockReader:
    """A reader by a run's model, which meters how far its scores are from probabilities."""
    criterion = run.settings["recipe"].get("criterion", {})
    # Trained to be read without normalising its scores.
    if criterion.get("type") in SELF_NORMALISED and run.model.output.has_scores:
        run.model.output = MeteredOutput(run.model.output)
    with autocast(next(run.model.parameters()).device, precision):
        vectors = FormVectors(run.model, run.inventory, oov_input=run.oov_input)
    return BlockReader(vectors, precision=precision)


def _paths(options: EvaluateOptions) -> list[str | Path]:
    files, data, split = several(options.files), options.data, options.split
    if bool(files) == (data is not None):
        found = "both files and --data" if files else "neither files nor --data"
        raise ConfigError(f"found {found}; expected one of them; give either")
    if data is not None:
        return [split_path(data, split or SPLIT)]
    if split is not None:
        raise ConfigError(f"--split {split}: expected --data DIR, of which it is a part; drop it")
    for path in files:
        # A last file that cannot be read would cost the time of those before it.
        if str(path) == "-":
            continue
        if not Path(path).exists():
            raise DataError(f"{path}: no such file; expected a text")
        if Path(path).is_dir():
            raise DataError(f"{path}: is a folder; expected a file")
    return files


def _evaluated(
    path: str | Path,
    reader: Blocks,
    *,
    run: LoadedRun,
    options: EvaluateOptions,
    speller: OpenVocabulary | None,
) -> Evaluation:
    inventory, states = run.inventory, options.states
    normalisation = None if options.raw else inventory.normalisation
    rules = replace(TEXT, encoding=options.encoding)
    text = ReadText(path, normalisation=normalisation, rules=rules)
    counts = Counts()
    sums = dict.fromkeys(states, Log10Sums())
    spelling = Spelling() if speller else None
    for block in blocks(text.sentences(), size=BLOCK):
        form_ids = FormIds(inventory)
        ids = encode_sentences(block, form_ids)
        words = [as_words(each, inventory.n_words) for each in ids]
        for words_read, predicted in zip(block, words, strict=True):
            counts += counts_of(words_read, n_oov=int((predicted == UNK).sum()))
        known = np.concatenate(words) != UNK
        if speller and spelling:
            tokens = (token for each in block for token in (*each, END_WORD))
            spelling += spelling_of(compress(tokens, ~known), speller)
        nlls = reader.nlls(ids, spellings=form_ids.spellings)
        for state in states:
            log10s = _log10_probs(nlls[state])
            _require_numbers(log10s, text=text, run=run)
            sums[state] += log10_sums(log10s.tolist(), known.tolist())
            if options.on_sentence is not None and state == states[0]:
                for sentence in _sentences(block, words, log10s):
                    options.on_sentence(sentence)
    if not counts.n_sentences:
        raise DataError(f"{display_name(path)}: no sentence; expected one a line")
    counts = replace(counts, n_changed=text.n_changed)
    by_state: dict[str, Perplexity] = {state: Perplexity(counts, sums[state]) for state in states}
    signatures = _signatures(text, run=run, options=options, speller=speller)
    result = Evaluation(str(text.path), counts, by_state, signatures, spelling=spelling)
    if not reader.log_z.n_tokens:
        return result
    return replace(result, log_z_mean=reader.log_z.mean, log_z_variance=reader.log_z.variance)


def _log10_probs(nlls: Nlls) -> Log10s:
    log10s: Log10s = 0.0 - nlls.astype(np.float64) / math.log(10)  # never -0
    return log10s


def _require_numbers(log10s: Log10s, *, text: ReadText, run: LoadedRun) -> None:
    n_wrong = int((~np.isfinite(log10s)).sum())
    if n_wrong:
        raise DataError(
            f"{run.path}: the model is broken: {n_wrong} of {len(log10s)} log probabilities in "
            f"{display_name(text.path)} are NaN or infinite; expected numbers; train it again"
        )


def _sentences(
    block: list[list[str]], words: list[npt.NDArray[np.int64]], log10s: Log10s
) -> Iterator[ScoredSentence]:
    start = 0
    for words_read, predicted in zip(block, words, strict=True):
        end = start + len(predicted)
        word_ids = tuple(predicted[:-1].tolist())
        known = tuple(number != UNK for number in word_ids)
        yield ScoredSentence(tuple(words_read), word_ids, known, tuple(log10s[start:end].tolist()))
        start = end


def _signatures(
    text: ReadText, *, run: LoadedRun, options: EvaluateOptions, speller: OpenVocabulary | None
) -> dict[str, str]:
    return {
        state: signature(
            text,
            model_sha256=run.weights_sha256,
            vocabulary_sha256=run.inventory.sha256,
            split="" if options.data is None else options.split or SPLIT,
            state=state,
            oov_input=run.oov_input,
            precision=options.precision,
            speller_sha256=speller.sha256 if speller else "",
        )
        for state in options.states
    }
