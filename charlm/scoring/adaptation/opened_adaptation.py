"""Opening a run's adaptation as the options ask, and choosing its rates on a valid.txt."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from charlm.errors import ConfigError, DataError
from charlm.run.stored_weights import LoadedRun
from charlm.scoring.adaptation.adapt_options import (
    CHOOSE,
    OF_MODE,
    PLAIN,
    Adapt,
    Rates,
    parsed_rates,
    rates_of,
    shown_rates,
)
from charlm.scoring.adaptation.adaptive_reader import Adaptation, AdaptiveReader
from charlm.scoring.adaptation.mean_squares import FILE as SQUARES
from charlm.scoring.adaptation.mean_squares import mean_squared_gradients
from charlm.scoring.likelihood.nll import perplexity_of
from charlm.text.corpus.sentences import split_path
from charlm.text.io.files import read_json, write_if_possible, write_json
from charlm.text.vocabulary.encoding import TextEncoder

FILE = "adaptation.json"
VALID_TOKENS = 1 << 14  # tokens of valid.txt on which rates are chosen
FACTOR = 2.0  # between successive values that are tried
LEAST_GAIN = 1e-4  # smallest relative gain for which a step is taken

Tell = Callable[[str], object]


def opened_adaptation(
    run: LoadedRun,
    *,
    mode: Adapt,
    rates: str,
    data: str | Path | None = None,
    tell: Tell | None = None,
) -> Adaptation | None:
    """The run's adaptation; None where the mode is none.

    `tell` is called with a line for everything that is made, chosen or missing.

    Raises:
        ConfigError: malformed rates, rates of another mode, or rates to be chosen without a
            corpus directory.
        DataError: the valid.txt on which to choose cannot be read.
    """
    tell = tell or (lambda line: None)
    if mode == "none":
        if rates:
            raise ConfigError(
                f"--adapt-rates {rates!r:.60}: nothing adapts; expected --adapt, too; give it, or "
                "drop --adapt-rates"
            )
        return None
    if rates != CHOOSE:
        parsed_rates(rates, Rates(), mode=mode)  # before squares are made, which takes minutes
    squares = None
    if mode != "cache":
        train = None if data is None else Path(data) / "train.txt"
        squares = mean_squared_gradients(run, train=train, tell=tell)
        if squares is None:
            tell(
                f"{run.path}: no mean squared gradients ({SQUARES}): plain gradient steps; charlm "
                "eval --adapt dynamic --data DIR makes them once, of the train.txt of the training"
                f"{'' if train is None else f', which {train} is not'}"
            )
    found = Adaptation(mode, PLAIN if squares is None else Rates(), squares)
    if rates == CHOOSE:
        return _with_chosen(run, found, data=data, tell=tell)
    kept = _kept_rates(run).get(_key(found), found.rates)
    return replace(found, rates=parsed_rates(rates, kept))


def _key(adaptation: Adaptation) -> str:
    """The key under which rates are kept; plain steps have rates of their own."""
    is_plain = adaptation.mode != "cache" and adaptation.squares is None
    return f"{adaptation.mode}{' by plain steps' if is_plain else ''}"


def _kept_rates(run: LoadedRun) -> dict[str, Rates]:
    """The rates kept with a run's model, by mode; empty if damaged or of other weights."""
    path = run.path / FILE
    if not path.is_file():
        return {}
    try:
        value = read_json(path)
        if not isinstance(value, dict) or value.get("model") != run.weights_sha256:
            return {}
        return {
            key: rates_of(rates, base=Rates(), where=str(path))
            for key, rates in value["rates"].items()
        }
    except (DataError, ConfigError, KeyError, AttributeError):
        return {}


def _with_chosen(
    run: LoadedRun, adaptation: Adaptation, *, data: str | Path | None, tell: Tell
) -> Adaptation:
    """With the rates that suit the beginning of valid.txt best; they are kept with the run."""
    if data is None:
        raise ConfigError(
            f"--adapt-rates {CHOOSE}: rates are chosen on a valid.txt; expected charlm eval with "
            "--data DIR"
        )
    valid = split_path(data, "valid")
    encoder = TextEncoder(run.inventory, oov_input=run.oov_input)
    pieces = [ids for ids, _ in encoder.pieces(valid, max_tokens=VALID_TOKENS)]
    if not pieces:
        raise DataError(f"{valid}: no sentence; expected one a line")
    ids = np.concatenate(pieces)

    def measure(rates: Rates) -> float:
        reader = AdaptiveReader.of_copy(run, replace(adaptation, rates=rates))
        state = run.model.context.initial_state(1)
        try:
            nlls, _ = reader.continued_nll(ids, spellings=encoder.spellings, state=state)
        except ConfigError:  # steps too large
            return float("inf")
        ppl = perplexity_of(float(nlls.sum(dtype=np.float64)), len(ids))
        tell(
            f"{valid}, {len(ids)} tokens: ppl {ppl:.2f} with {shown_rates(adaptation.mode, rates)}"
        )
        return ppl

    names = [name for name in OF_MODE[adaptation.mode] if name != "segment"]
    chosen = climbed(adaptation.rates, names, measure=measure)
    kept = {key: rates.to_dict() for key, rates in _kept_rates(run).items()}
    kept[_key(adaptation)] = chosen.to_dict()
    with write_if_possible(run.path / FILE, tell):
        write_json(run.path / FILE, {"model": run.weights_sha256, "rates": kept})
    return replace(adaptation, rates=chosen)


def climbed(start: Rates, names: list[str], *, measure: Callable[[Rates], float]) -> Rates:
    """Double or halve one rate after another, as long as `measure` falls noticeably.

    Without the threshold, a rate that hardly mattered was halved 23 times, with one reading of the
    text each time.
    """
    best, least = start, measure(start)
    for name in names:
        for factor in (FACTOR, 1 / FACTOR):
            n_better = 0
            while (trial := _times(best, name, factor)) is not None:
                found = measure(trial)
                if found >= least * (1 - LEAST_GAIN):
                    break
                best, least, n_better = trial, found, n_better + 1
            if n_better:  # where doubling helped, halving does not
                break
    return best


def _times(rates: Rates, name: str, factor: float) -> Rates | None:
    """The rates with one of them multiplied; None if that is out of its range."""
    value = rates.to_dict()[name] * factor
    try:
        return rates_of({name: round(value, 9)}, base=rates, where=CHOOSE)
    except ConfigError:
        return None
