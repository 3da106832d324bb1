"""WER and CER: counts against the textbook table, and texts compared as they are."""

import random

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.metrics.error_rates import CharacterErrorRate, WordErrorRate
from charlm.nbest.metrics.metric_names import metric_named

WORDS = st.lists(st.sampled_from(["a", "b", "c", "ab"]), max_size=6).map(tuple)


def nbest_of(*texts: str, id: str = "u") -> NbestList:
    words = [tuple(text.split(" ")) if text else () for text in texts]
    return NbestList(id, tuple(Hypothesis(each, {}, "x:1") for each in words))


def edits(first: str | tuple[str, ...], second: str | tuple[str, ...]) -> int:
    """The fewest edits, by the table of Wagner and Fischer."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


@settings(max_examples=50)
@given(reference=WORDS.filter(bool), hypotheses=st.lists(WORDS, min_size=1, max_size=4))
def test_edits_are_the_fewest_there_are_in_words_and_in_characters(
    reference: tuple[str, ...], hypotheses: list[tuple[str, ...]]
) -> None:
    nbest = NbestList("u", tuple(Hypothesis(words, {}, "x:1") for words in hypotheses))
    (words_HK,) = WordErrorRate().statistics([nbest], {"u": reference})
    (characters_HK,) = CharacterErrorRate().statistics([nbest], {"u": reference})
    text = " ".join(reference)
    assert words_HK[:, :3].sum(1).tolist() == [edits(reference, each) for each in hypotheses]
    assert characters_HK[:, :3].sum(1).tolist() == [
        edits(text, " ".join(each)) for each in hypotheses
    ]
    assert set(words_HK[:, 3].tolist()) == {len(reference)}
    assert set(characters_HK[:, 3].tolist()) == {len(text)}


def test_substitutions_deletions_and_insertions_are_told_apart() -> None:
    nbest = nbest_of("a x c", "a c", "a b c d e", "")
    (counts_HK,) = WordErrorRate().statistics([nbest], {"u": ("a", "b", "c")})
    assert counts_HK.tolist() == [[1, 0, 0, 3], [0, 1, 0, 3], [0, 0, 2, 3], [0, 3, 0, 3]]


def test_the_rate_of_summed_counts_is_jiwers_of_the_corpus() -> None:
    references = ["we do know that", "the cat sat", "no"]
    hypotheses = ["we know that that", "a cat sat on", ""]
    lists = [nbest_of(text, id=str(number)) for number, text in enumerate(hypotheses)]
    by_id = {str(number): tuple(text.split()) for number, text in enumerate(references)}
    for metric, wanted in (
        (WordErrorRate(), jiwer.wer(references, hypotheses)),
        (CharacterErrorRate(), jiwer.cer(references, hypotheses)),
    ):
        sums_K = np.concatenate(metric.statistics(lists, by_id)).sum(axis=0)
        assert metric.errors(sums_K[None])[0] == pytest.approx(wanted)


def test_a_word_is_not_cut_at_a_no_break_space() -> None:
    (counts_HK,) = WordErrorRate().statistics([nbest_of("10\u00a0\u00a0% of")], {"u": ("of",)})
    assert counts_HK.tolist() == [[0, 0, 1, 1]]


def test_a_vowel_sign_is_a_character() -> None:
    (counts_HK,) = CharacterErrorRate().statistics([nbest_of("\u0915")], {"u": ("\u0915\u093f",)})
    assert counts_HK.tolist() == [[0, 1, 0, 2]]


def test_words_that_differ_in_case_are_errors() -> None:
    nbest, references = nbest_of("We KNOW", "we know"), {"u": ("WE", "know")}
    (mixed_HK,) = metric_named("wer").statistics([nbest], references)
    assert mixed_HK[:, 0].tolist() == [2, 1]
    assert metric_named("wer").signature.startswith("wer|case:mixed|rapidfuzz:")
    assert metric_named("cer").signature.startswith("cer|case:mixed|rapidfuzz:")


def test_a_text_that_comes_again_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = WordErrorRate()
    seen: list[tuple[str, str]] = []
    count = metric.count
    monkeypatch.setattr(metric, "count", lambda pairs: seen.extend(pairs) or count(pairs))
    lists, references = [nbest_of("a b", "a", "a b")], {"u": ("a",)}
    first = metric.statistics(lists, references)
    second = metric.statistics(lists, references)
    assert seen == [("a", "a b"), ("a", "a")]
    assert first[0].tolist() == second[0].tolist() == [[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]]


@pytest.mark.parametrize(
    ("metric", "split"),
    [
        (WordErrorRate(), jiwer.ReduceToListOfListOfWords()),
        (CharacterErrorRate(), jiwer.ReduceToListOfListOfChars()),
    ],
)
def test_the_kinds_of_edits_are_jiwers(
    metric: WordErrorRate | CharacterErrorRate, split: jiwer.AbstractTransform
) -> None:
    draw = random.Random(0)
    words = ["a", "b", "cc", "ddd", "e\u0301", "\u00a0"]
    texts = [" ".join(draw.choices(words, k=draw.randrange(9))) for _ in range(400)]
    pairs = list(zip(texts[:200], texts[200:], strict=True))
    found = [jiwer.process_words([one], [two], split, split) for one, two in pairs]
    assert list(metric.count(pairs)) == [
        (each.substitutions, each.deletions, each.insertions, len(each.references[0]))
        for each in found
    ]


def test_one_reference_of_several_may_be_without_words() -> None:
    lists = [nbest_of("a b", id="silence"), nbest_of("a", id="u")]
    counts_LHK = WordErrorRate().statistics(lists, {"silence": (), "u": ("a",)})
    assert [each.tolist() for each in counts_LHK] == [[[0, 0, 2, 0]], [[0, 0, 0, 1]]]
