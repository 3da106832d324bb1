"""One update of the parameters, computed eagerly: any device, any parts, any number of ranks.

Recorded steps on a GPU (`GraphStep`) have the same methods and can take its place in a trainer.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import islice

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from charlm.model.contract import detached
from charlm.model.language_model import LanguageModel
from charlm.training.loop.objective import Objective
from charlm.training.loop.progress import Progress
from charlm.training.ranks import ALONE, Ranks
from charlm.training.recipe.batching import Batch

CLIP_MARGIN = 1e-6  # torch divides by the norm plus this, and caps the factor at 1


@dataclass
class EagerStep:
    """Loss, gradients and update one after the other, each checked before the next."""

    runs_ahead = False  # whether the host can go on before the device has finished
    objective: Objective
    optimiser: Optimizer
    _: KW_ONLY
    progress: Progress
    ranks: Ranks = ALONE

    def take(self, batch: Batch) -> None:
        """One update of the parameters.

        Raises:
            TrainingError: the loss or the gradient is NaN or infinite.
        """
        self.gradients(batch)
        self.descend()
        self.progress.position.step += 1

    def settle(self) -> None:
        """Nothing to do: the position is up to date after every step."""

    def probes(self, batches: Iterator[Batch], *, n: int) -> Iterator[Callable[[], object]]:
        """Functions to be timed: the gradients of the first n batches, which change progress."""
        return (partial(self.gradients, batch) for batch in islice(batches, n))

    def gradients(self, batch: Batch) -> None:
        """Set the parameters' gradients, and update state, sums and counts.

        Raises:
            TrainingError: the loss is NaN or infinite.
        """
        objective, progress, position = self.objective, self.progress, self.progress.position
        batch = (batch.masked() if objective.masks_resets else batch).to(objective.device)
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
        """Update the parameters with their gradients, clipped if these are longer than allowed.

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
            if optimiser.is_linear:  # a lower rate has the same effect and saves a pass over them
                rate *= longest / (length + CLIP_MARGIN)
            else:
                shorten(gradients, longest=longest, norm=norm)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        update(self.objective.model, self.optimiser)
        progress.position.n_clipped += int(0 < longest < length)


def update(model: LanguageModel, optimiser: Optimizer) -> None:
    """One step of the optimiser, followed by the parts' own corrections."""
    optimiser.step()
    model.encoder.after_step()
    model.output.after_step()


def gradient_values(parameters: Sequence[nn.Parameter], *, is_sparse: bool) -> list[Tensor]:
    """The values of all gradients, to be changed in place; for a row-sparse one, those of its rows.

    Afterwards a row-sparse gradient has each row only once. It becomes dense if the optimiser is
    not `is_sparse`, since its step also moves rows without a gradient.
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
    """The norm of all gradients together, as one vector.

    On a CPU the norms of the rows are computed first. The norm of 20 million numbers at once took
    twice as long and had a relative error of 1e-4, since in fp32 small terms were lost beside the
    sum.
    """
    rows = [torch.linalg.vector_norm(g, dim=-1) if g.device.type == "cpu" else g for g in gradients]
    return torch.nn.utils.get_total_norm(rows)


def shorten(gradients: list[Tensor], *, longest: float, norm: Tensor) -> None:
    """Scale gradients of this norm down to the allowed length, as `clip_grads_with_norm_` does."""
    torch._foreach_mul_(gradients, (longest / (norm + CLIP_MARGIN)).clamp(max=1.0))


def _merged(gradient: Tensor) -> Tensor:
    """A row-sparse gradient with each row only once."""
    rows = gradient._indices()[0]
    is_met = torch.zeros(len(gradient), dtype=torch.bool).index_fill_(0, rows, True)
    if int(is_met.sum()) < len(rows):
        return gradient.coalesce()
    # The rows are not sorted, but an update does not need that, and sorting would copy them all.
    return gradient._coalesced_(True)
