"""The training loop: a trainer that can be written down after any step and taken up again.

Whatever the next step depends on is either fixed by the run's settings or in `Position`, the
parameters, the optimiser, the averages, the carried state and torch's generator: that is what a
checkpoint holds.
"""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from charlm.errors import TrainingError
from charlm.model.contract import State, detached
from charlm.model.language_model import LanguageModel
from charlm.run.history import PRETRAINING, best_record
from charlm.runtime import autocast, keep_freed_memory
from charlm.scoring.likelihood.nll import Nlls, nll_sums, perplexity_of
from charlm.text.vocabulary.encoding import EncodedText, Ids
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.loop.gradients import CLIP_MARGIN, settled, shorten, total_norm
from charlm.training.loop.loading import made_ahead
from charlm.training.loop.objective import batch_loss
from charlm.training.loop.progress import Position
from charlm.training.loop.static_step import StaticSteps, static_steps
from charlm.training.loop.validation import validation_chunks
from charlm.training.ranks import ALONE, Ranks
from charlm.training.recipe.averages import Averages
from charlm.training.recipe.batches import Batch, Source
from charlm.training.recipe.past_decode import PastDecoder
from charlm.training.recipe.recipe import Recipe


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
        seed: int,
        ranks: Ranks = ALONE,
    ) -> None:
        keep_freed_memory()
        self.model = model.to(device)
        self.ranks = ranks
        self.recipe = recipe
        self.inventory = inventory
        self.valid_text = valid_text
        self.device = device
        self.precision = precision
        recipe.check(model.output)
        self.batches = recipe.batching.over(
            Source(
                train_text,
                inventory,
                recipe.batch_size,
                recipe.bptt,
                recipe.oov_input,
                seed=seed,
                ranks=ranks,
            )
        )
        self.unigrams_V = unigrams(inventory).to(device)
        self.past_decoder: PastDecoder | None = None
        self.modules: dict[str, nn.Module] = {"model": self.model}  # what is trained, by name
        if recipe.past_decode_penalty:
            self.past_decoder = PastDecoder(model.output.vector_dim, inventory.n_words)
            recipe.initialisation.apply(self.past_decoder)
            self.modules["past_decode"] = self.past_decoder.to(device)
        self.parameters = [p for module in self.modules.values() for p in module.parameters()]
        self.averages = Averages(self.parameters)
        self.optimiser = recipe.optimiser.over(self.parameters)
        self.position = Position(rate=recipe.schedule.first_rate(recipe.optimiser.lr))
        self.state = self.start_state()
        self.batches.begin_epoch(0)
        self.static: StaticSteps | None = static_steps(self)

    def start_state(self) -> State:
        """The carried state at the start of an epoch: as in the paper, but not across epochs."""
        return self.model.context.initial_state(self.recipe.batch_size // self.ranks.size)

    @property
    def is_finished(self) -> bool:
        """Whether all epochs of the recipe are done, or patience has ended.

        Patience begins with the first epoch that reads all that the model is.
        """
        position = self.position
        if position.epoch >= self.recipe.epochs:
            return True
        if not position.history or PRETRAINING in best_record(position.history):
            return False
        return 0 < self.recipe.patience <= position.epoch - position.best_epoch

    def run_epoch(self, after_step: Callable[[], bool]) -> bool:
        """Train to the end of the current epoch; False if `after_step` asked to stop before it.

        Raises:
            TrainingError: the loss or the gradient is NaN or infinite.
        """
        self.begin_epoch()
        clock = time.perf_counter()
        batches = self.batches.from_step(self.position.step)
        for batch in made_ahead(batches) if self.static else batches:
            self.step(batch)
            self.position.seconds += time.perf_counter() - clock
            clock = time.perf_counter()
            is_last = self.position.step == len(self.batches)
            if after_step() and not is_last:
                return False
        self._finish_epoch()
        return True

    def begin_epoch(self) -> None:
        """Draw what the current epoch draws, and at its start begin a state that can learn."""
        self.model.train()
        self.batches.begin_epoch(self.position.epoch)
        self.model.encoder.use_side(self.recipe.schedule.side(self.position.epoch))
        if self.position.step == 0:
            self.state = self.start_state()

    def step(self, batch: Batch) -> None:
        """One update of the parameters."""
        if self.static is None:
            self.gradients(batch)
            self.descend()
        else:
            self.static.step(batch)
        self._average()
        self.position.step += 1
        if self.static is not None and self.static.is_due:
            self.static.settle()

    def descend(self) -> None:
        """Move the parameters along their gradients, shortened where these are longer than allowed.

        Raises:
            TrainingError: the norm of the gradient is NaN or infinite.
        """
        optimiser, longest = self.recipe.optimiser, self.recipe.clip
        gradients = settled(self.parameters, is_sparse=optimiser.is_sparse)
        norm = total_norm(gradients)
        length, rate = float(norm), self.rate
        if not math.isfinite(length):
            self.stop("the gradient", length)
        if 0 < longest < length + CLIP_MARGIN:
            if optimiser.is_linear:  # a shorter step is as good, and spares a pass over them all
                rate *= longest / (length + CLIP_MARGIN)
            else:
                shorten(gradients, longest=longest, norm=norm)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.update()
        self.position.n_clipped += int(0 < longest < length)

    def update(self) -> None:
        """One step of the optimiser, and what the parts make good after it."""
        self.optimiser.step()
        self.model.encoder.after_step()
        self.model.output.after_step()

    @property
    def rate(self) -> float:
        """The rate of the coming step."""
        steps = len(self.batches)
        done = self.position.epoch * steps + self.position.step
        return self.position.rate * self.recipe.schedule.factor(done, self.recipe.epochs * steps)

    def gradients(self, batch: Batch) -> None:
        """Set the parameters' gradients, and carry state, sums and counts on.

        Raises:
            TrainingError: the loss is NaN or infinite.
        """
        batch = batch.to(self.device)
        n_streams = batch.words_TB.shape[1]
        state = self.model.context.initial_state(n_streams) if batch.is_fresh else self.state
        total, nll, state = self.loss(batch, state)
        loss, nll_sum = self.ranks.summed(float(total.detach()), 0.0 if nll is None else float(nll))
        if not math.isfinite(loss):
            self.stop("the loss", loss)
        self.optimiser.zero_grad()
        (total / self.divisor(batch)).backward()
        self.ranks.sum_gradients(self.parameters)
        if not batch.is_fresh:
            self.state = detached(state)
        whole = batch.whole
        self.position.n_tokens += whole.tokens
        if nll is not None:
            self.position.nll += nll_sum
            self.position.nll_tokens += whole.tokens

    def loss(self, batch: Batch, state: State) -> tuple[Tensor, Tensor | None, State]:
        """The loss summed over a batch on the device, its nll if computed, and the state after."""
        with autocast(self.device, self.precision):
            h_TBH, state = self.model.read(
                batch.forms, batch.where_TB, state=state, resets_TB=batch.resets_TB
            )
            return *batch_loss(h_TBH, batch, trainer=self), state

    def divisor(self, batch: Batch) -> int:
        """What the loss of a batch, over all processes, is divided by."""
        return batch.whole.streams if self.recipe.divisor == "streams" else batch.whole.tokens

    def stop(self, what: str, value: float, *, at: str = "") -> NoReturn:
        """Raises TrainingError: this became infinite, or no number, at the coming step."""
        epoch = self.position.epoch + 1
        at = at or f"at step {min(self.position.step + 1, len(self.batches))}"
        clip = "a smaller --set recipe.clip" if self.recipe.clip else "--set recipe.clip=5"
        raise TrainingError(
            f"{what} became {value} in epoch {epoch} {at}; the last good checkpoint is "
            f"kept; try a lower --lr or {clip}"
        )

    def _average(self) -> None:
        """Take the new weights into their averages, where the recipe has begun to."""
        averaging = self.recipe.averaging
        if averaging.begins(self.position.valid_ppls):
            self.averages.update(averaging.weight(self.position.n_averaged))
            self.position.n_averaged += 1

    def _finish_epoch(self) -> None:
        position = self.position
        clock = time.perf_counter()
        valid_ppl = self.validate()
        record: dict[str, Any] = {
            "epoch": position.epoch + 1,
            "rate": position.rate,
            "train_ppl": math.exp(min(position.nll / position.nll_tokens, 700.0)),
            "valid_ppl": valid_ppl,
            "n_tokens": position.n_tokens,
            "clipped": position.n_clipped / len(self.batches),
            "seconds": round(position.seconds, 3),
            "validation_seconds": round(time.perf_counter() - clock, 1),
        }
        if self.recipe.schedule.side(position.epoch) != "both":
            record[PRETRAINING] = 1
        history = [*position.history, record]
        rate = self.recipe.schedule.next_rate(position.rate, [r["valid_ppl"] for r in history])
        self.position = Position(
            epoch=position.epoch + 1, rate=rate, history=history, n_averaged=position.n_averaged
        )
        self.state = self.start_state()

    def validate(self) -> float:
        """Perplexity of the validation text, in fp32, with the weights that are kept.

        Raises:
            TrainingError: it is not a number.
        """
        with self.averages.in_place():
            sums = nll_sums(self.validation_chunks())
        ppl = perplexity_of(*self.ranks.summed(*sums))
        if not math.isfinite(ppl):
            self.stop("the validation perplexity", ppl)
        return ppl

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


def unigrams(inventory: Inventory) -> Tensor:
    """The words' probabilities in the training text, each counted once more, shape (V,)."""
    counts_V = torch.tensor(inventory.counts, dtype=torch.float32) + 1
    return counts_V / counts_V.sum()
