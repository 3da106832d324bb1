"""One update of the parameters, made by Python as it comes: on a CPU, of any part, in any company.

What a trainer asks of a step is a contract here, so that one for a GPU can take its place.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Protocol

from torch.optim import Optimizer

from charlm.model.contract import detached
from charlm.model.language_model import LanguageModel
from charlm.training.loop.gradients import CLIP_MARGIN, gradient_values, shorten, total_norm
from charlm.training.loop.objective import Objective
from charlm.training.loop.progress import Progress
from charlm.training.ranks import ALONE, Ranks
from charlm.training.recipe.batches import Batch


class Step(Protocol):
    """Moves parameters and progress by a batch."""

    runs_ahead: bool  # whether the host need not wait for what is computed

    def take(self, batch: Batch) -> None:
        """One update of the parameters.

        Raises:
            TrainingError: the loss or the gradient is NaN or infinite.
        """

    def settle(self) -> None:
        """Take all steps so far into the position, before it is read or weights are written.

        Raises:
            TrainingError: a loss or a gradient of them is NaN or infinite.
        """

    def probes(self, batches: Iterator[Batch], *, n: int) -> Iterator[Callable[[], object]]:
        """Functions to be timed, some of them to warm up: they move gradients and progress."""


class EagerStep:
    """Loss, gradients and update one after the other, each looked at before the next."""

    runs_ahead = False

    def __init__(
        self,
        objective: Objective,
        optimiser: Optimizer,
        *,
        progress: Progress,
        ranks: Ranks = ALONE,
    ) -> None:
        self.objective = objective
        self.optimiser = optimiser
        self.progress = progress
        self.ranks = ranks

    def take(self, batch: Batch) -> None:
        """One update of the parameters."""
        self.gradients(batch)
        self.descend()
        self.progress.position.step += 1

    def settle(self) -> None:
        """Nothing: every step is in the position at once."""

    def probes(self, batches: Iterator[Batch], *, n: int) -> Iterator[Callable[[], object]]:
        """The gradients of the first n batches."""
        return (partial(self.gradients, batch) for batch in islice(batches, n))

    def gradients(self, batch: Batch) -> None:
        """Set the parameters' gradients, and carry state, sums and counts on.

        Raises:
            TrainingError: the loss is NaN or infinite.
        """
        objective, progress, position = self.objective, self.progress, self.progress.position
        batch = batch.to(objective.device)
        context, n_streams = objective.model.context, batch.words_TB.shape[1]
        state = context.initial_state(n_streams) if batch.is_fresh else progress.state
        total, nll, state = objective.loss(batch, state, step=position.step)
        loss, nll_sum = self.ranks.summed(float(total.detach()), 0.0 if nll is None else float(nll))
        if not math.isfinite(loss):
            progress.stop("the loss", loss)
        self.optimiser.zero_grad()
        (total / objective.divisor(batch)).backward()
        self.ranks.sum_gradients(objective.parameters)
        if not batch.is_fresh:
            progress.state = detached(state)
        whole = batch.whole
        position.n_tokens += whole.tokens
        if nll is not None:
            position.nll += nll_sum
            position.nll_tokens += whole.tokens

    def descend(self) -> None:
        """Move the parameters along their gradients, shortened where these are longer than allowed.

        Raises:
            TrainingError: the norm of the gradient is NaN or infinite.
        """
        recipe, progress = self.objective.recipe, self.progress
        optimiser, longest = recipe.optimiser, recipe.clip
        gradients = gradient_values(self.objective.parameters, is_sparse=optimiser.is_sparse)
        norm = total_norm(gradients)
        length, rate = float(norm), progress.rate
        if not math.isfinite(length):
            progress.stop("the gradient", length)
        if 0 < longest < length + CLIP_MARGIN:
            if optimiser.is_linear:  # a shorter step is as good, and spares a pass over them all
                rate *= longest / (length + CLIP_MARGIN)
            else:
                shorten(gradients, longest=longest, norm=norm)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        update(self.objective.model, self.optimiser)
        progress.position.n_clipped += int(0 < longest < length)


def update(model: LanguageModel, optimiser: Optimizer) -> None:
    """One step of the optimiser, and what the parts make good after it."""
    optimiser.step()
    model.encoder.after_step()
    model.output.after_step()
