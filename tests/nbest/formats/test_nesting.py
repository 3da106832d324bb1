"""JSON that is too deep for code after the parser, but not for the parser, is refused."""

import json
from pathlib import Path

import pytest

from charlm.errors import DataError
from charlm.nbest.formats import open_lists
from charlm.nbest.reading.format import Source
from charlm.settings import MAX_NESTING

AROUND = {  # where in each format something deep may occur
    "espnet1": (
        '{"utts": D}',
        '{"utts": {"u": D}}',
        '{"utts": {"u": {"output": [{"rec_text": D}]}}}',
    ),
    "vosk": ('{"alternatives": D}', '{"alternatives": [{"text": D}]}'),
    "huggingface": ('{"sequences": D}', '{"sequences": ["a"], "scores": [D]}', '{"id": D}'),
    "ctranslate2": ('{"sequences": D, "sequences_ids": 1}', '{"no_speech_prob": D}'),
    "pyctcdecode": ('{"beams": D}', '{"beams": [["a", D, [], 1, 2]]}'),
    "azure": ('{"NBest": D}', '{"recognizedPhrases": D}', '{"NBest": [{"Lexical": D}]}'),
    "google": ('{"results": D}', '{"results": [{"alternatives": [{"transcript": D}]}]}'),
    "aws": ('{"results": {"segments": D}}', '{"results": {"transcripts": D, "segments": []}}'),
    "hyporadise": (
        '[{"input": D}]',
        '{"input": ["a"], "output": D}',
        '{"input1": "a", "input2": D}',
    ),
    "mlm-scoring": ("D", '{"u": D}', '{"u": {"hyp_1": D}}', '{"u": {"hyp_1": {"text": D}}}'),
    "jsonl": ("D", '{"id": D}', '{"id": "u", "hyps": D}', '{"id": "u", "hyps": [{"am": D}]}'),
}
CASES = [(name, around) for name, each in AROUND.items() for around in each]


def nested(depth: int, around: str = "D") -> str:
    return around.replace("D", "[" * depth + "]" * depth)


def parses(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return False
    return True


def deepest() -> int:
    """How deep the parser comes from here."""
    low, high = 1, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if parses(nested(middle)) else (low, middle)
    return low


@pytest.mark.parametrize(("name", "around"), CASES)
def test_nesting_just_below_what_the_parser_takes_is_refused_in_one_line(
    name: str, around: str, tmp_path: Path
) -> None:
    path = tmp_path / "list"
    most = deepest()
    for depth in range(most - 60, most, 4):  # readers use different depths of the stack
        path.write_text(nested(depth, around) + "\n")
        with (
            pytest.raises(DataError, match=r"list:1: JSON nested too deep; expected a list of hyp"),
            open_lists(Source(path), name=name) as (_, lists),
        ):
            list(lists)


def test_what_is_nested_as_deep_as_settings_may_be_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "list"
    for depth, is_fine in ((MAX_NESTING - 1, True), (MAX_NESTING, False)):
        deep = nested(depth)
        path.write_text(f'{{"id": "u", "hyps": [{{"text": "a"}}], "more": {deep}}}\n')
        with open_lists(Source(path), name="jsonl") as (_, lists):
            if is_fine:
                assert [each.id for each in lists] == ["u"]
            else:
                with pytest.raises(DataError, match="JSON nested too deep"):
                    list(lists)
