"""HyPoradise's sets: arrays of inputs, with or without scores, and the later layout."""

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.hyporadise import HyporadiseFormat

# As the first sets are written, with scores; as others are, without ids.
SPREAD = """\
[
    {
      "input": [
        "saatchi officials said",
        "sachi officials said"
      ],
      "output": "saatchi officials said",
      "score": [
        -0.19051286753486185,
        -0.1960289546421596
      ]
    },
    {
      "input": ["<UNK>", "<UNK> a"], "output": "<UNK>", "am_score": [-1, -2]
    }
]
"""


def test_inputs_scores_and_references_are_read(read, write, values) -> None:
    chosen = HyporadiseFormat()
    first, second = found = read(chosen, SPREAD)
    assert [each.id for each in found] == ["1", "2"]
    assert [h.words[0] for h in first.hypotheses] == ["saatchi", "sachi"]
    assert [h.features["score"] for h in first.hypotheses] == [
        -0.19051286753486185,
        -0.1960289546421596,
    ]
    assert first.reference == ("saatchi", "officials", "said")
    assert first.hypotheses[1].place == "a.list:1: list 1: hypothesis 2"
    assert second.hypotheses[0].place == "a.list:1: list 2: hypothesis 1"
    assert [h.words for h in second.hypotheses] == [(), ("<UNK>", "a")]
    assert second.hypotheses[1].features == {"am_score": -2.0}
    assert second.reference == ()
    assert values(write(chosen, found)) == values(SPREAD)


def test_the_later_layout_has_the_best_apart(read, write, values) -> None:
    chosen = HyporadiseFormat()
    text = '[{"id": 7, "input2": ["b", "c"], "input1": "a", "output": "a"}]'
    (found,) = read(chosen, text)
    assert found.id == "7"
    assert [h.words for h in found.hypotheses] == [("a",), ("b",), ("c",)]
    after = write(chosen, [found], orders=[(2, 0, 1)])
    expected = '[{"id": 7, "input2": ["a", "b"], "input1": "c", "output": "a"}]'
    assert values(after) == values(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[\n{"output": "a"}]', "a.list:1: list 1: found no array 'input'; expected the hyp"),
        ('[{"input1": "a", "input2": "b . c"}]', "a.list:1: list 1: found no array 'input2'"),
        ('[{"input": ["a", 1]}]', "a.list:1: list 1: hypothesis 2: found 1; expected a string"),
        ('[{"input": ["a"], "output": 1}]', "a.list:1: list 1: 'output': found 1; expected a"),
        ('[{"input": []}]', "a.list:1: list 1: found no hypothesis of '1'; expected at least one"),
        ('[{"input": ["a <s> b"]}]', "a.list:1: list 1: hypothesis 1: found <s> within"),
    ],
)
def test_what_is_no_set_is_refused_with_its_line(text: str, message: str, read) -> None:
    with pytest.raises(DataError) as caught:
        read(HyporadiseFormat(), text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_array_of_nothing_is_passed_on_as_it_is(where: str, read, write, values) -> None:
    full = '[{"input": ["a b", "a"], "output": "a b"}]\n'
    text = f"[]\n{full}" if where == "before" else f"{full}[]\n"
    chosen = HyporadiseFormat()
    (found,) = read(chosen, text)
    assert [" ".join(each.words) for each in found.hypotheses] == ["a b", "a"]
    written = write(chosen, [found])
    assert values(written) == values(text)


def test_a_list_without_inputs_is_passed_on_if_it_may_be_missing(read, write, values) -> None:
    chosen = HyporadiseFormat()
    text = '[{"input": []}, {"input": ["a"]}, {"input": [ ]}]\n'
    (found,) = read(chosen, text, allow_missing=True)
    assert found.id == "2"
    assert values(write(chosen, [found])) == values(text)
