"""JSONL in its two forms; the text around a new number does not change."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charlm.errors import DataError
from charlm.nbest.formats.jsonl import JsonlFormat
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.repairs import Notices

NESTED = (
    '{"id":"u","hyps":[{"text":"we know","am":-12.30,"lm":-4.1},{"text":"we do", "am":-12.9}],'
    '"ref":"we know"}\n'
)
FLAT = (
    '{"id": "u", "rank": 1, "text": "we know", "scores": {"am": -12.9}}\n'
    '{"id": "u", "rank": 2, "text": "we do", "scores": {}}\n'
    '{"id": 7, "rank": 1, "text": "", "am": -3}\n'
)


def features_of(lists):
    return [[dict(hypothesis.features) for hypothesis in each.hypotheses] for each in lists]


def test_an_object_is_a_list(read) -> None:
    (found,) = read(JsonlFormat(), NESTED)
    assert found.id == "u"
    assert found.reference == ("we", "know")
    assert [hypothesis.words for hypothesis in found.hypotheses] == [("we", "know"), ("we", "do")]
    assert features_of([found]) == [[{"am": -12.3, "lm": -4.1}, {"am": -12.9}]]
    assert found.hypotheses[1].place == "a.list:1: hypothesis 2"


def test_an_object_is_a_hypothesis(read) -> None:
    found = read(JsonlFormat(), FLAT)
    assert [each.id for each in found] == ["u", "7"]
    assert features_of(found) == [[{"am": -12.9}, {}], [{"am": -3.0}]]
    assert found[1].hypotheses[0].words == ()


def test_scores_go_where_the_features_are(read, write, values) -> None:
    assert values(
        write(JsonlFormat(), read(JsonlFormat(), NESTED), scores=[(-1.5, -2.0)])
    ) == values(
        '{"id":"u","hyps":[{"text":"we know","am":-12.30,"lm":-4.1,"charlm":-1.500000},'
        '{"text":"we do", "am":-12.9, "charlm":-2.000000}],"ref":"we know"}\n'
    )
    assert values(
        write(JsonlFormat(), read(JsonlFormat(), FLAT), scores=[(-1.5, -2.0), (-3.0,)])
    ) == values(
        '{"id": "u", "rank": 1, "text": "we know", "scores": {"am": -12.9, "charlm": -1.500000}}\n'
        '{"id": "u", "rank": 2, "text": "we do", "scores": {"charlm": -2.000000}}\n'
        '{"id": 7, "rank": 1, "text": "", "am": -3, "charlm": -3.000000}\n'
    )


def test_reranked_objects_move_and_ranks_stay(read, write, values) -> None:
    assert values(write(JsonlFormat(), read(JsonlFormat(), NESTED), orders=[(1, 0)])) == values(
        '{"id":"u","hyps":[{"text":"we do", "am":-12.9},{"text":"we know","am":-12.30,"lm":-4.1}],'
        '"ref":"we know"}\n'
    )
    found = read(JsonlFormat(), FLAT)
    assert values(
        write(JsonlFormat(), found, scores=[(-1.5, -2.0), (-3.0,)], orders=[(1, 0), (0,)])
    ) == values(
        '{"id": "u", "rank": 1, "text": "we do", "scores": {"charlm": -2.000000}}\n'
        '{"id": "u", "rank": 2, "text": "we know", "scores": {"am": -12.9, "charlm": -1.500000}}\n'
        '{"id": 7, "rank": 1, "text": "", "am": -3, "charlm": -3.000000}\n'
    )


def test_ranks_give_the_order(read, write, values) -> None:
    text = '{"id":"u","hyps":[{"rank":2,"text":"b"},{"rank":1,"text":"a"}]}\n'
    found = read(JsonlFormat(), text)
    assert [hypothesis.words for hypothesis in found[0].hypotheses] == [("a",), ("b",)]
    assert values(write(JsonlFormat(), found)) == values(text)


def test_ranks_that_some_lack_give_no_order(read) -> None:
    text = '{"id":"u","rank":2,"text":"b"}\n{"id":"u","text":"a"}\n'
    (found,) = read(JsonlFormat(), text)
    assert [hypothesis.words for hypothesis in found.hypotheses] == [("b",), ("a",)]


def test_a_list_is_handed_on_before_the_next_line_is_read(pipe) -> None:
    assert next(iter(JsonlFormat().read(pipe(NESTED.encode())))).id == "u"


def test_blank_lines_are_no_lists(read, write, values) -> None:
    text = "\n" + NESTED + " \r\n" + NESTED.replace('"u"', '"v"') + "\n\n"
    reader = JsonlFormat()
    assert values(write(reader, read(reader, text))) == values(text)
    flat = "\n" + FLAT + "\n"
    assert values(write(JsonlFormat(), read(JsonlFormat(), flat))) == values(flat)
    assert read(JsonlFormat(), "\n\n") == []


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "u", "hyps": [{"text": "5", "score": "-1.5", "by": "ann"}, {"text": "a"}]}\n',
        '{"id": "u", "text": "5", "ref": "6", "score": "-1.5", "by": "ann"}\n',
    ],
)
def test_numbers_in_quotes_are_no_features_and_counted(text: str, read) -> None:
    notices = Notices()
    (found,) = read(JsonlFormat(), text, notices=notices)
    assert found.hypotheses[0].features == {}
    assert notices.passed_over == {"numbers in quotes, which are no features ('score')": 1}


def test_null_and_nan_are_refused_or_the_worst_of_the_list(read) -> None:
    text = '{"id":"u","hyps":[{"text":"a","scores":{"am":null}},{"text":"b","scores":{"am":-2}}]}\n'
    with pytest.raises(DataError, match="a.list:1: hypothesis 1: utterance 'u': the feature 'am'"):
        read(JsonlFormat(), text)
    for value in ("null", "NaN", "-Infinity", "1e999", "9" * 400):
        (found,) = read(JsonlFormat(), text.replace("null", value), on_nan="worst")
        assert found.hypotheses[0].features == {"am": -2.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]\n", "a.list:1: found no object; expected one a line, as {...}"),
        ('{"id":"u","hyps":[]}\n', "a.list:1: found no hypothesis of 'u'; expected at least one"),
        ('{"id":"u","hyps":["a"]}\n', "a.list:1: hypothesis 1: found no object; expected one wi"),
        ('{"id":"u","hyps":[{"text":1}]}\n', "a.list:1: hypothesis 1: 'text': found 1; expected"),
        ('{"id":"u","nbest":[]}\n', "a.list:1: found neither 'hyps' nor 'text'; expected "),
        ('{"hyps":[{"text":"a"}]}\n', "a.list:1: 'id': found nothing, or null; expected a string"),
        ('{"id":"","text":"a"}\n', "a.list:1: found an empty 'id'; expected the name of an utt"),
        ('{"id":"u","text":"a","rank":1.5}\n', "a.list:1: found the rank '1.5'; expected a whole"),
        ('{"id":"u","text":"a","scores":[]}\n', "a.list:1: found no object in 'scores'; expected"),
        (
            '{"id":"u","text":"a","scores":{"x":"1"}}\n',
            "a.list:1: 'scores': 'x': found '1'; expected a number",
        ),
        ('{"id":"u","text":"\\ud800"}\n', "a.list:1: 'text': found half of a surrogate pair; exp"),
        ('{"id":"u","text":"a\\nb"}\n', "a.list:1: 'text': found a line end or NUL in a sen"),
        ('{"id":"u","text":"a </s> b"}\n', "a.list:1: 'text': found </s> within a line"),
        ('{"id":"u","text":"a"\n', "a.list:1: not valid JSON ("),
        ('{"id":"u","text":"a"}{}\n', "a.list:1: not valid JSON (Extra data"),
        ("{" * 9 + '"id":' + "[" * 100000 + "\n", "a.list:1: not valid JSON ("),
        ('{"id":' + "[" * 100000 + "\n", "a.list:1: JSON nested too deep; expected a list of"),
        (f"{NESTED}{NESTED}", "a.list:2: found the id 'u' again after others; expected its hyp"),
        (f'{FLAT}{{"id":"v","hyps":[]}}\n', "a.list:4: found a whole list among single hypoth"),
        (f"{NESTED}{FLAT}", "a.list:2: found no array 'hyps'; expected one of hypotheses"),
    ],
)
def test_what_is_no_such_object_is_said_with_its_line(text, message, read) -> None:
    with pytest.raises(DataError) as caught:
        read(JsonlFormat(), text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
NUMBERS = st.floats(-1e6, 1e6) | st.integers(-(10**17), 10**17)
HYPOTHESES = st.fixed_dictionaries(
    {"text": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)},
    optional={"am": NUMBERS, "lm": NUMBERS, "x": VALUES.filter(lambda v: type(v) is not int)},
)


@settings(max_examples=50)
@given(
    hyps=st.lists(HYPOTHESES, min_size=1, max_size=4),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]),
    ascii_only=st.booleans(),
    data=st.data(),
)
def test_all_but_the_score_is_what_was_read(
    hyps, separators, ascii_only, data, read, write, values
) -> None:
    value = {"id": "u", "more": [{"hyps": 1}], "hyps": hyps, "end": {}}
    text = json.dumps(value, separators=separators, ensure_ascii=ascii_only) + "\n"
    found = read(JsonlFormat(), text)
    assert values(write(JsonlFormat(), found)) == values(text)
    scores = [data.draw(st.floats(-1e4, 1e4)) for _ in hyps]
    scored = write(JsonlFormat(), found, scores=[scores])
    assert scored.isascii() == text.isascii()
    ((_, more, (_, written), end),) = values(scored)
    ((_, more_before, (_, before), end_before),) = values(text)
    assert (more, end) == (more_before, end_before)
    for new, old, score in zip(written, before, scores, strict=True):
        *others, (name, number) = new
        assert (tuple(others), name, number) == (old, "charlm", f"{score:.6f}")


@pytest.mark.parametrize(
    ("lines", "claimed"),
    [
        ((NESTED[:-1],), True),
        (("", FLAT.splitlines()[0]), True),
        ((NESTED[:60],), True),
        ((), False),
    ],
)
def test_a_list_is_told_by_its_keys(lines, claimed) -> None:
    assert JsonlFormat().claims(Sample("-", lines, ())) is claimed
