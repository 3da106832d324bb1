"""What messages say of many names."""

import pytest

from charlm.errors import first_few


@pytest.mark.parametrize(
    ("names", "told"), [("abc", "a, b, c"), ("abcd", "a, b, c and 1 more"), ("", "")]
)
def test_a_message_names_the_first_and_counts_the_others(names: str, told: str) -> None:
    assert first_few([*names]) == told
    assert first_few([*names], most=4) == ", ".join(names)
