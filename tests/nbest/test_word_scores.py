"""Kaldi's word scores: natural logarithms, `</s>` last, a line where each hypothesis stood."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from charlm.errors import ConfigError, DataError
from charlm.nbest.format import Format
from charlm.nbest.formats import format_of
from charlm.nbest.formats.templates import Template
from charlm.nbest.hypotheses import Hypothesis, NbestList, Rescored
from charlm.nbest.scorer import WordLogProbs
from charlm.nbest.word_scores import word_score_line, write_word_scores


def scores(*log_probs: float) -> WordLogProbs:
    return WordLogProbs(np.array(log_probs), np.ones(len(log_probs) - 1, np.bool_))


def written(form: Format, slots: Sequence[int], *originals: object) -> list[str]:
    hypotheses = tuple(Hypothesis((), {}, "a:1", original) for original in originals)
    nbest = NbestList("u", hypotheses, original=Template((), tuple(slots)))
    words = tuple(scores(-float(k)) for k in range(len(originals)))
    text = "".join(piece.text for piece in write_word_scores([Rescored(nbest, words=words)], form))
    return text.splitlines()


def test_a_line_holds_the_key_the_words_and_the_end_last() -> None:
    assert word_score_line("utt-1", scores(-1.5, -0.25, -2)) == "utt-1 -1.5 -0.25 -2"
    assert word_score_line("utt-2", scores(-0.0)) == "utt-2 0"


def test_digits_tell_fp32_numbers_apart() -> None:
    one = np.float32(-7.1234567)
    two = np.nextafter(one, np.float32(0))
    lines = [word_score_line("a", scores(each)) for each in (one, two)]
    assert [np.float32(line.split()[1]) for line in lines] == [one, two]


def test_an_archive_keeps_its_keys_and_the_places_of_its_lines() -> None:
    keys = [("u-1", ""), ("u-2", ""), ("u-10", "")]  # as Kaldi sorts them: u-1, u-10, u-2
    assert written(format_of("kaldi"), (0, 2, 1), *keys) == ["u-1 0", "u-10 -2", "u-2 -1"]


def test_elsewhere_a_rank_tells_several_hypotheses_apart() -> None:
    assert written(format_of("tsv"), (0, 1), None, None) == ["u-1 0", "u-2 -1"]
    assert written(format_of("text"), (0,), None) == ["u 0"]


def test_a_lattice_has_no_scores_of_words() -> None:
    item = Rescored(NbestList("u", (Hypothesis((), {}, "a:1"),)))
    with pytest.raises(ConfigError, match="'u' is of a lattice"):
        list(write_word_scores([item], format_of("tsv")))


@pytest.mark.parametrize("key", ["", "a b", "a\tb", "a\u3000b"])
def test_an_id_that_would_become_words_is_refused(key: str) -> None:
    with pytest.raises(DataError, match="cannot stand in Kaldi's tables"):
        word_score_line(key, scores(-1.0))


@pytest.mark.parametrize("value", [-math.inf, math.nan])
def test_what_is_no_number_is_not_written(value: float) -> None:
    with pytest.raises(DataError, match="a word has the log-probability"):
        word_score_line("a", scores(value, -1.0))
