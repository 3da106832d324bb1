"""Perplexities of texts under a run's model, with state carried or sentence by sentence.

A text is read once, in blocks of bounded size, by both states in step: a pipe will do, and memory
depends on its longest line alone. Of several processes the first reads, and the others help with
sentences. Nats end here; what comes out is log10.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from charlm.errors import ConfigError, DataError
from charlm.processes.command import First, Machine, run_command
from charlm.processes.group import EVALUATION, Group, WorkerPool
from charlm.run.store import LoadedRun, load_run
from charlm.run.which import which_run
from charlm.runtime import autocast, pick_device, pick_precision
from charlm.scoring.evaluation.state_blocks import BlockReader, Blocks
from charlm.scoring.likelihood.log_z import MeteredOutput
from charlm.scoring.likelihood.nll import FormVectors, Nlls
from charlm.scoring.likelihood.open_vocabulary import OpenVocabulary
from charlm.scoring.likelihood.streams import as_words
from charlm.text.corpus.hashed_text import ReadText
from charlm.text.corpus.sentences import blocks, split_path
from charlm.text.corpus.tokens import END_WORD, UNK
from charlm.text.io.files import display_name
from charlm.text.io.lines import TEXT, UTF8, LineRules
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

STATES: dict[str, tuple[str, ...]] = {
    "both": ("carried", "sentence"),
    "carried": ("carried",),
    "sentence": ("sentence",),
}
SELF_NORMALISED = ("self-normalised", "nce")  # criteria
BLOCK = 1 << 16  # tokens held in memory at a time, or one sentence if it is longer

StateName = Literal["both", "carried", "sentence"]
Log10s = npt.NDArray[np.float64]


def evaluate(
    model: str | Path | None = None,
    *,
    files: str | Path | Sequence[str | Path] = (),
    data: str | Path | None = None,
    split: Literal["train", "valid", "test"] | None = None,
    state: StateName = "both",
    raw: bool = False,
    open_vocabulary: bool = False,
    encoding: str = UTF8,
    device: str = "auto",
    precision: str = "fp32",
    threads: int | None = None,
    gpus: str | None = None,
    processes: int | None = None,
    on_sentence: Callable[[ScoredSentence], None] | None = None,
    on_text: Callable[[Evaluation], None] | None = None,
) -> tuple[Evaluation, ...]:
    """The perplexities of each of `files`, or of one split of a corpus directory (test if None).

    `model` is a run directory, else $CHARLM_MODEL, else the newest finished run under exp/.
    The run's text normalisation is applied to every line unless `raw`. `on_sentence` hears of each
    sentence, scored in the first state asked for, `on_text` of each text when it is finished.
    `open_vocabulary` adds figures in which words outside the vocabulary are spelled by the run's
    speller; what `on_sentence` hears are the probabilities of `<unk>` all the same.
    A result's `n_oov` counts every word whose target is `<unk>`, those written so included.
    `gpus` (as "0,1") starts a process for each GPU, `processes` as many on the CPU, and they divide
    the sentences among them. Under torchrun the first process evaluates as asked, and the others
    beside it, whatever their options are; all return the same.

    Raises:
        ConfigError: neither files nor data, or both; a split of files; a device or precision that
            is not there; an open vocabulary and no speller.
        DataError: a text or run that is not what was expected; a model that gives no numbers.
        ProcessError: another process ended.
    """

    def lead(first: First[Group]) -> tuple[Evaluation, ...]:
        states = STATES[state]
        texts = [files] if isinstance(files, str | Path) else files
        paths = _paths(texts, data=data, split=split)
        where = pick_device(first.device)
        number_format = pick_precision(precision, where)
        rules = replace(TEXT, encoding=encoding)
        run = load_run(which_run(model), device=where)
        speller = OpenVocabulary.of_run(run) if open_vocabulary else None
        part = "" if texts else split or "test"
        job = _Job(run, states, raw, part, number_format, speller, on_sentence, rules)
        group = first.start_others()
        group.from_first(lambda: (run.path, number_format))
        pool = WorkerPool(group, _reader(run, number_format))
        results = []
        for path in paths:
            results.append(_evaluated(path, Blocks(pool, states), job=job))
            if on_text is not None:
                on_text(results[-1])
        pool.dismiss()
        return tuple(results)

    machine = Machine(device, gpus, processes, threads)
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


def _paths(
    files: Sequence[str | Path], *, data: str | Path | None, split: str | None
) -> list[str | Path]:
    if bool(files) == (data is not None):
        found = "both files and --data" if files else "neither files nor --data"
        raise ConfigError(f"found {found}; expected one of them; give either")
    if data is not None:
        return [split_path(data, split or "test")]
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
    return list(files)


@dataclass(frozen=True)
class _Job:
    """What is the same for every text."""

    run: LoadedRun
    states: tuple[str, ...]
    raw: bool
    split: str  # empty where files were given
    precision: str
    speller: OpenVocabulary | None
    on_sentence: Callable[[ScoredSentence], None] | None
    rules: LineRules


def _evaluated(path: str | Path, reader: Blocks, *, job: _Job) -> Evaluation:
    inventory = job.run.inventory
    normalisation = None if job.raw else inventory.normalisation
    text = ReadText(path, normalisation=normalisation, rules=job.rules)
    counts = Counts()
    sums = dict.fromkeys(job.states, Log10Sums())
    spelling = Spelling() if job.speller else None
    for block in blocks(text.sentences(), size=BLOCK):
        form_ids = FormIds(inventory)
        ids = encode_sentences(block, form_ids)
        words = [as_words(each, inventory.n_words) for each in ids]
        for words_read, predicted in zip(block, words, strict=True):
            counts += counts_of(words_read, n_oov=int((predicted == UNK).sum()))
        known = np.concatenate(words) != UNK
        if job.speller and spelling:
            tokens = (token for each in block for token in (*each, END_WORD))
            spelling += spelling_of(compress(tokens, ~known), job.speller)
        nlls = reader.nlls(ids, spellings=form_ids.spellings)
        for state in job.states:
            log10s = _log10_probs(nlls[state])
            _require_numbers(log10s, text=text, run=job.run)
            sums[state] += log10_sums(log10s.tolist(), known.tolist())
            if job.on_sentence is not None and state == job.states[0]:
                for sentence in _sentences(block, words, log10s):
                    job.on_sentence(sentence)
    if not counts.n_sentences:
        raise DataError(f"{display_name(path)}: no sentence; expected one a line")
    counts = replace(counts, n_changed=text.n_changed)
    by_state = {state: Perplexity(counts, sums[state]) for state in job.states}
    result = Evaluation(str(text.path), counts, by_state, _signatures(text, job), spelling=spelling)
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


def _signatures(text: ReadText, job: _Job) -> dict[str, str]:
    run = job.run
    return {
        state: signature(
            model_sha256=run.weights_sha256,
            vocabulary_sha256=run.inventory.sha256,
            data_sha256=text.sha256,
            split=job.split,
            state=state,
            oov_input=run.oov_input,
            normalisation=text.normalisation,
            precision=job.precision,
            speller_sha256=job.speller.sha256 if job.speller else "",
        )
        for state in job.states
    }
