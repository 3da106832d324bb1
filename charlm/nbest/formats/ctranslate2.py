"""Results of CTranslate2's Whisper (`WhisperGenerationResult`) as JSON, one object per list.

`{"id": "u", "sequences": [["Ġwe", "Ġknow"], …], "sequences_ids": [[321, 458], …], "scores":
[-0.3, …], "no_speech_prob": 0.1}` has the result's attributes as they are (opennmt.net/CTranslate2,
python/ctranslate2.models.WhisperGenerationResult). Texts instead of tokens are read as well. The
layout in a file is charlm's, like that of `huggingface`, whose `generate` uses other names.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Sequence
from functools import cache

from charlm.errors import DataError
from charlm.nbest.reading.format import Sample
from charlm.nbest.reading.json_arrays import ArraysFormat, Texts
from charlm.nbest.reading.json_lists import Record, first_keys
from charlm.nbest.reading.json_values import Json, Number, string, words_in

SPECIAL = re.compile(r"<\|[^|]*\|>")  # <|en|>, <|0.00|>


class Ctranslate2Format(ArraysFormat):
    """`scores` becomes the feature `score`; other arrays of scores keep their names.

    A score is a sum of natural logs divided by the number of tokens to the power of
    `length_penalty`, which is 1 unless `generate` was told otherwise.

    Given the same penalty, the sum is restored from the number of tokens in `sequences_ids`, not
    counting the end. Without `id`, lists are numbered from 1; `reference` is read.
    """

    name = "ctranslate2"
    weights = {"score": 1.0}
    takes = ("length_penalty",)
    score_array = "scores"

    def claims(self, sample: Sample) -> bool:
        keys = first_keys(sample.lines)
        return "sequences" in keys and ("sequences_ids" in keys or "no_speech_prob" in keys)

    def lengths(self, record: Record, n: int) -> Sequence[Json]:
        for name in ("sequences_ids", "sequences"):
            found = record.value.get(name)
            lists = found if isinstance(found, list) else []
            sizes = [Number(str(len(each))) for each in lists if isinstance(each, list)]
            if len(sizes) == n:
                return sizes
        return super().lengths(record, n)

    def texts(self, record: Record) -> Texts:
        """The sequences, without marks of language, task and time."""
        texts = []
        for i, each in enumerate(record.array("sequences", what="one of tokens")):
            where = f"{record.place}: hypothesis {i + 1}"
            text = _text(each, where) if isinstance(each, list) else string(each, where)
            texts.append((("sequences", i), words_in(SPECIAL.sub("", text), where)))
        return texts


def _text(tokens: Sequence[Json], where: str) -> str:
    """The text of byte-level tokens, in which a letter stands for each byte, as in GPT-2."""
    letters = "".join(string(token, where) for token in tokens)
    parts = SPECIAL.split(letters)
    try:
        return "".join(_decoded(bytes(_bytes()[each] for each in part)) for part in parts)
    except (KeyError, UnicodeDecodeError):
        raise DataError(
            f"{where}: found tokens that are no text, {letters[:40]!r}; expected those of "
            "Whisper's vocabulary, as CTranslate2 gives them"
        ) from None


def _decoded(raw: bytes) -> str:
    """UTF-8 as text; U+FFFD for a character that `max_length` cut off, as Whisper itself has it."""
    decoder = getincrementaldecoder("utf-8")()
    text, (rest, _) = decoder.decode(raw), decoder.getstate()
    return text + ("\N{REPLACEMENT CHARACTER}" if rest else "")


@cache
def _bytes() -> dict[str, int]:
    """The byte for each letter: visible bytes stand for themselves, the others from U+0100 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(0x100) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {
        chr(0x100 + i): byte for i, byte in enumerate(unseen)
    }
