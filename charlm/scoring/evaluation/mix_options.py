"""What the options of a mixture ask for, and what they cannot ask for with these streams.

Files of scores are of one text that is not named; models need to be told one. Options that only a
model can follow are refused beside files, and not passed over.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from charlm.errors import ConfigError
from charlm.scoring.evaluation.token_scores import Kind
from charlm.text.corpus.sentences import split_path

SplitName = Literal["train", "valid", "test"]

SUM_TOLERANCE = 1e-3  # of weights that somebody wrote down: three times .333 are one


def parsed_weights(
    weights: str | Sequence[float], *, n_streams: int, option: str = "--weights"
) -> list[float]:
    """Weights, which an `option` gave, as numbers of sum 1.

    Raises:
        ConfigError: other numbers, or not as many as streams.
    """
    fields = weights.split(",") if isinstance(weights, str) else [str(each) for each in weights]
    shown = ",".join(fields)
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        raise ConfigError(f"{option} {shown}: expected numbers with commas, as 0.6,0.4") from None
    if len(numbers) != n_streams:
        raise ConfigError(
            f"{option} {shown}: {len(numbers)} for {n_streams} streams; expected one for each"
        )
    total = sum(numbers)
    if not (min(numbers) >= 0 and abs(total - 1) <= SUM_TOLERANCE):  # NaN is neither
        raise ConfigError(
            f"{option} {shown}: sum {total:g}; expected numbers of 0 or above that sum to 1"
        )
    return [number / total for number in numbers]


def refuse_idle(
    options: Mapping[str, str | None], *, has_run: bool, has_data: bool, is_given: bool
) -> None:
    """Refuse an option that changes nothing: its user believes that it did.

    Raises:
        ConfigError: such an option.
    """
    no_data = "" if has_data else "chooses a part of --data DIR, and none is given"
    reasons = {
        "split": no_data,
        "tune": "there is nothing to tune with --weights" if is_given else no_data,
        "state": "" if has_run else "is of runs, and no stream is one",
    }
    for name, value in options.items():
        if value is not None and reasons[name]:
            raise ConfigError(f"--{name} {value}: {reasons[name]}; drop it")


def texts_to_score(
    streams: Sequence[str | Path],
    *,
    kinds: Sequence[Kind],
    data: str | Path | None,
    splits: Sequence[str],
    text: str | Path | None,
) -> list[str | Path]:
    """The texts that models are to score, the one to report last; none where all are files.

    Raises:
        ConfigError: a text too few or too many, or one that cannot be read as often as needed.
        DataError: no such split.
    """
    files = [stream for stream, kind in zip(streams, kinds, strict=True) if kind == "scores"]
    models = [stream for stream, kind in zip(streams, kinds, strict=True) if kind != "scores"]
    if data is not None and text is not None:
        raise ConfigError("found both --data and --text; expected one of them; drop either")
    if not models:
        if data is not None or text is not None:
            raise ConfigError(
                f"{'--text' if data is None else '--data'}: found no model to score it, all "
                "streams are files of scores; expected neither --text nor --data; drop it"
            )
        return []
    if data is not None and files:
        raise ConfigError(
            f"{files[0]}: holds the scores of one text; expected --text FILE, not --data, beside it"
        )
    if data is not None:
        return [split_path(data, split) for split in dict.fromkeys(splits)]
    if text is None:
        raise ConfigError(
            f"{models[0]}: a model, and no text to score; expected --data DIR or --text FILE"
        )
    if len(models) > 1 and not Path(text).is_file() and (str(text) == "-" or Path(text).exists()):
        raise ConfigError(
            f"--text {text}: {len(models)} models cannot read one pipe; expected a file"
        )
    return [text]
