"""Shares of models or systems in a mixture: numbers of sum 1, as they are given by hand."""

from collections.abc import Sequence

from charlm.errors import ConfigError
from charlm.text.io.lines import number_in

SUM_TOLERANCE = 1e-3  # for numbers rounded by hand: three times .333 count as one


def parsed_shares(
    shares: str | Sequence[float], *, n_streams: int, option: str = "--weights"
) -> list[float]:
    """The shares given by `option`, as numbers with sum 1.

    Raises:
        ConfigError: shares that do not sum to 1, or not one for each stream.
    """
    fields = shares.split(",") if isinstance(shares, str) else [str(each) for each in shares]
    shown = ",".join(fields)
    numbers = [number_in(field) for field in fields]
    if any(number != number for number in numbers):  # NaN
        raise ConfigError(f"{option} {shown}: expected numbers with commas, as 0.6,0.4")
    if len(numbers) != n_streams:
        raise ConfigError(
            f"{option} {shown}: {len(numbers)} for {n_streams} to be mixed; expected one for each"
        )
    total = sum(numbers)
    if not (min(numbers) >= 0 and abs(total - 1) <= SUM_TOLERANCE):
        raise ConfigError(
            f"{option} {shown}: sum {total:g}; expected numbers of 0 or above that sum to 1"
        )
    return [number / total for number in numbers]
