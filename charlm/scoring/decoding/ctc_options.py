"""The options of the CTC beam search."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from charlm.options import Opt


@dataclass(frozen=True)
class CTCOptions:
    """What is searched, under which model, and how wide."""

    log_probs: Annotated[
        object, Opt("Natural logarithms of the letters' probabilities, (T, L), of one utterance.")
    ]
    _: KW_ONLY
    alphabet: Annotated[
        Sequence[str],
        Opt("The letters that the columns stand for: '' is the blank, ' ' ends a word."),
    ]
    model: Annotated[
        object, Opt("A model with states, as charlm.load gives it; None: letters.")
    ] = None
    alpha: Annotated[float, Opt("Weight of the model's log-probabilities.", least=0)] = 0.5
    beta: Annotated[float, Opt("Added for each word.")] = 1.5
    unk_offset: Annotated[
        float | None,
        Opt(
            "Added to the log-probability of each unknown word, and more in proportion beyond "
            "typical_length; -10 if not given, and nothing where the model spells it."
        ),
    ] = None
    typical_length: Annotated[
        float,
        Opt(
            "Letters beyond which an unknown word costs more in proportion; inf: none does, as in "
            "pyctcdecode's totals.",
            least=1,
        ),
    ] = 6.0
    beam_width: Annotated[int, Opt("Beginnings kept after each frame.", least=1)] = 64
    beam_margin: Annotated[
        float, Opt("Beginnings worse than the best by more are dropped.", least=0)
    ] = 10.0
    least_letter: Annotated[
        float, Opt("Letters with a smaller log-probability in a frame are not tried there.")
    ] = -5.0
    n_best: Annotated[int, Opt("Greatest number of results.", least=1)] = 1
