"""The recipe: how a model is trained, as opposed to what parts it has.

The loss is a sum over a chunk with an explicit divisor, so that learning rates and norms keep their
meaning. `streams` is Kim et al.'s: sum over the steps, mean over the streams (with sentences: sum
over a sentence, mean over the sentences). `tokens` is the mean over both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from charlm.errors import ConfigError
from charlm.model.contract import Output
from charlm.settings import (
    Count,
    Family,
    Meaning,
    Range,
    Settings,
    build_part,
    checked,
    hint,
    option_names,
    options_of,
)
from charlm.text.vocabulary.encoding import EncodedText
from charlm.training.recipe.averaging import AVERAGINGS, Averaging
from charlm.training.recipe.batching import BATCHINGS, SentenceBatching, StreamBatching
from charlm.training.recipe.criteria import CRITERIA, Criterion
from charlm.training.recipe.initialisation import INITIALISATIONS, Initialisation
from charlm.training.recipe.optimisers import OPTIMISERS, Optimiser
from charlm.training.recipe.schedules import SCHEDULES, Schedule

Weight = Annotated[float, Range(0.0, 1e3)]

STEPS = 200  # per epoch, aimed at if recipe.batch_size is 0
FEWEST, MOST = 8, 64  # streams or sentences side by side in that case
LITTLE = 150_000  # tokens of a text that gains by noise: 20,000 and 100,000 did, 250,000 did not
NOISE = 0.2  # for it, if recipe.input_noise is −1
LEFT_TO_TEXT = {"batch_size": 0, "input_noise": -1}  # by these values

FAMILIES = {
    "initialisation": Family("initialisation", Initialisation, INITIALISATIONS),
    "criterion": Family("criterion", Criterion, CRITERIA),
    "optimiser": Family("optimiser", Optimiser, OPTIMISERS),
    "schedule": Family("schedule", Schedule, SCHEDULES),
    "averaging": Family("averaging", Averaging, AVERAGINGS),
    "batching": Family("batching", StreamBatching, BATCHINGS),
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A recipe with its parts built; its fields are its options."""

    epochs: Annotated[int, Range(1, 100_000), Meaning("passes over the training text")] = 25
    batch_size: Annotated[
        int,
        Range(0, 65_536),
        Meaning(f"streams or sentences per batch; 0: {FEWEST} to {MOST}, fewer for a shorter text"),
    ] = 20
    bptt: Annotated[
        int,
        Range(1, 65_536),
        Meaning("steps per chunk, for truncated backpropagation through time"),
    ] = 35
    divisor: Annotated[
        Literal["streams", "tokens"],
        Meaning("the summed loss is divided by the number of streams, or of tokens"),
    ] = "streams"
    clip: Annotated[float, Range(0.0, 1e9), Meaning("largest gradient norm; 0: no clipping")] = 5.0
    oov_input: Annotated[
        Literal["unk", "spelling"],
        Meaning("input for an unknown word: the unknown-word token, or its spelling"),
    ] = "spelling"
    input_noise: Annotated[
        float,
        Range(-1.0, 0.999),
        Meaning(
            "largest share of a word's input tokens that other words replace in training; "
            f"-1: {NOISE} for a text of up to {LITTLE:,} tokens, 0 for a longer one"
        ),
    ] = 0.0
    activation_penalty: Annotated[
        Weight, Meaning("weight of the penalty on the mean square of the context vectors")
    ] = 0.0
    temporal_penalty: Annotated[
        Weight, Meaning("weight of the penalty on their mean square change between steps")
    ] = 0.0
    past_decode_penalty: Annotated[
        Weight, Meaning("weight of the loss of decoding the last input word from the prediction")
    ] = 0.0
    patience: Annotated[
        Count, Meaning("epochs without improvement after which training stops; 0: never")
    ] = 0
    temperature: Annotated[
        Literal["one", "valid"], Meaning("softmax temperature: 1, or the best one on valid.txt")
    ] = "one"
    initialisation: Initialisation
    criterion: Criterion
    optimiser: Optimiser
    schedule: Schedule
    averaging: Averaging
    batching: StreamBatching | SentenceBatching

    def batch_size_for(self, text: EncodedText, *, n_processes: int) -> int:
        """The batch size that 0 stands for: a multiple of 8 with about `STEPS` steps an epoch.

        It lies between `FEWEST` and `MOST`; several processes share it equally, for which it may be
        cut. Few large steps learn less than many small ones, but many small ones take longer.
        """
        eights = round(self.batching.steps_of_one(text, bptt=self.bptt) / STEPS / FEWEST)
        size = min(max(eights * FEWEST, FEWEST), MOST)
        return max(size // n_processes, 1) * n_processes

    def input_noise_for(self, text: EncodedText) -> float:
        """The share of noise that −1 stands for."""
        return NOISE if len(text.ids) <= LITTLE else 0.0

    def whole_sums(self) -> str:
        """A note if a penalty sums over all words where the criterion spares that; else ""."""
        if not self.past_decode_penalty or not self.criterion.is_sampled:
            return ""
        return (
            f"recipe.past_decode_penalty={self.past_decode_penalty:g} sums over all words at each "
            "step, so that a criterion that samples them saves little; take 0 for its speed"
        )

    def check(self, output: Output) -> None:
        """Raise ConfigError if an output cannot be trained or stored as this recipe says."""
        self.criterion.check(output)
        if LEFT_TO_TEXT["input_noise"] < self.input_noise < 0:
            raise ConfigError(
                f"option 'input_noise' of recipe: {self.input_noise:g}; expected 0 to 0.999, or "
                "-1, which leaves it to the length of the text"
            )
        if self.past_decode_penalty and not output.vector_dim:
            raise ConfigError(
                "option 'past_decode_penalty' of recipe: the output has no single table of word "
                "vectors; expected softmax, composed or mixture; set output.type=softmax, or take 0"
            )
        if self.temperature == "valid" and not output.score_parameters():
            raise ConfigError(
                "option 'temperature' of recipe is 'valid': the output has no parameters of its "
                "own that would divide all scores, as where word vectors are an encoder's; "
                "expected 'one' with it; use --set recipe.temperature=one, output.type=softmax, or "
                "with output.type=composed output.project=true"
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
    schema = options_of(Recipe)
    for option in settings:
        if option not in schema:
            likely = hint(option, _names(settings))
            takes = f"it takes {', '.join(schema)}"
            raise ConfigError(f"recipe has no option {option!r}; {likely}{takes}")
    values: dict[str, Any] = {}
    resolved: Settings = {}
    for name, (kind, default) in schema.items():
        if name in FAMILIES:
            wanted = _typed(settings.get(name, {}), FAMILIES[name])
            place = f"recipe.{name}"
            values[name], resolved[name] = build_part(FAMILIES[name], wanted, place=place)
        else:
            where = f"option {name!r} of recipe"
            values[name] = checked(settings.get(name, default), kind, where=where)
            resolved[name] = values[name]
    return Recipe(**values), resolved


def _typed(settings: Any, family: Family) -> Any:
    """The settings of a part, of the family's first type if they name none."""
    if isinstance(settings, dict) and "type" not in settings:
        return {"type": next(iter(family.table)), **settings}
    return settings


def _names(settings: Settings) -> Iterator[str]:
    for option in options_of(Recipe):
        yield f"recipe.{option}"
    for option, family in FAMILIES.items():
        own = _typed(settings.get(option, {}), family)
        if isinstance(own, dict):
            yield from option_names(family, own, place=f"recipe.{option}")
