"""Lists on their way through: recordings, weights and counts."""

from collections.abc import Sequence

import pytest

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.scorer import SentenceScore, Words
from charlm.nbest.weights import Weights
from charlm.scoring.hypothesis_text import HypothesisText
from charlm.scoring.list_pass import SAMPLE, Pass, recording_by
from charlm.scoring.rescoring import Rescorer


class Remembering:
    """A scorer that notes what each sentence followed; more words are better."""

    name = "nn"

    def __init__(self) -> None:
        self.followed: list[object] = []

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[SentenceScore]:
        import numpy as np

        self.followed.append(memory)
        return [SentenceScore(np.ones(len(w) + 1), np.ones(len(w), bool)) for w in sentences]

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return (*(memory or ()), " ".join(sentence))  # type: ignore[misc]


def listed(id: str, *texts: str, recording: str = "") -> NbestList:
    found = tuple(Hypothesis(tuple(text.split()), {}, "f:1") for text in texts)
    return NbestList(id, found, recording=recording)


def a_pass(scorer: Remembering, **options: object) -> Pass:
    return Pass(
        Rescorer([scorer], text=HypothesisText(None)),
        lambda scored: Weights({"nn": 1.0}),
        lambda scored, result: None,
        "nn",
        **options,  # type: ignore[arg-type]
    )


def test_a_list_follows_the_winners_of_its_recording_and_no_other() -> None:
    scorer = Remembering()
    way = a_pass(scorer, recording_of=recording_by(r"^(.*)-"))
    lists = [listed("x-1", "a", "b c"), listed("x-2", "d"), listed("y-1", "e"), listed("x-3", "f")]
    assert [result.best.words for result in way.run(lists)][0] == ("b", "c")
    assert scorer.followed == [None, ("b c",), None, None]
    assert way.counts.n_recordings == 3


def test_without_a_memory_lists_are_scored_together() -> None:
    scorer = Remembering()
    way = a_pass(scorer, at_once=3)
    assert (
        len(list(way.run([listed("x-1", "a", "b"), listed("x-2", "d"), listed("x-3", "e")]))) == 3
    )
    assert scorer.followed == [None, None]
    assert way.counts.n_recordings == 0


@pytest.mark.parametrize(
    ("pattern", "id", "recording"),
    [
        (r"^(.*)[-_][^-_]*$", "116-288045-0000", "116-288045"),
        (r"^(.*)[-_][^-_]*$", "utt", "utt"),
        (r"^(x)?", "utt", "utt"),
    ],
)
def test_a_recording_is_the_first_group_of_an_id(pattern: str, id: str, recording: str) -> None:
    assert recording_by(pattern)(listed(id, "a")) == recording


def test_a_recording_that_a_format_names_is_taken() -> None:
    assert recording_by("^(.)")(listed("utt", "a", recording="tape")) == "tape"


def test_a_pattern_has_to_be_one_with_a_group() -> None:
    with pytest.raises(ConfigError, match=r"--recordings '\(': .*; expected a pattern"):
        recording_by("(")
    with pytest.raises(ConfigError, match=r"--recordings '\^\.': no group; expected one, as "):
        recording_by("^.")


def test_counts_are_of_lists_and_of_what_is_odd_in_them() -> None:
    way = a_pass(Remembering())
    list(way.run([listed("u", "a", "b c", "a", ""), listed("v", "d")]))
    counts = way.counts
    assert (counts.n_lists, counts.n_choices, counts.n_moved) == (2, 1, 1)
    assert (counts.n_empty, counts.n_duplicates) == (1, 1)
    assert counts.texts == [("a",), ("b", "c"), ("a",), (), ("d",)]


def test_no_more_than_a_sample_of_texts_is_kept() -> None:
    way = a_pass(Remembering())
    list(way.run(listed(str(number), "a", "b") for number in range(SAMPLE)))
    assert len(way.counts.texts) == SAMPLE


def test_weights_are_asked_of_every_list_only_where_each_has_its_own() -> None:
    asked: list[str] = []
    for own in (False, True):
        way = a_pass(Remembering(), own_weights=own)
        way.choose_weights = lambda scored: asked.append(scored.nbest.id) or Weights({"nn": 1.0})
        list(way.run([listed("u", "a"), listed("v", "a")]))
    assert asked == ["u", "u", "v"]
