"""The training loop: a trainer that can be written down after any step and taken up again.

Whatever the next step depends on is either fixed by the run's settings or in `Position`, the
parameters, the optimiser, the carried state and torch's generator: that is what a checkpoint holds.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from charlm.errors import TrainingError
from charlm.model.contract import State, detached
from charlm.model.language_model import LanguageModel
from charlm.runtime import autocast
from charlm.scoring.nll import FormVectors, Nlls, streams_nll, validation_perplexity
from charlm.text.corpus import EncodedText, Ids
from charlm.text.inventory import Inventory
from charlm.training.batches import Batch, StreamBatches
from charlm.training.recipe import Recipe


@dataclass
class Position:
    """How far a training has come; JSON."""

    epoch: int = 0  # epochs finished
    step: int = 0  # steps of the current epoch finished
    rate: float = 0.0
    nll: float = 0.0  # of the current epoch, in nats
    n_tokens: int = 0
    n_clipped: int = 0
    seconds: float = 0.0  # of its steps
    history: list[dict[str, Any]] = field(default_factory=list)  # a record a finished epoch

    @property
    def best_epoch(self) -> int:
        """The epoch of the lowest validation perplexity, the first of equals; 0 before any."""
        return int(min(self.history, key=lambda r: r["valid_ppl"], default={"epoch": 0})["epoch"])


class Trainer:
    """A model, its optimiser and where they stand."""

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
    ) -> None:
        self.model = model.to(device)
        self.recipe = recipe
        self.inventory = inventory
        self.valid_text = valid_text
        self.device = device
        self.precision = precision
        self.batches = StreamBatches(
            train_text,
            inventory,
            batch_size=recipe.batch_size,
            bptt=recipe.bptt,
            oov_input=recipe.oov_input,
        )
        self.parameters = list(model.parameters())
        self.optimiser = recipe.optimiser.over(self.parameters)
        self.position = Position(rate=recipe.optimiser.lr)
        self.state = self.start_state()

    def start_state(self) -> State:
        """The carried state at the start of an epoch: as in the paper, but not across epochs."""
        return self.model.context.initial_state(self.recipe.batch_size)

    @property
    def is_finished(self) -> bool:
        """Whether all epochs of the recipe are done."""
        return self.position.epoch >= self.recipe.epochs

    def run_epoch(self, after_step: Callable[[], bool]) -> bool:
        """Train to the end of the current epoch; False if `after_step` asked to stop before it.

        Raises:
            TrainingError: the loss or the gradient is NaN or infinite.
        """
        self.model.train()
        clock = time.perf_counter()
        for batch in self.batches.from_step(self.position.step):
            self.step(batch)
            self.position.seconds += time.perf_counter() - clock
            clock = time.perf_counter()
            is_last = self.position.step == len(self.batches)
            if after_step() and not is_last:
                return False
        self._finish_epoch()
        return True

    def step(self, batch: Batch) -> None:
        """One update of the parameters."""
        self.gradients(batch)
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip or math.inf))
        if not math.isfinite(norm):
            self._stop("the gradient", norm)
        for group in self.optimiser.param_groups:
            group["lr"] = self.position.rate
        self.optimiser.step()
        self.model.encoder.after_step()
        self.position.n_clipped += int(0 < self.recipe.clip < norm)
        self.position.step += 1

    def gradients(self, batch: Batch) -> None:
        """Set the parameters' gradients, and carry state, sums and counts on.

        Raises:
            TrainingError: the loss is NaN or infinite.
        """
        batch = batch.to(self.device)
        with autocast(self.device, self.precision):
            nll_TB, state = self.model(
                batch.forms, batch.where_TB, words_TB=batch.words_TB, state=self.state
            )
        total = nll_TB.sum()
        loss = float(total.detach())
        if not math.isfinite(loss):
            self._stop("the loss", loss)
        self.optimiser.zero_grad()
        (total / self._divisor(batch)).backward()
        self.state = detached(state)
        self.position.nll += loss
        self.position.n_tokens += batch.n_tokens

    def _divisor(self, batch: Batch) -> int:
        return self.recipe.batch_size if self.recipe.divisor == "streams" else batch.n_tokens

    def _stop(self, what: str, value: float) -> None:
        epoch = self.position.epoch + 1
        step = min(self.position.step + 1, len(self.batches))
        raise TrainingError(
            f"{what} became {value} in epoch {epoch} at step {step}; the last good checkpoint is "
            "kept; try a lower --lr or a smaller --set recipe.clip"
        )

    def _finish_epoch(self) -> None:
        position = self.position
        clock = time.perf_counter()
        valid_ppl = self.validate()
        record = {
            "epoch": position.epoch + 1,
            "rate": position.rate,
            "train_ppl": math.exp(min(position.nll / position.n_tokens, 700.0)),
            "valid_ppl": valid_ppl,
            "n_tokens": position.n_tokens,
            "clipped": position.n_clipped / len(self.batches),
            "seconds": round(position.seconds, 1),
            "validation_seconds": round(time.perf_counter() - clock, 1),
        }
        history = [*position.history, record]
        rate = self.recipe.schedule.next_rate(position.rate, [r["valid_ppl"] for r in history])
        self.position = Position(epoch=position.epoch + 1, rate=rate, history=history)
        self.state = self.start_state()

    def validate(self) -> float:
        """Perplexity of the validation text, in fp32, read as as many streams as the training's.

        Raises:
            TrainingError: it is not a number.
        """
        ppl = validation_perplexity(self.validation_chunks())
        if not math.isfinite(ppl):
            self._stop("the validation perplexity", ppl)
        return ppl

    def validation_chunks(self) -> Iterator[tuple[Nlls, Ids]]:
        """nll_TB in nats and form ids of the validation text, chunk by chunk."""
        text = self.valid_text
        return streams_nll(
            FormVectors(self.model, self.inventory, oov_input=self.recipe.oov_input),
            text.ids,
            spellings=text.spellings,
            n_streams=self.recipe.batch_size,
        )

    def generator_states(self) -> dict[str, Tensor]:
        """What dropout draws from next."""
        states = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        return states

    def set_generator_states(self, states: dict[str, Tensor]) -> None:
        """Draw on from there."""
        torch.set_rng_state(states["cpu"])
        if self.device.type == "cuda" and "cuda" in states:
            torch.cuda.set_rng_state(states["cuda"], self.device)
