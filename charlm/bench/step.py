"""Steps of a decoder's beam, against the bare matrix products that they cannot do without.

The products are those of the LSTM's states and of the softmax, with weights of the same shapes: the
first layer's product with a word's vector is cached by word, and was computed before. The
vocabulary is that of a generated text like the PTB, 10,000 words, and every row reads another word.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from charlm.bench.bench_options import StepBenchOptions
from charlm.bench.machine import description, finished
from charlm.bench.text import sentences
from charlm.bench.timing import Measured, in_turns
from charlm.errors import ConfigError
from charlm.interface.options import keywords
from charlm.model.build import build_model
from charlm.model.contexts.lstm import LSTM
from charlm.model.language_model import LanguageModel
from charlm.model.outputs.softmax import Softmax
from charlm.presets import preset
from charlm.runtime import pick_device, set_threads
from charlm.scoring.decoding.run_steps import RunSteps
from charlm.scoring.decoding.states import StatefulModel
from charlm.text.vocabulary.vocabulary import inventory_of

STEPS, PRODUCTS = "step", "matrix products"
WORDS_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class StepBench(Measured):
    arch: str
    n_words: int
    n_rows: int
    n_steps: int  # of a repetition
    machine: str
    derived = ("ratio", "seconds_per_row")

    @property
    def ratio(self) -> float:
        """A step over its products, in processor seconds, which other work affects less."""
        steps, products = self.timings[STEPS], self.timings[PRODUCTS]
        return steps.median_processor / products.median_processor

    @property
    def seconds_per_row(self) -> float:
        """The median time of one step, divided by its rows."""
        return self.timings[STEPS].median / self.n_steps / self.n_rows


@keywords(StepBenchOptions)
def bench_step(options: StepBenchOptions) -> StepBench:
    """Measure how fast a beam advances by one word under an untrained model.

    Raises:
        ConfigError: an unknown preset, or one of other parts than an LSTM and a softmax.
    """
    set_threads(options.threads)
    device = pick_device(options.device)
    inventory = inventory_of(sentences(0, is_full=True))
    torch.manual_seed(options.seed)
    model, _ = build_model(preset(options.arch), inventory)
    model.to(device).eval()
    steps = RunSteps(model, inventory, oov_input="unk", source=options.arch)
    stateful = StatefulModel(steps)
    words = np.random.default_rng(options.seed).permutation(inventory.words[2:]).tolist()
    for first in range(0, len(words), WORDS_AT_ONCE):  # every word's vector is made once
        some = words[first : first + WORDS_AT_ONCE]
        stateful.step(stateful.start(len(some)), some)
    rows = [words[k % len(words)] for k in range(options.rows)]
    state = stateful.step(stateful.start(options.rows), rows).state
    multiply = _products(model, n_rows=options.rows, device=device)

    def run() -> None:
        for _ in range(options.steps):
            stateful.step(state, rows)
        finished(device)

    def run_products() -> None:
        for _ in range(options.steps):
            multiply()
        finished(device)

    timings = in_turns({STEPS: run, PRODUCTS: run_products}, repetitions=options.repetitions)
    return StepBench(
        arch=options.arch,
        n_words=inventory.n_words,
        n_rows=options.rows,
        n_steps=options.steps,
        n_tokens=options.rows * options.steps,
        machine=description(device),
        timings=timings,
    )


def _products(
    model: LanguageModel, *, n_rows: int, device: torch.device
) -> Callable[[], list[Tensor]]:
    """The products of one step, of ones."""
    context, output = model.context, model.output
    if not isinstance(context, LSTM) or not isinstance(output, Softmax) or output.projection:
        raise ConfigError(
            "bench step: knows the products of an LSTM and a plain softmax alone; expected "
            "such a preset; take --arch char-small"
        )
    shapes = [(output.words.in_features, output.words.out_features)]
    for layer, (input_dim, dim) in enumerate(pairwise(context.widths)):
        shapes += [(dim, 4 * dim)] + ([(input_dim, 4 * dim)] if layer else [])
    pairs = [
        (torch.ones(n_rows, n_in, device=device), torch.ones(n_out, n_in, device=device))
        for n_in, n_out in shapes
    ]
    return lambda: [x_BH @ weights.t() for x_BH, weights in pairs]
