"""Lists of speech services and of Python decoders: what is read, and what is written back."""

import json
import math

import pytest

from charlm.errors import DataError
from charlm.nbest.formats.aws import AwsFormat
from charlm.nbest.formats.azure import AzureFormat
from charlm.nbest.formats.ctranslate2 import Ctranslate2Format
from charlm.nbest.formats.google import GoogleFormat
from charlm.nbest.formats.pyctcdecode import PyctcdecodeFormat
from charlm.nbest.reading.format import Sample


def said(lists) -> list[list[tuple[str, dict[str, float]]]]:
    return [[(" ".join(h.words), dict(h.features)) for h in each.hypotheses] for each in lists]


def test_azures_words_are_the_lexical_ones_and_silence_is_passed_on(read, write, values) -> None:
    phrase = {"NBest": [{"Confidence": 0.9, "Lexical": "two", "ITN": "2", "Display": "2."}]}
    phrase["NBest"].append({"Confidence": 0.8, "Lexical": "to", "Display": "To."})
    text = f'{{"RecognitionStatus": "InitialSilenceTimeout"}}\n{json.dumps(phrase)}\n'
    form = AzureFormat()
    lists = read(form, text)
    assert said(lists) == [[("two", {"confidence": 0.9}), ("to", {"confidence": 0.8})]]
    silence, again = values(write(form, lists, scores=[[-1, -2]], orders=[[1, 0]]))
    assert silence == (("RecognitionStatus", "InitialSilenceTimeout"),)
    assert [dict(each)["Lexical"] for each in dict(again)["NBest"]] == ["to", "two"]
    assert float(dict(dict(again)["NBest"][0])["charlm"]) == -2


def test_the_phrases_of_a_batch_transcription_stay_within_it(read, write, values) -> None:
    phrases = [{"channel": 0, "nBest": [{"confidence": 0.9, "lexical": each}]} for each in "ab"]
    whole = {"source": "x", "recognizedPhrases": phrases, "durationInTicks": 12}
    form = AzureFormat()
    lists = read(form, json.dumps(whole))
    assert [each.id for each in lists] == ["1", "2"]
    assert values(write(form, lists)) == values(json.dumps(whole))


def test_the_results_of_googles_operations_stay_within_them(read, write, values) -> None:
    results = [{"alternatives": [{"transcript": each}]} for each in "ab"]
    whole = {"name": "1", "metadata": {"x": 1}, "done": True, "response": {"results": results}}
    form, text = GoogleFormat(), json.dumps(whole, indent=2)
    assert form.claims(Sample("a.json", tuple(text.split("\n")), ()))
    lists = read(form, text)
    assert [each.id for each in lists] == ["1", "2"]
    assert values(write(form, lists)) == values(text)


def test_a_confidence_that_google_did_not_set_is_0_in_the_whole_list(read) -> None:
    alternatives = [{"transcript": "a", "confidence": 0.9}, {"transcript": " b", "confidence": 0.0}]
    both = [{"transcript": "a", "confidence": 0.9}, {"transcript": "b", "confidence": 0.5}]
    results = {"results": [{"alternatives": alternatives}, {"alternatives": both}, {"x": 1}]}
    first, second = said(read(GoogleFormat(), json.dumps(results)))
    assert first == [("a", {"confidence": 0.0}), ("b", {"confidence": 0.0})]
    assert second == [("a", {"confidence": 0.9}), ("b", {"confidence": 0.5})]


def test_an_amazon_segment_is_as_sure_as_its_words(read, write, values) -> None:
    words = [("We", "0.5"), ("know", "0.0")]
    items = [{"type": "pronunciation", "content": w, "confidence": c} for w, c in words]
    items.append({"type": "punctuation", "content": ".", "confidence": "0.0"})
    alternatives = [{"transcript": "We know.", "items": items}]
    results = {"transcripts": [], "segments": [{"alternatives": alternatives}]}
    whole = json.dumps({"jobName": "j", "results": results, "status": "COMPLETED"})
    form = AwsFormat()
    lists = read(form, whole)
    ((found,),) = said(lists)
    assert found == ("We know.", {"confidence": pytest.approx(math.log(0.5) + math.log(0.001))})
    assert values(write(form, lists)) == values(whole)


def test_an_amazon_segment_without_confidences_of_words_is_not_sure_of_any(read) -> None:
    alternatives = [{"transcript": "a", "items": [{"type": "pronunciation", "confidence": "0.5"}]}]
    segments = [{"alternatives": [*alternatives, {"transcript": "b"}]}]
    results = {"transcripts": [], "segments": segments}
    (found,) = said(read(AwsFormat(), json.dumps({"results": results})))
    assert found == [("a", {"confidence": 0.0}), ("b", {"confidence": 0.0})]


