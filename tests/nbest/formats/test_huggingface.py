"""Hugging Face's sequences as JSON, with the length penalty undone."""

import json
import math

import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.formats.huggingface import HuggingFaceFormat

ROW = {
    "id": "u-1",
    "sequences": ["we know", "we"],
    "sequences_scores": [-0.5, -0.75],
    "lengths": [4, 2],
    "beam_indices": [[0, 1], [1, 1]],
    "transition_scores": [[-0.5, -1.5], [-1.5]],
    "reference": "we know",
}
TEXT = json.dumps(ROW) + "\n" + '{"sequences": [""], "seen": [true], "logprobs": [-1e-3]}\n'


def test_sequences_and_scores_are_read(read, write, values) -> None:
    chosen = HuggingFaceFormat()
    first, second = found = read(chosen, TEXT)
    assert (first.id, second.id) == ("u-1", "2")
    assert [h.words for h in first.hypotheses] == [("we", "know"), ("we",)]
    assert [h.features for h in first.hypotheses] == [{"score": -0.5}, {"score": -0.75}]
    assert first.reference == ("we", "know")
    assert (second.hypotheses[0].words, second.hypotheses[0].features) == ((), {"logprobs": -0.001})
    assert values(write(chosen, found)) == values(TEXT)


def test_an_array_of_lists_is_read_as_lines_are(read) -> None:
    text = "[" + ",\n".join(TEXT.splitlines()) + "]"
    assert [each.id for each in read(HuggingFaceFormat(), text)] == ["u-1", "2"]


def test_reranked_all_arrays_of_the_list_move_together(read, write) -> None:
    chosen = HuggingFaceFormat()
    found = read(chosen, TEXT)
    after = write(chosen, found, scores=[(-9, -3), (-1,)], orders=[(1, 0), (0,)])
    assert json.loads(after.split("\n")[0]) == {
        "id": "u-1",
        "sequences": ["we", "we know"],
        "sequences_scores": [-0.75, -0.5],
        "lengths": [2, 4],
        "beam_indices": [[1, 1], [0, 1]],
        "transition_scores": [[-1.5], [-0.5, -1.5]],
        "reference": "we know",
        "charlm": [-3, -9],
    }
    (first, _) = again = read(chosen, after)
    assert [h.features["charlm"] for h in first.hypotheses] == [-3, -9]
    with pytest.raises(DataError, match="found a feature 'charlm' already; expected none"):
        write(chosen, again, scores=[(0, 0), (0,)])


@pytest.mark.parametrize(("penalty", "sums"), [(1.0, [-2.0, -1.5]), (2.0, [-8.0, -3.0])])
def test_a_penalty_is_undone_with_the_numbers_of_tokens(penalty, sums, read) -> None:
    (found,) = read(HuggingFaceFormat(), TEXT.split("\n")[0], length_penalty=penalty)
    assert [h.features["score"] for h in found.hypotheses] == sums


def test_only_the_decoders_scores_were_divided_by_the_length(read, write) -> None:
    chosen = HuggingFaceFormat()
    row = json.dumps({**ROW, "lm_scores": [-7, -8]})
    written = write(chosen, read(chosen, row), scores=[(-9, -3)])
    (again,) = read(chosen, written, length_penalty=1.0)
    assert [dict(h.features) for h in again.hypotheses] == [
        {"score": -2.0, "lm_scores": -7.0, "charlm": -9.0},
        {"score": -1.5, "lm_scores": -8.0, "charlm": -3.0},
    ]


def test_a_list_without_scores_may_stand_among_others_if_they_may_be_missing(read) -> None:
    text = json.dumps({**ROW, "lm_scores": [-7, -8], "sequences_scores": None})
    options = {"length_penalty": 1.0, "allow_missing": True}
    (found,) = read(HuggingFaceFormat(), text, **options)
    assert [dict(h.features) for h in found.hypotheses] == [{"lm_scores": -7}, {"lm_scores": -8}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sequences": [[1, 2], [3]]}, "found a sequence that is no text; expected texts; decode"),
        ({"sequences": "we"}, "found no array 'sequences'; expected one of texts"),
        ({"sequences": []}, "found no hypothesis of 'u-1'; expected at least one"),
        ({"score": [-5, -1]}, "found both 'score' and 'sequences_scores'; expected one, since"),
        ({"sequences_scores": [1]}, "found 1 numbers in 'sequences_scores' for 2 hypotheses"),
        ({"sequences_scores": [1, "x"]}, "'sequences_scores': found 'x'; expected a number"),
        ({"sequences_scores": [[1], [2]]}, "'sequences_scores': found '[1]'; expected a number"),
        ({"sequences_scores": [1, None]}, "utterance 'u-1': the feature 'score' is nan; expected"),
        ({"lengths": [1]}, "found no array 'lengths' of 2 numbers; expected those of the tokens"),
        ({"sequences_scores": None}, "found no array 'sequences_scores'; expected the scores that"),
        ({"lengths": [1, 0]}, "found the length 0; expected that of a text, 1 or more"),
        ({"lengths": [1, 1e300]}, "found the length 1e+300; expected that of a text"),
        ({"reference": 1}, "'reference': found 1; expected a string"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_with_its_line(change, message, read) -> None:
    text = "\n" + json.dumps({**ROW, **change})
    with pytest.raises(DataError) as caught:
        read(HuggingFaceFormat(), text, length_penalty=1.0)
    assert str(caught.value).startswith("a.list:2: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("penalty", [1e5, -11.0, math.nan])
def test_a_penalty_that_generate_was_not_given_is_refused(penalty, read) -> None:
    with pytest.raises(ConfigError, match=r"length penalty .*: expected what `generate` was given"):
        read(HuggingFaceFormat(), TEXT, length_penalty=penalty)
