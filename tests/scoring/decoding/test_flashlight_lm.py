"""The calls that flashlight's decoders make, by hand, and by its lexicon decoder if installed."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from charlm.decoders import FlashlightLM, StatefulModel
from charlm.errors import ConfigError

Load = Callable[[str], StatefulModel]
LogProb = Callable[[StatefulModel, list[str]], float]

KINDS = ("run", "spelling run", "n-gram model", "spelling n-gram model", "mixture")
LEXICON = ["ab", "zz", "<unk>", "a", "b"]  # the ids are the decoder's own


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_decoder_adds_up_is_the_score_of_the_sentence(
    load: Load, kind: str, log_prob: LogProb
) -> None:
    model = load(kind)
    lm = FlashlightLM(model, words=LEXICON)
    for ids in product([0, 1, 3, 4], repeat=3):
        state, total = lm.start(False), 0.0
        for number in ids:
            state, score = lm.score(state, number)
            total += score
        total += lm.finish(state)[1]
        expected = log_prob(model, [LEXICON[number] for number in ids])
        assert total == pytest.approx(expected, abs=1e-5)


def test_equal_words_are_the_same_state_and_others_are_not(load: Load) -> None:
    lm = FlashlightLM(load("run"), words=LEXICON)
    start = lm.start(False)
    (once, score), (again, same_score) = lm.score(start, 3), lm.score(start, 3)
    assert once is again
    assert score == same_score
    assert lm.score(start, 4)[0] is not once
    assert lm.score(once, 3)[0] is not once
    assert lm.start(False) is not start


def test_a_word_after_which_nothing_is_asked_is_not_read(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, read = load("run"), list[object]()
    step = model.step
    monkeypatch.setattr(model, "step", lambda *given: read.append(given[1]) or step(*given))
    lm = FlashlightLM(model, words=LEXICON)
    states = [lm.score(lm.start(False), number)[0] for number in range(5)]
    assert read == []
    lm.score(states[3], 4)
    lm.finish(states[3])
    assert read == [["a"]]


def test_a_list_that_is_shorter_than_the_decoders_is_refused(load: Load) -> None:
    lm = FlashlightLM(load("run"), words=LEXICON)
    with pytest.raises(
        ConfigError,
        match="^words: found 5, but the decoder asks about word 5; expected all words of its "
        "dictionary, in their order$",
    ):
        lm.score(lm.start(False), 5)


@pytest.mark.parametrize("kind", KINDS)
def test_flashlights_totals_are_the_frames_scores_and_the_models(
    load: Load, kind: str, log_prob: LogProb
) -> None:
    flashlight: Any = pytest.importorskip("flashlight.lib.text.decoder")
    model = load(kind)
    lm = FlashlightLM(model, words=LEXICON)
    letters = ["-", "|", "a", "b", "z"]
    lexicon = flashlight.Trie(len(letters), 1)
    for number in (0, 1, 3, 4):
        spelling = [letters.index(letter) for letter in f"{LEXICON[number]}|"]
        lexicon.insert(spelling, number, lm.score(lm.start(False), number)[1])
    lexicon.smear(flashlight.SmearingMode.MAX)
    options = flashlight.LexiconDecoderOptions(
        *(200, len(letters), 1000.0, 0.7, 0.3, -math.inf, 0.0, False),
        flashlight.CriterionType.CTC,
    )
    decoder = flashlight.LexiconDecoder(options, lexicon, lm, 1, 0, 2, [], False)
    frames = np.random.default_rng(1).normal(0, 2, (12, len(letters))).astype(np.float32)
    found = decoder.decode(frames.ctypes.data, *frames.shape)
    assert len({tuple(each.words) for each in found}) > 20
    for each in found:
        words = [LEXICON[number] for number in each.words if number >= 0]
        expected = log_prob(model, words)
        assert each.lmScore == pytest.approx(expected, abs=1e-4)
        total = sum(frames[t, letter] for t, letter in enumerate(each.tokens[1:-1]))
        total += 0.7 * expected + 0.3 * len(words)
        assert each.score == pytest.approx(total, abs=1e-3)
