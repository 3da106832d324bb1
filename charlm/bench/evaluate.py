"""Evaluation: the perplexity of a text as `charlm eval` computes it, against the naive way.

Ours includes encoding the vocabulary, once; the naive path puts every token through the CNN. Both
are fp32 and carry their state along one stream. The naive path reads it in chunks of a training's
size, ours in larger ones.
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from charlm.bench.bench_options import EvalBenchOptions
from charlm.bench.flops import forward_flops
from charlm.bench.machine import LIMIT, description, finished, product
from charlm.bench.naive import NaiveModel
from charlm.bench.text import corpus
from charlm.bench.timing import Measured, in_turns
from charlm.bench.train import MADE_TOKENS, NAIVE, OURS, trainer_on
from charlm.errors import ConfigError
from charlm.interface.options import keywords
from charlm.model.forms import FormTable
from charlm.model.language_model import LanguageModel
from charlm.presets import preset
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.runtime import pick_device, set_threads
from charlm.scoring.likelihood.nll import FormVectors, streams_nll, validation_perplexity
from charlm.scoring.likelihood.streams import Streams, as_words
from charlm.text.corpus.sentences import split_path
from charlm.text.vocabulary.encoding import EncodedText, Ids, encode_text
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.loop.trainer import Trainer

NAIVE_STEPS = 35  # a chunk, as in training: every token's letters are in memory at once


@dataclass(frozen=True, kw_only=True)
class EvalBench(Measured):
    model: str
    data: str  # `generated` if none was given
    machine: str
    device: str
    threads: int
    n_tokens: int  # of our path: the whole text
    n_naive_tokens: int
    ppl: float
    log10_prob_difference: float  # between the paths, on the tokens of both, a token
    flops: int  # that the whole text needs
    derived = ("speed_up", "peak_flops")

    @property
    def speed_up(self) -> float:
        """How many times faster than the naive path charlm is, per token."""
        ours, naive = self.timings[OURS].median, self.timings[NAIVE].median
        return (naive / self.n_naive_tokens) / (ours / self.n_tokens)

    @property
    def share_of_peak(self) -> float:
        """charlm's operations per second over those of a plain matrix product."""
        return self.flops / self.timings[OURS].median / self.peak_flops

    def paths(self) -> dict[str, dict[str, object]]:
        ours = self.timings[OURS].to_dict(self.n_tokens)
        return {
            OURS: {**ours, "share_of_peak": self.share_of_peak},
            NAIVE: self.timings[NAIVE].to_dict(self.n_naive_tokens),
        }


@dataclass(frozen=True)
class _Subject:
    """A model, and what it reads."""

    model: LanguageModel
    inventory: Inventory
    oov_input: str
    name: str
    text: EncodedText


@keywords(EvalBenchOptions)
def bench_eval(options: EvalBenchOptions) -> EvalBench:
    """Measure how fast test.txt is evaluated by a run, or by an untrained preset.

    Raises:
        ConfigError: an unknown preset, one beside a run, or a model that has no naive path.
        DataError: a run or corpus that is not what was expected.
    """
    _refuse_idle(options)
    n_threads, where = set_threads(options.threads), pick_device(options.device)
    with (
        corpus(options.data, n_tokens=MADE_TOKENS, seed=options.seed) as folder,
        TemporaryDirectory() as stem,
    ):
        subject = _subject(folder, Path(stem), options=options)
        naive = NaiveModel(subject.model).eval()
        table = FormTable(subject.inventory, (*subject.inventory.words, *subject.text.spellings))
        some = subject.text.ids[: options.naive_tokens]
        timings = in_turns(
            {
                OURS: lambda: _ours(subject, subject.text.ids),
                NAIVE: lambda: _naive(subject, naive, table=table, n_tokens=len(some)),
                LIMIT: product(where, "fp32"),
            },
            repetitions=options.repetitions,
        )
        vocabulary = table.forms(np.arange(subject.inventory.n_words))
        difference = np.log(_ours(subject, some)) * len(some)
        difference -= _naive(subject, naive, table=table, n_tokens=len(some))
        return EvalBench(
            model=subject.name,
            data="generated" if options.data is None else str(options.data),
            machine=description(where),
            device=where.type,
            threads=n_threads,
            n_tokens=len(subject.text.ids),
            n_naive_tokens=len(some),
            ppl=_ours(subject, subject.text.ids),
            log10_prob_difference=float(difference / np.log(10) / len(some)),
            flops=forward_flops(subject.model, vocabulary, n_positions=len(subject.text.ids)),
            timings=timings,
        )


def _refuse_idle(options: EvalBenchOptions) -> None:
    """Refuse what says nothing of the model and text that are measured."""
    if options.model is not None and options.arch != EvalBenchOptions.arch:
        raise ConfigError(
            f"--arch {options.arch}: is for an untrained model, and {options.model} is measured; "
            "leave one out"
        )
    is_drawn = options.model is None or options.data is None
    if not is_drawn and options.seed != EvalBenchOptions.seed:
        raise ConfigError(
            f"--seed {options.seed}: neither weights nor text are drawn with --model and --data; "
            "leave it out"
        )


def _subject(folder: Path, stem: Path, *, options: EvalBenchOptions) -> _Subject:
    device = pick_device(options.device)
    source: Trainer | LoadedRun
    if options.model is None:
        settings = preset(options.arch)
        source = trainer_on(
            folder, settings=settings, device=device, precision="fp32", seed=options.seed
        )
        oov_input, name = str(source.recipe.oov_input), f"{options.arch}, untrained"
    else:
        source = load_run(options.model, device=device)
        oov_input, name = source.oov_input, str(source.path)
    path, inventory = split_path(folder, "test"), source.inventory
    text = encode_text(path, inventory, stem=stem / "test", oov_input=oov_input)
    return _Subject(source.model, inventory, oov_input, name, text)


def _ours(subject: _Subject, ids: Ids) -> float:
    """The perplexity."""
    vectors = FormVectors(subject.model, subject.inventory, oov_input=subject.oov_input)
    return validation_perplexity(streams_nll(vectors, ids, spellings=subject.text.spellings))


@torch.no_grad()
def _naive(subject: _Subject, model: NaiveModel, *, table: FormTable, n_tokens: int) -> float:
    """The negative log-probability of the first tokens, in nats."""
    inventory, text = subject.inventory, subject.text
    device = model.words.weight.device
    streams, state, total = Streams(text.ids[:n_tokens], n_streams=1), model.start(1), 0.0
    for first in range(0, streams.length, NAIVE_STEPS):
        inputs, targets = streams.chunk(first, first + NAIVE_STEPS)
        letters_TBL = table.forms(inputs[:, 0]).letters_NL[:, None].to(device)
        words_TB = torch.from_numpy(as_words(targets, inventory.n_words)).to(device)
        nll, state = model.nll(letters_TBL, words_TB, state=state)
        total += float(nll)
    finished(device)
    return total
