"""Which lists belong to one recording, according to their format or else to their ids.

The end of an id tells the utterances of a recording apart. It is either the start and end time, as
in `sw_40008_A_98_1156`, `AMI_EN2001a_H00_MEE068_0000557_0000594` and `talk-12.30-15.75`, or the
utterance's name, as in `1089-134686-0007` and Kaldi's `spk-utt`. LibriSpeech's chapter and number
are not times.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from charlm.errors import ConfigError
from charlm.nbest.hypotheses import NbestList

_TIME = r"([0-9]+(?:\.[0-9]+)?)"
TIMES = re.compile(rf"(.+)[-_]{_TIME}[-_]{_TIME}")
CHANNEL = re.compile(r".*[-_][A-Za-z]")  # one of a conversation's two sides; times follow it
NAME = re.compile(r"(.+)[-_][^-_]+")


def recording_by(pattern: str = "") -> Callable[[NbestList], str]:
    """A function from a list to its recording: the format's, else the pattern's group in the id.

    Without a pattern, the recording is the id up to the times or the name of the utterance; an id
    of one part is a recording of its own.

    Raises:
        ConfigError: not a regular expression, or one without a group.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"--recordings {pattern!r}: {error}; expected a pattern") from None
    if pattern and not compiled.groups:
        raise ConfigError(f"--recordings {pattern!r}: no group; expected one, as ^(.*)-")

    def recording_of(nbest: NbestList) -> str:
        found = compiled.search(nbest.id) if pattern else _before_times_or_name(nbest.id)
        return nbest.recording or (found and found.group(1)) or nbest.id

    return recording_of


def with_recording(nbest: NbestList, pattern: str) -> NbestList:
    """The list with the recording that it or a pattern states; without a pattern none is guessed.

    Raises:
        ConfigError: as `recording_by`.
    """
    return replace(nbest, recording=recording_by(pattern)(nbest)) if pattern else nbest


def _before_times_or_name(id: str) -> re.Match[str] | None:
    found = TIMES.fullmatch(id)
    if found:
        before, start, end = found.groups()
        has_width = len(start) == len(end) or ("." in start and "." in end)
        if (has_width or CHANNEL.fullmatch(before)) and float(start) < float(end):
            return found
    return NAME.fullmatch(id)
