"""A run's log records as they are shown."""

import pytest

from charlm.run.history import shown_ppl


@pytest.mark.parametrize(
    ("ppl", "shown"),
    [
        (77.8, "77.80"),
        (9_999_999.0, "9999999.00"),
        (1e7, "1.00e+07"),
        (1.76381e211, "1.76e+211"),  # two decimals would take 215 characters
        (-2.5e80, "-2.50e+80"),
        (None, "undefined"),
    ],
)
def test_a_perplexity_is_as_long_as_it_can_be_read(ppl: float | None, shown: str) -> None:
    assert shown_ppl(ppl) == shown
