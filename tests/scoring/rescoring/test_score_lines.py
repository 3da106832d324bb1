"""How `charlm score` reads the lines of its files, and how long they may be."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import charlm
from charlm.nbest.scorer import Words
from charlm.text.io.lines import MIB


@pytest.fixture
def scorer() -> charlm.FunctionScorer:
    """Each word is worth e^-1, the end of a sentence nothing."""

    def score(sentences: Sequence[Words]) -> list[list[float]]:
        return [[*[-1.0] * len(words), 0.0] for words in sentences]

    return charlm.FunctionScorer(score)


def test_the_longest_line_is_that_of_references_too(
    tmp_path: Path, scorer: charlm.FunctionScorer
) -> None:
    lists, refs = tmp_path / "lists.jsonl", tmp_path / "refs"
    lists.write_text('{"id": "u", "hyps": [{"text": "a"}]}' + " " * MIB)
    refs.write_text("u a" + " " * MIB)
    with pytest.raises(charlm.DataError, match=r"lists\.jsonl:1: longer than 1 MiB; "):
        charlm.score(lists, scorer=scorer, max_line=1)
    assert charlm.score(lists, scorer=scorer, max_line=2).counts.n_lists == 1
    lists.write_text('{"id": "u", "hyps": [{"text": "a"}]}')
    with pytest.raises(charlm.DataError, match=r"refs:1: longer than 1 MiB; "):
        charlm.score(lists, scorer=scorer, refs=refs, max_line=1)
    with pytest.raises(charlm.ConfigError, match=r"^--max-line 0: expected 1 or more$"):
        charlm.score(lists, scorer=scorer, max_line=0)
