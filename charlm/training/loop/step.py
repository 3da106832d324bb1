"""One update of the parameters, computed eagerly: any device, any parts, any number of ranks.

What a trainer asks of a step is a contract here, so that one for a GPU can take its place.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import islice
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from charlm.model.contract import detached
from charlm.model.language_model import LanguageModel
from charlm.training.loop.objective import Objective
from charlm.training.loop.progress import Progress
from charlm.training.ranks import ALONE, Ranks
from charlm.training.recipe.batching import Batch

CLIP_MARGIN = 1e-6  # torch divides by the norm plus this: below, its factor is exactly 1


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


@dataclass
class EagerStep:
    """Loss, gradients and update one after the other, each looked at before the next."""

    runs_ahead = False
    objective: Objective
    optimiser: Optimizer
    _: KW_ONLY
    progress: Progress
    ranks: Ranks = ALONE

    def take(self, batch: Batch) -> None:
        self.gradients(batch)
        self.descend()
        self.progress.position.step += 1

    def settle(self) -> None:
        """Every step is in the position at once."""

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


def gradient_values(parameters: Sequence[nn.Parameter], *, is_sparse: bool) -> list[Tensor]:
    """The numbers of all gradients, which can be changed in place; of a row-sparse one its rows.

    There each row is there once from now on; or it is dense, where the step to come would move
    rows without a gradient, too, and so is not `is_sparse`.
    """
    numbers = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = _merged(parameter.grad) if is_sparse else parameter.grad.to_dense()
        numbers.append(parameter.grad._values() if parameter.grad.is_sparse else parameter.grad)
    return numbers


def total_norm(gradients: list[Tensor]) -> Tensor:
    """Their norm as that of one vector.

    On a CPU each row's comes first: of 20 million numbers at once the norm took twice as long, and
    was off by 1e-4 of itself, since fp32 lost what was small beside the sum.
    """
    rows = [torch.linalg.vector_norm(g, dim=-1) if g.device.type == "cpu" else g for g in gradients]
    return torch.nn.utils.get_total_norm(rows)


def shorten(gradients: list[Tensor], *, longest: float, norm: Tensor) -> None:
    """Scale gradients of this norm to the longest that is allowed, as `clip_grads_with_norm_`."""
    torch._foreach_mul_(gradients, (longest / (norm + CLIP_MARGIN)).clamp(max=1.0))


def _merged(gradient: Tensor) -> Tensor:
    """A row-sparse gradient with each row once."""
    rows = gradient._indices()[0]
    is_met = torch.zeros(len(gradient), dtype=torch.bool).index_fill_(0, rows, True)
    if int(is_met.sum()) < len(rows):
        return gradient.coalesce()
    # Not in order; but an update asks for none, and sorting them is a copy of them all.
    return gradient._coalesced_(True)
