"""Contradicting options of `charlm score`: one line each, before a model is read."""

from collections.abc import Mapping

import pytest

import charlm
from charlm.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "found no LIST; expected lists to score; name a file"),
        ({"lists": "a", "write": "rnked"}, "write: found 'rnked'; expected one of 'scored', 'ran"),
        (
            {"lists": "a", "refs": "-"},
            "--refs -: expected a file; only the lists may be standard input",
        ),
        (
            {"lists": "a", "lm": "m", "out": "o", "write": "none"},
            "--out o: --write none writes no list; drop one of them",
        ),
        (
            {"lists": "a", "explain": "u", "dedup": "sum"},
            "--explain --dedup sum: two hypotheses are explained, and sums are of more; expected",
        ),
        (
            {"lists": "a", "sort": True, "write": "trn"},
            "--sort: --write trn has no list to sort; expected one of scored, ranked, nbest; drop",
        ),
        (
            {"lists": "a", "lm": "m", "metric": "cer"},
            "--metric cer: found no references to measure it against; expected --refs FIL",
        ),
        ({"lists": "a"}, "found neither --model nor --lm, and no weights or --refs; expected a mo"),
    ],
)
def test_contradictions_are_named(options: Mapping[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        charlm.score(**options)
    assert str(caught.value).startswith(message)
