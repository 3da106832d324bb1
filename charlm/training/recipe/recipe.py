"""The recipe: how a model is trained, apart from what it is.

The loss is a sum over a chunk with an explicit divisor, so that rates and norms keep their meaning:
`streams` is Kim et al.'s (sum over the steps, mean over the streams; with sentences the sum over a
sentence, mean over sentences), `tokens` the mean over both.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from charlm.errors import ConfigError
from charlm.model.contract import Output
from charlm.settings import Count, Family, Range, Settings, build_part, checked
from charlm.training.recipe.averaging import AVERAGINGS, Averaging
from charlm.training.recipe.batching import BATCHINGS, SentenceBatching, StreamBatching
from charlm.training.recipe.criteria import CRITERIA, Criterion
from charlm.training.recipe.initialisation import INITIALISATIONS, Initialisation
from charlm.training.recipe.optimisers import OPTIMISERS, Optimiser
from charlm.training.recipe.schedules import SCHEDULES, Schedule

Divisor = Literal["streams", "tokens"]
Weight = Annotated[float, Range(0.0, 1e3)]
OovInput = Literal["unk", "spelling"]
Temperature = Literal["one", "valid"]

FAMILIES = {
    "initialisation": Family("initialisation", Initialisation, INITIALISATIONS),
    "criterion": Family("criterion", Criterion, CRITERIA),
    "optimiser": Family("optimiser", Optimiser, OPTIMISERS),
    "schedule": Family("schedule", Schedule, SCHEDULES),
    "averaging": Family("averaging", Averaging, AVERAGINGS),
    "batching": Family("batching", StreamBatching, BATCHINGS),
}
SCALARS: dict[str, tuple[Any, Any]] = {  # name: (annotation, default)
    "epochs": (Annotated[int, Range(1, 100_000)], 25),
    "batch_size": (Annotated[int, Range(1, 65_536)], 20),
    "bptt": (Annotated[int, Range(1, 65_536)], 35),
    "divisor": (Divisor, "streams"),
    "clip": (Annotated[float, Range(0.0, 1e9)], 5.0),
    "oov_input": (OovInput, "spelling"),
    "activation_penalty": (Weight, 0.0),
    "temporal_penalty": (Weight, 0.0),
    "past_decode_penalty": (Weight, 0.0),
    "patience": (Count, 0),
    "temperature": (Temperature, "one"),
}


@dataclass(frozen=True)
class Recipe:
    """A recipe with its parts built."""

    epochs: int
    batch_size: int  # streams or sentences side by side
    bptt: int  # steps of a chunk, through which gradients flow
    divisor: Divisor
    clip: float  # largest norm of the whole gradient; 0 turns clipping off
    oov_input: OovInput
    activation_penalty: float
    temporal_penalty: float
    past_decode_penalty: float
    patience: int  # epochs without a better validation perplexity that end a training; 0: none do
    temperature: Temperature  # of the kept softmax: as trained, or the best on the validation text
    initialisation: Initialisation
    criterion: Criterion
    optimiser: Optimiser
    schedule: Schedule
    averaging: Averaging
    batching: StreamBatching | SentenceBatching

    def check(self, output: Output) -> None:
        """Raises ConfigError if an output cannot be trained, or not kept, as this recipe says."""
        self.criterion.check(output)
        if self.past_decode_penalty and not output.vector_dim:
            raise ConfigError(
                "option 'past_decode_penalty' of recipe: the output has no single table of word "
                "vectors; expected softmax, composed or mixture; set output.type=softmax, or take 0"
            )
        if self.temperature == "valid" and not output.score_parameters():
            raise ConfigError(
                "option 'temperature' of recipe is 'valid': the output's word vectors are an "
                "encoder's, which no temperature may divide; expected 'one' with it; use --set "
                "recipe.temperature=one, or output.type=softmax"
            )
        if self.temperature == "valid" and self.criterion.is_self_normalised:
            raise ConfigError(
                "option 'temperature' of recipe is 'valid': a temperature undoes what the "
                "criterion trains, scores that need not be normalised; expected 'one' with it; "
                "use --set recipe.temperature=one, or criterion cross-entropy"
            )


def build_recipe(settings: Any) -> tuple[Recipe, Settings]:
    """The recipe, and its settings with all defaults filled in.

    Raises:
        ConfigError: an unknown option or part, or a wrong value.
    """
    if not isinstance(settings, dict):
        raise ConfigError(f"recipe: found {settings!r:.60}; expected an object")
    for option in settings:
        if option not in SCALARS and option not in FAMILIES:
            raise ConfigError(
                f"recipe has no option {option!r}; it takes {', '.join((*SCALARS, *FAMILIES))}"
            )
    values = {
        name: checked(settings.get(name, default), kind, where=f"option {name!r} of recipe")
        for name, (kind, default) in SCALARS.items()
    }
    resolved: Settings = dict(values)
    for name, family in FAMILIES.items():
        default = {"type": next(iter(family.table))}
        wanted = settings.get(name, default)
        if isinstance(wanted, dict):
            wanted = {**default, **wanted} if "type" not in wanted else wanted
        values[name], resolved[name] = build_part(family, wanted)
    return Recipe(**values), resolved
