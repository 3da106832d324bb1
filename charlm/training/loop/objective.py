"""The loss of a batch: the criterion, and the penalties beside it.

Everything stays on the device: whether a number is read back is the caller's business.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from charlm.training.recipe.batches import Batch
from charlm.training.recipe.penalties import activation_penalty, temporal_penalty

if TYPE_CHECKING:
    from charlm.training.loop.trainer import Trainer

NLL_EVERY = 20  # steps, where the criterion gives no negative log-probability by itself
MANY_WORDS = 50_000  # twice as many are asked for half as often: a sum over all costs that much


def batch_loss(h_TBH: Tensor, batch: Batch, *, trainer: "Trainer") -> tuple[Tensor, Tensor | None]:
    """The loss summed over the batch, penalties included, and its nll in nats if computed."""
    recipe, output = trainer.recipe, trainer.model.output
    h_NH, words_N = (_to_predict(each, batch) for each in (h_TBH, batch.words_TB))
    losses = recipe.criterion.losses(h_NH, words_N, output=output, unigrams_V=trainer.unigrams_V)
    total = losses.loss_N.sum()
    exists_TB = None if batch.is_full else batch.words_TB >= 0
    if recipe.activation_penalty and batch.n_tokens:
        penalty = activation_penalty(h_TBH, exists_TB)
        total = total + recipe.activation_penalty * batch.n_tokens * penalty
    if recipe.temporal_penalty:
        penalty = temporal_penalty(h_TBH, exists_TB)
        total = total + recipe.temporal_penalty * batch.temporal_weight * penalty
    if trainer.past_decoder is not None:
        fed_TB = batch.forms.words_N[batch.where_TB]
        if exists_TB is not None:
            fed_TB = fed_TB.where(exists_TB, -1)
        nll_N = trainer.past_decoder(h_NH, _to_predict(fed_TB, batch), output=output)
        total = total + recipe.past_decode_penalty * nll_N.sum()
    if losses.nll_N is not None:
        return total, losses.nll_N.detach().sum()
    every = NLL_EVERY * max(1, trainer.inventory.n_words // MANY_WORDS)
    if trainer.position.step % every:
        return total, None
    with torch.no_grad():
        return total, output.nll(h_NH.detach(), words_N).sum()


def _to_predict(numbers_TB: Tensor, batch: Batch) -> Tensor:
    """What stands at each position, (N, …); where most are padding, at those with a word alone.

    A sentence of 4,600 words beside 19 of 50 took 11 GB for the scores of 8,000 words.
    """
    numbers_N, words_N = numbers_TB.flatten(0, 1), batch.words_TB.flatten()
    if not 0 < batch.n_tokens < len(words_N) / 2:
        return numbers_N
    return numbers_N.index_select(0, (words_N >= 0).nonzero()[:, 0])
