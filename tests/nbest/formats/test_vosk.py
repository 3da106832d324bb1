"""Vosk's results and mlm-scoring's lists, with one object per hypothesis."""

from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.mlm_scoring import MlmScoringFormat
from charlm.nbest.formats.vosk import VoskFormat
from charlm.nbest.reading.json_lists import whole_values
from charlm.nbest.reading.list_lines import Lines

# As the library prints: an object over many lines, results and partial results mixed.
STREAM = """\
{"partial" : "we"}
{
  "alternatives" : [{
      "confidence" : 297.030000,
      "text" : "we know"
    }, {
      "confidence" : 296.1,
      "text" : " we do {\\u00e9} "
    }]
}

{"alternatives": [{"text": ""}], "id": "last"}
{"partial" : ""}
"""


def test_results_follow_one_another_on_one_line_or_many(read, write, values) -> None:
    chosen = VoskFormat()
    first, last = read(chosen, STREAM)
    assert (first.id, last.id) == ("1", "last")
    assert [h.words for h in first.hypotheses] == [("we", "know"), ("we", "do", "{é}")]
    assert [h.features for h in first.hypotheses] == [{"confidence": 297.03}, {"confidence": 296.1}]
    assert first.hypotheses[1].place == "a.list:2: hypothesis 2"
    assert last.hypotheses[0].place == "a.list:12: hypothesis 1"
    assert (last.hypotheses[0].words, last.hypotheses[0].features) == ((), {})
    assert values(write(chosen, [first, last])) == values(STREAM)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"text": "a"}', "a.list:1: found no array 'alternatives'; expected one; let the recogn"),
        ('\n{"alternatives": [1]}', "a.list:2: hypothesis 1: found no object; expected one with"),
        ('{"alternatives": []}', "a.list:1: found no hypothesis of '1'; expected at least one"),
        ('{"alternatives": [{"confidence": 1}]}', "hypothesis 1: 'text': found nothing, or"),
        (
            '{"alternatives": [{"text": "a", "confidence": true}]}',
            "hypothesis 1: 'confidence': found 'True'; expected a number",
        ),
        (
            '{"alternatives": [{"text": "a", "confidence": NaN}]}',
            "utterance '1': the feature 'confidence' is nan; expected a finite number",
        ),
        ('{"alternatives": [{"text": "a\\nb"}]}', "found a line end or NUL in a sentence; expecte"),
        ('{"alternatives": [{"text": "\\ud800"}]}', "found half of a surrogate pair; expected"),
        ('{\n"alternatives":\n', "a.list:3: not valid JSON (Expecting value at character 1)"),
        ('{"alternatives": [{"text": "a"}]} {}', "a.list:1: not valid JSON (Extra data"),
        ("[" * 100000, "a.list:1: JSON nested too deep; expected a list of hypotheses"),
        ("3", "a.list:1: found 3; expected an object that holds hypotheses, or an array of them"),
        ("[\n1]", "a.list:1: list 1: found 1; expected an object"),
        ('{"id": 1.5, "alternatives": []}', "a.list:1: 'id': found 1.5; expected a string or a"),
        ('{"id": "", "alternatives": []}', "a.list:1: found an empty 'id'; expected the name of"),
    ],
)
def test_what_is_no_result_is_refused_with_its_line(text: str, message: str, read) -> None:
    with pytest.raises(DataError) as caught:
        read(VoskFormat(), text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("a.list:")
    assert "\n" not in str(caught.value)


def test_a_result_without_alternatives_is_passed_on_if_it_may_be_missing(
    read, write, values
) -> None:
    chosen = VoskFormat()
    text = '{"alternatives": []}\n{"alternatives": [{"text": "a"}]}\n{"alternatives": [ ]}\n'
    (found,) = read(chosen, text, allow_missing=True)
    assert found.id == "2"
    assert values(write(chosen, [found])) == values(text)


def test_a_value_without_an_end_is_not_read_for_ever() -> None:
    endless = chain([b'{"partial": ""}\n', b"{\n"], repeat(b'"alternatives": [\n'))
    lines = Lines(SimpleNamespace(readline=lambda _: next(endless)), "a.list")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="a.list:2: found a value of more than 100 characters; exp"):
        list(whole_values(lines, most=100))


MLM = """\
{"utt-1": {"ref": "we know", "hyp_10": {"score": -9, "text": "no"},
 "hyp_2": {"score": -1.3, "text": "we no"}, "hyp_1": {"score": -1.20, "text": "we know"}},
 "utt-2": {"hyp_1": {"text": "", "score": 0}}}
"""


def test_mlm_scoring_ranks_by_the_numbers_of_keys(read, write, values) -> None:
    chosen = MlmScoringFormat()
    first, second = found = read(chosen, MLM)
    assert (first.id, second.id) == ("utt-1", "utt-2")
    assert first.reference == ("we", "know")
    assert second.reference is None
    assert [h.words for h in first.hypotheses] == [("we", "know"), ("we", "no"), ("no",)]
    assert [h.features["score"] for h in first.hypotheses] == [-1.2, -1.3, -9]
    assert values(write(chosen, found)) == values(MLM)
    after = write(chosen, found, orders=[(2, 0, 1), (0,)])
    assert [h.words for h in read(chosen, after)[0].hypotheses] == [
        ("no",),
        ("we", "know"),
        ("we", "no"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"u": {"hyp_1": 1}}', "a.list:1: 'u': hyp_1: found no object; expected one"),
        ('{"u": {"hyp_1": {"score": 1}}}', "a.list:1: 'u': hyp_1: 'text': found nothing, or null;"),
        ('{"u": {"hyp_1": {}, "hyp_1": {}}}', "a.list:1: found the key 'hyp_1' twice; expected"),
        ('{"": {"hyp_1": {"text": "a"}}}', "a.list:1: list 1: found an empty id; expected that of"),
        ("[]", "a.list:1: found []; expected an object that holds hypotheses"),
    ],
)
def test_what_is_no_list_of_mlm_scoring_is_refused(text: str, message: str, read) -> None:
    with pytest.raises(DataError) as caught:
        read(MlmScoringFormat(), text)
    assert str(caught.value).startswith(message)
