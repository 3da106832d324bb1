"""The training loop: a trainer that can be saved after any step and resumed from there.

Everything that the next step depends on is either fixed by the run's settings or held in
`Progress`, the parameters, the optimiser, the averages and torch's generators. A checkpoint holds
these.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch
from torch import Tensor
from torch.optim import Optimizer

from charlm.model.contract import State
from charlm.model.language_model import LanguageModel
from charlm.runtime import GRAPHS, keep_freed_memory, return_freed_memory
from charlm.scoring.likelihood.nll import Nlls, nll_sums, perplexity_of
from charlm.text.vocabulary.encoding import EncodedText, Ids
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.loop.graph_step import GraphStep, Recorded, is_capturable
from charlm.training.loop.objective import Objective
from charlm.training.loop.progress import Position, Progress
from charlm.training.loop.step import EagerStep
from charlm.training.loop.validation import validation_chunks
from charlm.training.ranks import ALONE, Ranks
from charlm.training.recipe.averaging import Averages
from charlm.training.recipe.batching import Batch, BatchSource
from charlm.training.recipe.recipe import Recipe

# Steps after which freed memory that was kept is returned to the system. Small lasting allocations
# between large temporary ones let it grow by 10 MB per step of word-char-modern; returning it took
# 0.11 s, a tenth of a step.
RETURN_EVERY = 200


class ValidationStoppedError(Exception):
    """A validation was stopped early; this changes nothing, since it is repeated later."""


class Trainer:
    """A model, its optimiser and their progress."""

    def __init__(
        self,
        model: LanguageModel,
        recipe: Recipe,
        *,
        inventory: Inventory,
        train_text: EncodedText,
        valid_text: EncodedText,
        device: torch.device,
        precision: str,
        seed: int,
        ranks: Ranks = ALONE,
    ) -> None:
        keep_freed_memory()
        self.model = model
        self.ranks = ranks
        self.recipe = recipe
        self.inventory = inventory
        self.valid_text = valid_text
        self.device = device
        self.precision = precision
        self.objective = Objective(
            model, recipe, inventory=inventory, device=device, precision=precision
        )
        self.parameters = self.objective.parameters
        self.batches = recipe.batching.over(
            BatchSource(
                train_text,
                inventory,
                recipe.batch_size,
                recipe.bptt,
                recipe.oov_input,
                seed=seed,
                ranks=ranks,
                input_noise=recipe.input_noise,
            )
        )
        self.averages = Averages(self.parameters)
        self.optimiser = recipe.optimiser.over(self.parameters)
        self.progress = Progress(recipe, n_steps=len(self.batches), state=self.start_state())
        self.batches.begin_epoch(0)
        self.is_stopped: Callable[[], bool] = lambda: False  # called within a validation
        self.stepping = step_of(self.objective, self.optimiser, progress=self.progress, ranks=ranks)

    @property
    def position(self) -> Position:
        """How far the training has come."""
        return self.progress.position

    def start_state(self) -> State:
        """The state at the start of an epoch: the initial one.

        The state is carried as in the paper, but not across epochs.
        """
        return self.model.context.initial_state(self.recipe.batch_size // self.ranks.size)

    def run_epoch(self, after_step: Callable[[], bool]) -> bool:
        """Train to the end of the current epoch; False if training was stopped before it.

        It stops if `after_step` returns True after any step but the last, or `is_stopped` within
        the validation.

        Raises:
            TrainingError: the loss or the gradient is NaN or infinite.
        """
        self.begin_epoch()
        clock = time.perf_counter()
        batches = self.batches.from_step(self.position.step)
        for batch in made_ahead(batches) if self.stepping.runs_ahead else batches:
            self.step(batch)
            self.position.seconds += time.perf_counter() - clock
            clock = time.perf_counter()
            if self.position.step % RETURN_EVERY == 0:
                return_freed_memory()
            is_last = self.position.step == len(self.batches)
            if after_step() and not is_last:
                return False
        clock = time.perf_counter()
        try:
            valid_ppl = self.validate()
        except ValidationStoppedError:
            return False
        self.progress.end_epoch(valid_ppl, validation_seconds=time.perf_counter() - clock)
        self.progress.state = self.start_state()
        return True

    def begin_epoch(self) -> None:
        """Make the epoch's random draws; at its start, begin with a state that can be learned."""
        self.model.train()
        self.batches.begin_epoch(self.position.epoch)
        self.model.encoder.use_side(self.progress.side)
        if self.position.step == 0:
            self.progress.state = self.start_state()

    def step(self, batch: Batch) -> None:
        """One update of the parameters, and of their averages if averaging has begun."""
        self.stepping.take(batch)
        averaging, position = self.recipe.averaging, self.position
        if averaging.begins(position.complete_ppls):
            self.averages.update(averaging.weight(position.n_averaged))
            position.n_averaged += 1

    def validate(self) -> float:
        """Perplexity of the validation text, in fp32, with the weights that are kept.

        Raises:
            TrainingError: it is NaN or infinite.
            ValidationStoppedError: `is_stopped` returned True.
        """
        with self.averages.in_place():
            sums = nll_sums(self._unless_stopped(self.validation_chunks()))
        ppl = perplexity_of(*self.ranks.summed(*sums))
        if not math.isfinite(ppl):
            self.progress.stop("the validation perplexity", ppl)
        return ppl

    def _unless_stopped(self, chunks: Iterator[tuple[Nlls, Ids]]) -> Iterator[tuple[Nlls, Ids]]:
        for chunk in chunks:
            if self.is_stopped():
                raise ValidationStoppedError
            yield chunk

    def validation_chunks(self) -> Iterator[tuple[Nlls, Ids]]:
        """nll_TB in nats and form ids of this process's share of the validation text."""
        return validation_chunks(
            self.model,
            self.valid_text,
            inventory=self.inventory,
            recipe=self.recipe,
            columns=self.ranks.columns,
        )

    def generator_states(self) -> dict[str, Tensor]:
        """The states of the generators that dropout uses."""
        states = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        return states

    def set_generator_states(self, states: dict[str, Tensor]) -> None:
        """Restore the generators that dropout uses."""
        torch.set_rng_state(states["cpu"])
        if self.device.type == "cuda" and "cuda" in states:
            torch.cuda.set_rng_state(states["cuda"], self.device)


def step_of(
    objective: Objective, optimiser: Optimizer, *, progress: Progress, ranks: Ranks
) -> EagerStep | GraphStep:
    """Recorded steps where that is possible, which takes a single GPU; eager steps otherwise."""
    may_record = objective.device.type == "cuda" and os.environ.get(GRAPHS) != "0"
    if may_record and ranks.size == 1 and is_capturable(objective, optimiser):
        record = partial(Recorded, pool=torch.cuda.graph_pool_handle())
        return GraphStep(objective, optimiser, progress=progress, record=record)
    return EagerStep(objective, optimiser, progress=progress, ranks=ranks)


def made_ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, with the next one prepared by a thread while a step is computed.

    The thread works only on the host, since CUDA calls from a second thread disturb a recording.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as maker:
        coming = maker.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = maker.submit(next, batches, None)
            yield batch
