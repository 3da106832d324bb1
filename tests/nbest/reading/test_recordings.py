"""Recordings of list ids: the shapes of ids that tools make, and patterns."""

import pytest

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import NbestList
from charlm.nbest.reading.recordings import recording_by


@pytest.mark.parametrize(
    ("id", "recording"),
    [
        ("1089-134686-0007", "1089-134686"),  # LibriSpeech
        ("32-0137-0140", "32"),  # … if these were times; the chapters' numbers are larger
        ("32-4137-0007", "32-4137"),  # … and sometimes as wide as the utterance's
        ("spk1-utt3", "spk1"),  # Kaldi
        ("sw02001-A_000098-001156", "sw02001-A"),
        ("sw_40008_A_98_1156", "sw_40008_A"),  # SRILM
        ("AMI_EN2001a_H00_MEE068_0000557_0000594", "AMI_EN2001a_H00_MEE068"),
        ("AaronHuey_2010X-0000123-0000456", "AaronHuey_2010X"),  # TED-LIUM
        ("sw_4390_A-9.34-15.2", "sw_4390_A"),  # a CTM's times
        ("talk-9.30-15.75", "talk"),  # seconds, of different widths
        ("talk-9.30-15", "talk-9.30"),  # not seconds
        ("book_0012_0012", "book_0012"),  # an end that is no later than the start is no time
        ("utt7", "utt7"),
        ("0007", "0007"),
        ("-7", "-7"),
    ],
)
def test_a_recording_is_what_stands_before_an_utterances_times_or_name(
    id: str, recording: str
) -> None:
    assert recording_by()(NbestList(id, ())) == recording


@pytest.mark.parametrize(
    ("pattern", "recording"), [("^([^-]*)-", "116"), ("^(x)?", "116-2-3"), ("^(.)", "1")]
)
def test_a_pattern_takes_its_first_group(pattern: str, recording: str) -> None:
    assert recording_by(pattern)(NbestList("116-2-3", ())) == recording


@pytest.mark.parametrize("pattern", ["", "^(.)"])
def test_a_recording_that_a_format_names_is_taken(pattern: str) -> None:
    assert recording_by(pattern)(NbestList("spk-utt", (), recording="tape")) == "tape"


def test_a_pattern_has_to_be_one_with_a_group() -> None:
    with pytest.raises(ConfigError, match=r"--recordings '\(': .*; expected a pattern"):
        recording_by("(")
    with pytest.raises(ConfigError, match=r"--recordings '\^\.': no group; expected one, as "):
        recording_by("^.")
