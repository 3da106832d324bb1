"""The softmax temperature: what the kept scores are divided by, set on the validation text.

It goes into the kept weights, so no command has to know of it. model.safetensors says that it is
done, since done twice it would be another model.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from torch import Tensor

from charlm.model.contract import Output
from charlm.model.language_model import LanguageModel
from charlm.run.folder import MODEL
from charlm.run.store import load_run
from charlm.run.weights import read_tensors, write_tensors
from charlm.scoring.nll import Nlls, validation_perplexity
from charlm.text.corpus import Ids
from charlm.training.loop import Trainer
from charlm.training.validation import validation_chunks

N_TRIED = 15  # from 1/2 to 2, the middle one 1; what lies between is read off a parabola
STEP = 2 * math.log(2) / (N_TRIED - 1)  # of log T
TRIED = tuple(math.exp(STEP * (k - N_TRIED // 2)) for k in range(N_TRIED))


def set_temperature(trainer: Trainer, folder: Path, *, note: Callable[[str], None]) -> None:
    """Divide the kept model's scores by what serves the validation text best, if asked for.

    Melis et al. (2018) choose one so before they evaluate. It is at least 1/2 and at most 2, and 1
    where no other gives a lower perplexity.
    """
    path = folder / MODEL
    if trainer.recipe.temperature == "one":
        return
    tensors, meta = read_tensors(path)
    if "temperature" in meta:
        return
    model = load_run(folder, device=trainer.device).model
    trial = TrialOutput(model.output)
    before = validation_perplexity(
        _chunks(LanguageModel(model.encoder, model.context, trial), trainer)
    )
    temperature = trial.best_temperature()
    model.output.divide_scores(temperature)
    after = validation_perplexity(_chunks(model, trainer))
    if after < before:
        changed = {"temperature": temperature, "valid_ppl": after}
        write_tensors(path, model.state_dict(), meta={**meta, **changed})
        outcome = f"valid ppl {after:.2f} instead of {before:.2f}"
    else:
        temperature = 1.0
        write_tensors(path, tensors, meta={**meta, "temperature": temperature})
        outcome = f"valid ppl {before:.2f}, which no other makes lower"
    note(f"softmax temperature {temperature:.2f}: {outcome}")


def _chunks(model: LanguageModel, trainer: Trainer) -> Iterator[tuple[Nlls, Ids]]:
    return validation_chunks(
        model, trainer.valid_text, inventory=trainer.inventory, recipe=trainer.recipe
    )


class TrialOutput(Output):
    """An output that sums what its words would have cost at each temperature: one pass for all."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self.output = output
        self.totals = [0.0] * N_TRIED  # nats, at TRIED

    def nll(self, h_NH: Tensor, words_N: Tensor) -> Tensor:
        """As the output's own."""
        exists_N = words_N >= 0
        scores_NV = self.output.scores(h_NH)
        own_N = scores_NV.gather(1, words_N.clamp(min=0)[:, None])[:, 0]
        for k, temperature in enumerate(TRIED):
            nll_N = (scores_NV / temperature).logsumexp(dim=1) - own_N / temperature
            self.totals[k] += float(nll_N[exists_N].double().sum())
        return self.output.nll(h_NH, words_N)

    def log_probs(self, h_NH: Tensor) -> Tensor:
        """As the output's own."""
        return self.output.log_probs(h_NH)

    def best_temperature(self) -> float:
        """Where the parabola through the lowest total and its neighbours over log T is lowest."""
        k = min(range(N_TRIED), key=self.totals.__getitem__)
        if k in (0, N_TRIED - 1):
            return TRIED[k]
        left, middle, right = self.totals[k - 1 : k + 2]
        # The first lowest total is lower than the one before it, so this divides by more than 0.
        offset = (left - right) / (2 * (left - 2 * middle + right))
        return TRIED[k] * math.exp(STEP * offset)
