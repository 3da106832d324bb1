"""Which recording a list is of, and what is remembered within it."""

from collections.abc import Sequence

import pytest

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.scorer import WordLogProbs, Words
from charlm.scoring.rescoring.memory import Memory, recording_by


class Collecting:
    """A scorer that remembers all sentences."""

    name = "nn"

    def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
        return []

    def remember(self, sentence: Words, *, memory: object = None) -> object:
        return (*(memory or ()), *sentence)  # type: ignore[misc]


def listed(id: str, text: str = "a", *, recording: str = "") -> NbestList:
    return NbestList(id, (Hypothesis((text,), {}, "f:1"),), recording=recording)


def test_every_scorer_remembers_what_was_said_in_the_recording_and_nothing_else() -> None:
    memory = Memory([Collecting(), Collecting()], recording_of=recording_by("^(.)"))
    seen = []
    for key in ("x1", "x2", "x3", "y1"):
        memory.enter(listed(key))
        memory.enter(listed(key))  # as a lattice that was searched comes again as a list
        seen.append(memory.states)
        memory.remember([key])
    assert seen == [[None, None], [("x1",)] * 2, [("x1", "x2")] * 2, [None, None]]
    assert memory.n_recordings == 2


@pytest.mark.parametrize(
    ("pattern", "id", "recording"),
    [
        (r"^(.*)[-_][^-_]*$", "116-288045-0000", "116-288045"),
        (r"^(.*)[-_][^-_]*$", "utt", "utt"),
        (r"^(x)?", "utt", "utt"),
    ],
)
def test_a_recording_is_the_first_group_of_an_id(pattern: str, id: str, recording: str) -> None:
    assert recording_by(pattern)(listed(id)) == recording


def test_a_recording_that_a_format_names_is_taken() -> None:
    assert recording_by("^(.)")(listed("utt", recording="tape")) == "tape"


def test_a_pattern_has_to_be_one_with_a_group() -> None:
    with pytest.raises(ConfigError, match=r"--recordings '\(': .*; expected a pattern"):
        recording_by("(")
    with pytest.raises(ConfigError, match=r"--recordings '\^\.': no group; expected one, as "):
        recording_by("^.")
