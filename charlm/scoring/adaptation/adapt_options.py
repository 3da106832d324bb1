"""How a model adapts to what it has read: the options and the default rates.

Rates come from the command line, or else from an earlier choice on a valid.txt, which is kept with
the run. The defaults here were found on PTB: the cache's for char-small, those of dynamic
evaluation for word-char-modern. The default dynamic rate is half the best one found there, because
twice the best rate is worse than no adaptation.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from charlm.errors import ConfigError
from charlm.interface.options import Opt
from charlm.text.io.lines import number_in

Adapt = Literal["none", "dynamic", "cache", "both"]

CHOOSE = "choose"  # the value of --adapt-rates that asks for a choice
GROUP = "Adaptation"
LAMBDA = "lambda"  # not a possible field name in Python
MOST_SHARE = 0.999  # a cache alone gives no probability to words that it does not hold
MOST_REMEMBERED = 100_000  # positions; each costs as many numbers as the context is wide

AdaptChoice = Annotated[
    Adapt,
    Opt(
        "Adapt to what has been read: by gradient steps (dynamic, Krause et al., 2018), by a cache "
        "of the words that followed similar contexts (cache, Grave et al., 2017), or both.",
        GROUP,
    ),
]
AdaptRates = Annotated[
    str,
    Opt(
        "Rates of --adapt, which replace those kept with the run. dynamic: segment (20), rate "
        "(5e-05) and decay (0.006), or rate (0.3) and decay (0.001) where the run keeps no mean "
        "squared gradients. cache: size (500), theta (1), which at 0 makes it a unigram cache, and "
        "lambda (0.1). choose: eval finds them on the corpus directory's valid.txt and keeps them "
        "with the run.",
        GROUP,
        metavar="NAME=NUMBER,…",
    ),
]


@dataclass(frozen=True)
class Rates:
    """How fast a model adapts."""

    segment: int = 20  # tokens between two steps
    rate: float = 0.00005  # step size; each step is divided by the root mean square gradient
    decay: float = 0.006  # fraction of the way back to the trained weights at each step
    size: int = 500  # positions that the cache holds
    theta: float = 1.0  # how similar contexts must be; 0: a unigram cache
    share: float = 0.1  # λ, the cache's weight in the mixture

    def to_dict(self) -> dict[str, float]:
        return {LAMBDA if name == "share" else name: v for name, v in asdict(self).items()}


PLAIN = Rates(rate=0.3, decay=0.001)  # for steps without mean squared gradients
OF_DYNAMIC, OF_CACHE = ("segment", "rate", "decay"), ("size", "theta", LAMBDA)
OF_MODE = {"dynamic": OF_DYNAMIC, "cache": OF_CACHE, "both": (*OF_DYNAMIC, *OF_CACHE)}


def shown_rates(mode: Adapt, rates: Rates) -> str:
    """The rates that the mode uses, in the form that `--adapt-rates` takes."""
    values = rates.to_dict()
    return ",".join(f"{name}={values[name]:.6g}" for name in OF_MODE[mode])


def parsed_rates(text: str, base: Rates, *, mode: Adapt = "both") -> Rates:
    """`base`, changed as `text` says.

    Raises:
        ConfigError: text that is not NAME=NUMBER, a number out of its range, or a rate that the
            mode does not use.
    """
    said: dict[str, Any] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, digits = part.partition("=")
        if name.strip() in said:
            raise ConfigError(
                f"--adapt-rates {part!r:.60}: {name.strip()} stands twice; expected once"
            )
        said[name.strip()] = value = number_in(digits)
        if value != value:
            raise ConfigError(
                f"--adapt-rates {part!r:.60}: expected NAME=NUMBER, as "
                f"{shown_rates('both', base)}, or {CHOOSE}"
            )
    rates = rates_of(said, base=base, where="--adapt-rates")
    for name in said:
        if name not in OF_MODE[mode]:
            raise ConfigError(
                f"--adapt-rates: {name} says nothing with --adapt {mode}; expected "
                f"{', '.join(OF_MODE[mode])}; drop it, or adapt by both"
            )
    return rates


def rates_of(said: Mapping[str, object], *, base: Rates, where: str) -> Rates:
    """`base` with the given numbers, which may come from a file that is not trusted.

    Raises:
        ConfigError: an unknown name, or a number out of its range.
    """
    known = base.to_dict()
    changes: dict[str, Any] = {}
    for name, value in said.items():
        if name not in known:
            raise ConfigError(f"{where}: found {name!r:.60}; expected {', '.join(known)}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{where}: {name}: found {value!r:.60}; expected a number")
        is_count = name in ("segment", "size")
        least, most = (1, MOST_REMEMBERED) if is_count else (0, 1e6)
        most = {"decay": 1, LAMBDA: MOST_SHARE}.get(name, most)
        if not least <= value <= most or (is_count and value != int(value)):
            kind = "a whole number" if is_count else "a number"
            shown = value if isinstance(value, int) else f"{value:g}"  # 10**400 fits no float
            raise ConfigError(
                f"{where}: {name}={shown!s:.60}; expected {kind} of {least} to {most:g}"
            )
        changes["share" if name == LAMBDA else name] = int(value) if is_count else float(value)
    return replace(base, **changes)
