"""The softmax temperature: a divisor of the scores, set on the validation text after training.

All scores that a softmax normalises are divided: in a two-level softmax those of both levels, in a
mixture those of each component, while the mixture weights stay. A temperature is refused where the
scores are products with an encoder's vectors and no linear map of the output's own precedes them.
The temperature is multiplied into the stored weights, so no command has to know of it.
model.safetensors records it, since applying it twice would give another model.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from charlm.model.contract import Output
from charlm.model.language_model import LanguageModel
from charlm.run.folder import MODEL
from charlm.run.stored_weights import load_run, read_tensors, save_best
from charlm.scoring.likelihood.nll import Nlls, validation_perplexity
from charlm.text.perplexity.perplexity import shown_ppl
from charlm.text.vocabulary.encoding import Ids
from charlm.training.loop.trainer import Trainer
from charlm.training.loop.validation import validation_chunks

# 1/T from 1/2 to 2: the total nll is nearly a parabola over 1/T, unlike over T or log T.
STEP = 1 / 6
TRIED = tuple(number / 6 for number in range(3, 13))


def set_temperature(
    trainer: Trainer,
    folder: Path,
    *,
    note: Callable[[str], None],
    check_lock: Callable[[], None] = lambda: None,
) -> bool:
    """Divide the stored model's scores by the temperature that is best on the validation text.

    Returns whether the recipe asks for this and it was not done yet. Melis et al. (2018) choose a
    temperature in this way before they evaluate. It lies between 1/2 and 2, and is 1 if no other
    gives a lower perplexity.
    """
    path = folder / MODEL
    if trainer.recipe.temperature == "one":
        return False
    tensors, meta = read_tensors(path)
    if "temperature" in meta:
        return False
    model = load_run(folder, device=trainer.device).model
    trial = TrialOutput(model.output)
    before = validation_perplexity(
        _chunks(LanguageModel(model.encoder, model.context, trial), trainer)
    )
    temperature = trial.best_temperature()
    trial.multiply_scores(1 / temperature)
    after = validation_perplexity(_chunks(model, trainer))
    check_lock()
    if after < before:
        changed = {"temperature": temperature, "valid_ppl": after}
        save_best(folder, model.state_dict(), meta={**meta, **changed})
        outcome = f"valid ppl {shown_ppl(after)} instead of {shown_ppl(before)}"
    else:
        temperature = 1.0
        save_best(folder, tensors, meta={**meta, "temperature": temperature})
        outcome = f"valid ppl {shown_ppl(before)}, which no other makes lower"
    note(f"softmax temperature {temperature:.2f}: {outcome}")
    return True


def _chunks(model: LanguageModel, trainer: Trainer) -> Iterator[tuple[Nlls, Ids]]:
    return validation_chunks(
        model, trainer.valid_text, inventory=trainer.inventory, recipe=trainer.recipe
    )


class TrialOutput(Output):
    """An output that sums its words' nll at each temperature, in one pass over the text."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self.output = output
        self.trained = [parameter.detach().clone() for parameter in output.score_parameters()]
        self.totals = [0.0] * len(TRIED)  # nats

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        for k, factor in enumerate(TRIED):
            self.multiply_scores(factor)
            self.totals[k] += float(self.output.nll(h_NH, words_N).double().sum())
        self.multiply_scores(1.0)
        return self.output.nll(h_NH, words_N)

    @torch.no_grad()
    def multiply_scores(self, factor: float) -> None:
        """Set the output's scores to the trained ones multiplied by `factor`."""
        for parameter, trained in zip(self.output.score_parameters(), self.trained, strict=True):
            parameter.copy_(trained * factor)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        return self.output.log_probs(h_NH)

    def best_temperature(self) -> float:
        """The minimum of the parabola over 1/T through the lowest total and its neighbours."""
        lowest = min(range(len(TRIED)), key=self.totals.__getitem__)
        k = min(max(lowest, 1), len(TRIED) - 2)
        left, middle, right = self.totals[k - 1 : k + 2]
        curvature = left - 2 * middle + right
        if not curvature > 0:  # possible in a mixture
            return 1 / TRIED[lowest]
        vertex = TRIED[k] + STEP * (left - right) / (2 * curvature)
        return 1 / min(max(vertex, TRIED[0]), TRIED[-1])
