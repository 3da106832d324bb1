"""The loss that a training minimises: the criterion plus the penalties.

Everything stays on the device; the caller decides whether to read a number back.
"""

import torch
from torch import Tensor, nn

from charlm.model.contract import State
from charlm.model.language_model import LanguageModel
from charlm.run.folder import OFTEN
from charlm.runtime import autocast
from charlm.text.vocabulary.vocabulary import Inventory
from charlm.training.recipe.batching import Batch, StreamBatching
from charlm.training.recipe.penalties import PastDecoder, activation_penalty, temporal_penalty
from charlm.training.recipe.recipe import Recipe

NLL_EVERY = 20  # steps between nll computations, if the criterion does not give the nll
MANY_WORDS = 50_000  # with twice as many words the nll is computed half as often: it costs more


class Objective:
    """The loss of a model under a recipe, and all its modules with parameters, by name."""

    def __init__(
        self,
        model: LanguageModel,
        recipe: Recipe,
        *,
        inventory: Inventory,
        device: torch.device,
        precision: str,
    ) -> None:
        recipe.check(model.output)
        self.model = model.to(device)
        self.recipe = recipe
        self.device = device
        self.precision = precision
        self.unigrams_V = unigrams(inventory).to(device)
        self.nll_every = NLL_EVERY * max(1, inventory.n_words // MANY_WORDS)
        # Without a mask a chunk is cut wherever a stream is reset. On a CPU that takes longer from
        # the first reset on (recipes/bench); on a GPU a mask takes several launches a step.
        batching = recipe.batching
        is_often_cut = isinstance(batching, StreamBatching) and batching.reset >= OFTEN
        self.masks_resets = model.context.takes_masks and (is_often_cut or device.type == "cpu")
        self.past_decoder: PastDecoder | None = None
        self.modules = nn.ModuleDict({"model": self.model})
        if recipe.past_decode_penalty:
            self.past_decoder = PastDecoder(model.output.vector_dim, inventory.n_words)
            recipe.initialisation.apply(self.past_decoder)
            self.modules["past_decode"] = self.past_decoder.to(device)
        self.parameters = list(self.modules.parameters())

    def loss(self, batch: Batch, state: State, *, step: int) -> tuple[Tensor, Tensor | None, State]:
        """`loss_of` the context's output for a batch on the device, and the state after it."""
        with autocast(self.device, self.precision):
            h_TBH, state = self.model.read(
                batch.forms,
                batch.where_TB,
                state=state,
                resets_TB=batch.resets_TB,
                keep_TB=batch.keep_TB,
            )
            return *self.loss_of(h_TBH, batch, step=step), state

    def loss_of(self, h_TBH: Tensor, batch: Batch, *, step: int) -> tuple[Tensor, Tensor | None]:
        """The loss summed over the batch, with penalties, and the nll in nats if it was computed.

        If the criterion does not give the nll, it is computed only at some steps of an epoch.
        """
        recipe, output = self.recipe, self.model.output
        h_NH, words_N = (_to_predict(each, batch) for each in (h_TBH, batch.words_TB))
        losses = recipe.criterion.losses(h_NH, words_N, output=output, unigrams_V=self.unigrams_V)
        total = losses.loss_N.sum()
        exists_TB = None if batch.is_full else batch.words_TB >= 0
        if recipe.activation_penalty and batch.own.tokens:
            penalty = activation_penalty(h_TBH, exists_TB)
            total = total + recipe.activation_penalty * batch.own.tokens * penalty
        if recipe.temporal_penalty:
            penalty = temporal_penalty(h_TBH, exists_TB)
            total = total + recipe.temporal_penalty * batch.temporal_weight * penalty
        if self.past_decoder is not None:
            fed_TB = batch.forms.words_N[batch.where_TB]
            if exists_TB is not None:
                fed_TB = fed_TB.where(exists_TB, -1)
            nll_N = self.past_decoder(h_NH, _to_predict(fed_TB, batch), output=output)
            total = total + recipe.past_decode_penalty * nll_N.sum()
        if losses.nll_N is not None:
            return total, losses.nll_N.detach().sum()
        if step % self.nll_every:
            return total, None
        with torch.no_grad():
            return total, output.nll(h_NH.detach(), words_N).sum()

    def divisor(self, batch: Batch) -> int:
        """The divisor of a batch's loss, counted over all processes."""
        return batch.whole.streams if self.recipe.divisor == "streams" else batch.whole.tokens


def _to_predict(numbers_TB: Tensor, batch: Batch) -> Tensor:
    """The numbers at each position, (N, …), or only at those with a word to predict."""
    numbers_N, words_N = numbers_TB.flatten(0, 1), batch.words_TB.flatten()
    if batch.predicts_padding or not batch.own.tokens:
        return numbers_N
    return numbers_N.index_select(0, (words_N >= 0).nonzero()[:, 0])


def unigrams(inventory: Inventory) -> Tensor:
    """The words' probabilities in the training text, with 1 added to each count, shape (V,)."""
    counts_V = torch.tensor(inventory.counts, dtype=torch.float32) + 1
    return counts_V / counts_V.sum()


def draw_weights(model: LanguageModel, recipe: Recipe, *, inventory: Inventory) -> None:
    """Initialise a model as a recipe says, and restore the values that training must not change."""
    recipe.initialisation.apply(model)
    if recipe.criterion.is_self_normalised:
        model.output.start_from(unigrams(inventory).log())
    model.encoder.after_step()
    model.output.after_step()