def test_whispers_tokens_are_read_as_text_and_its_scores_as_sums(read) -> None:
    tokens = [["<|0.00|>", "Ġwe", "Ġna", "Ã¯", "ve", "<|1.00|>"], ["Ġwe"]]
    result = {"sequences": tokens, "sequences_ids": [[1] * 6, [1]], "scores": [-0.5, -0.25]}
    form = Ctranslate2Format()
    (found,) = said(read(form, json.dumps(result), length_penalty=1.0))
    assert found == [("we naïve", {"score": -3.0}), ("we", {"score": -0.25})]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_scores_that_whisper_was_not_asked_for_are_no_features(penalty, read, write) -> None:
    result = {"sequences": [["Ġwe"], ["Ġno"]], "sequences_ids": [[1], [2]], "scores": []}
    form, text = Ctranslate2Format(), json.dumps(result) + "\n"
    lists = read(form, text, length_penalty=penalty)
    assert said(lists) == [[("we", {}), ("no", {})]]
    assert write(form, lists) == text
    assert json.loads(write(form, lists, scores=[(-9, -3)]))["charlm"][-1] == -3


def test_lengths_that_no_tokens_tell_are_asked_for_or_read(read) -> None:
    result = {"sequences": ["we know", "we"], "scores": [-0.5, -0.25], "no_speech_prob": 0.1}
    form = Ctranslate2Format()
    with pytest.raises(DataError, match=r"^a.list:1: found no array 'lengths' of 2 numbers; expec"):
        read(form, json.dumps(result), length_penalty=1.0)
    (found,) = said(read(form, json.dumps(result | {"lengths": [3, 2]}), length_penalty=1.0))
    assert found == [("we know", {"score": -1.5}), ("we", {"score": -0.5})]


def test_a_character_that_whispers_longest_text_cuts_off_is_no_error(read) -> None:
    tokens = [["Ġna", "Ã¯", "ve", "Ġæ", "Ĺ"], ["<|0.00|>", "Ġna", "Ã", "<|1.00|>"]]
    (found,) = said(read(Ctranslate2Format(), json.dumps({"sequences": tokens})))
    assert [text for text, _ in found] == ["naïve \ufffd", "na\ufffd"]


def test_the_parts_of_a_beams_score_come_apart(read, write, values) -> None:
    beams = [["we know", None, [["we", [0, 3]]], -1.5, -2.25], ["we", [], -2.0, -2.5]]
    text = json.dumps({"id": "u", "beams": beams, "frames": [1, 2]})
    form = PyctcdecodeFormat()
    lists = read(form, text)
    assert said(lists) == [
        [("we know", {"logit": -1.5, "lm": -0.75}), ("we", {"logit": -2.0, "lm": -0.5})]
    ]
    (again,) = values(write(form, lists, scores=[[-1, -2]], orders=[[1, 0]]))
    assert [each[0] for each in dict(again)["beams"]] == ["we", "we know"]
    assert [float(each) for each in dict(again)["charlm"]] == [-2, -1]


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        (AzureFormat, '{"NBest": [1]}', "expected one with 'Lexical'"),
        (GoogleFormat, '{"results": 1}', "expected an object that holds"),
        (AwsFormat, '{"results": {"segments": [{}]}}', "ask the job for them"),
        (AwsFormat, '{"results": {"transcripts": [{"transcript": "a"}]}}', "ask the job for them"),
        (Ctranslate2Format, '{"sequences": 1}', "expected one of tokens"),
        (Ctranslate2Format, '{"sequences": [["日"]]}', "expected those of Whisper's vocabulary"),
        (Ctranslate2Format, '{"sequences": [["Ãa"]]}', "expected those of Whisper's vocabulary"),
        (PyctcdecodeFormat, '{"beams": 1}', "expected what decode_beams gives"),
        (PyctcdecodeFormat, '{"beams": [["a", 1]]}', "hypothesis 1: found no beam; expected"),
    ],
)
def test_what_is_not_of_the_format_is_told_with_its_place(read, form, text, message) -> None:
    with pytest.raises(DataError) as caught:
        read(form(), text)
    assert str(caught.value).startswith("a.list:1: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("confidence", ["x", "2", "nan"])
def test_a_confidence_of_amazons_that_is_none_is_refused(read, confidence: str) -> None:
    item = {"type": "pronunciation", "confidence": confidence}
    segment = {"alternatives": [{"transcript": "a", "items": [item]}]}
    with pytest.raises(DataError, match="expected a number from 0 to 1, as text"):
        read(AwsFormat(), json.dumps({"results": {"segments": [segment]}}))
