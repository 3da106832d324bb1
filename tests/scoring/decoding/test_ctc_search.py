"""The CTC search against all alignments to the frames, and what it refuses."""

import math
from collections import defaultdict
from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
import torch

from charlm.decoders import StatefulModel, Transcript, ctc_beam_search
from charlm.errors import ConfigError, DataError

Load = Callable[[str], StatefulModel]

ALPHABET = ["", "a", " ", "b"]
WIDE = {"beam_width": 10**6, "beam_margin": 1e9, "least_letter": -1e9, "n_best": 10**6}
KINDS = ("run", "spelling run", "n-gram model", "spelling n-gram model", "mixture")


def frames(n: int, seed: int) -> npt.NDArray[np.float64]:
    scores = np.random.default_rng(seed).normal(0, 2, (n, len(ALPHABET)))
    return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))


def ctc_log_probs(log_probs: npt.NDArray[np.float64]) -> dict[str, float]:
    """Every text by all ways to it: repeated letters are one, then blanks go, spaces are one."""
    found: dict[str, float] = defaultdict(float)
    for path in product(range(len(ALPHABET)), repeat=len(log_probs)):
        kept = [k for place, k in enumerate(path) if not place or path[place - 1] != k]
        text = " ".join("".join(ALPHABET[k] for k in kept).split())
        found[text] += math.exp(sum(log_probs[t, k] for t, k in enumerate(path)))
    return {text: math.log(value) for text, value in found.items()}


def lm_scores(model: StatefulModel, text: str, *, unk_offset: float) -> tuple[float, float]:
    """ln P of a text with its end, and the offsets of its unknown words."""
    state, total, offsets = model.start(), 0.0, 0.0
    for word in text.split():
        log_probs, known, state = model.step(state, [word])
        total += float(log_probs[0])
        offsets += 0.0 if known[0] else unk_offset * max(1.0, len(word) / 6)
    return total + float(model.finish(state)[0]), offsets


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_wide_beam_finds_what_all_ways_together_give(load: Load, kind: str, seed: int) -> None:
    model, log_probs = load(kind), frames(5, seed)
    offset = 0.0 if "spelling" in kind else -3.0
    found = ctc_beam_search(
        log_probs, alphabet=ALPHABET, model=model, alpha=0.7, beta=0.4, unk_offset=offset, **WIDE
    )
    expected = []
    for text, log_prob in ctc_log_probs(log_probs).items():
        lm, offsets = lm_scores(model, text, unk_offset=offset)
        score = log_prob + 0.7 * (lm + offsets) + 0.4 * len(text.split())
        expected.append(Transcript(text, score, log_prob, lm))
    expected.sort(key=lambda each: -each.score)
    by_text = {each.text: each for each in found}
    assert found[0].text == expected[0].text
    assert by_text.keys() == {each.text for each in expected}
    for each in expected:
        assert by_text[each.text][1:] == pytest.approx(each[1:], abs=1e-4)


def test_without_a_model_texts_have_their_ctc_probability() -> None:
    log_probs = frames(6, 3)
    found = ctc_beam_search(log_probs, alphabet=ALPHABET, **WIDE)
    expected = ctc_log_probs(log_probs)
    assert {each.text: each.score for each in found} == pytest.approx(expected, abs=1e-9)
    assert [each.score for each in found] == sorted((x.score for x in found), reverse=True)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_narrow_beam_asks_for_a_batch_and_finds_the_best_here(load: Load, seed: int) -> None:
    # Without any one term of the scores by which it is pruned, it loses the best in some of these.
    model, log_probs = load("run"), frames(6, seed)
    options = {"alphabet": ALPHABET, "model": model, "alpha": 1.5, "beta": 3.0, "unk_offset": -3.0}
    (narrow,) = ctc_beam_search(log_probs, beam_width=4, **options)
    assert narrow.text == ctc_beam_search(log_probs, **options, **WIDE)[0].text


def test_what_the_model_prefers_wins_over_the_letters(load: Load) -> None:
    likely = np.log([[0.02, 0.5, 0.01, 0.47]])  # a or b
    model = load("n-gram model")
    a, b = (lm_scores(model, text, unk_offset=0)[0] for text in "ab")
    (found,) = ctc_beam_search(likely, alphabet=ALPHABET, model=model, alpha=0.0)
    assert found.text == "a"
    likely = likely[:, [0, 3, 2, 1]]  # now b is the likelier
    (other,) = ctc_beam_search(likely, alphabet=ALPHABET, model=model, alpha=20.0, beta=300.0)
    assert a > b
    assert other.text == "a"


@pytest.mark.parametrize(("typical_length", "times"), [(6.0, 8 / 6), (math.inf, 1.0)])
def test_long_unknown_words_cost_more(load: Load, typical_length: float, times: float) -> None:
    path = [1, 3, 1, 3, 1, 3, 1, 3]  # abababab, or with blanks between the letters
    log_probs = np.full((len(path), 4), -30.0)
    log_probs[np.arange(len(path)), path] = -0.1
    (found,) = ctc_beam_search(
        log_probs,
        alphabet=ALPHABET,
        model=load("run"),
        alpha=1.0,
        beta=0.0,
        unk_offset=-3.0,
        typical_length=typical_length,
    )
    state = load("run").start()
    step = load("run").step(state, ["abababab"])
    end = load("run").finish(step.state)[0]
    assert found.text == "abababab"
    assert found.score == pytest.approx(-0.8 + step.log_probs[0] - 3.0 * times + end)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_an_infinite_offset_forbids_unknown_words(load: Load, alpha: float) -> None:
    log_probs = np.log([[0.1, 0.3, 0.1, 0.5], [0.1, 0.1, 0.1, 0.7]])  # bb, which is unknown
    options = {"alpha": alpha, "unk_offset": -math.inf, "n_best": 100}
    found = ctc_beam_search(log_probs, alphabet=ALPHABET, model=load("run"), **options)
    words = load("run").words
    for each in found:
        is_known = all(word in words for word in each.text.split())
        assert math.isfinite(each.score) if is_known else each.score == -math.inf
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_forbidden_words_take_no_place_in_the_beam(load: Load, alpha: float) -> None:
    log_probs = np.log([[0.3, 0.01, 0.01, 0.68]] * 20)  # b, bb, bbb and so on
    options = {"alpha": alpha, "unk_offset": -math.inf, "beam_width": 8, "beam_margin": 100.0}
    (found,) = ctc_beam_search(log_probs, alphabet=ALPHABET, model=load("run"), **options)
    assert math.isfinite(found.score)


def test_no_frames_are_no_words(load: Load) -> None:
    model = load("run")
    (found,) = ctc_beam_search(np.zeros((0, 4)), alphabet=ALPHABET, model=model)
    assert (found.text, found.log_prob) == ("", 0.0)
    assert found.lm_log_prob == pytest.approx(float(model.finish(model.start())[0]))


def test_rounded_and_pruned_frames_are_probabilities_still() -> None:
    log_probs_TL = np.log([[0.01, 0.97, 0.02, 0.03], [0.2, 0.1, 1e-9, 1e-9]])
    (found,) = ctc_beam_search(log_probs_TL.astype(np.float16), alphabet=ALPHABET)
    assert found.text == "a"
    # a blank, a a, blank a, space a
    ways = math.log(0.97 * 0.2 + 0.97 * 0.1 + 0.01 * 0.1 + 0.02 * 0.1)
    assert found.log_prob == pytest.approx(ways, abs=2e-3)


@pytest.mark.parametrize(
    ("log_probs", "options", "error", "message"),
    [
        (frames(2, 1), {"alphabet": ["a", "b", " ", "c"]}, ConfigError, "found no ''; expected it"),
        (frames(2, 1), {"alphabet": ["", "a", "a", " "]}, ConfigError, "found 'a' twice; expected"),
        (frames(2, 1), {"alphabet": ["<pad>", *"ab|"]}, ConfigError, "found '<pad>'; expec"),
        (frames(2, 1), {"alphabet": ["", *"ab|"]}, ConfigError, r"found '\|' and no ' '; expected"),
        (frames(2, 1), {"alphabet": ["", "ab", " ", "c"]}, ConfigError, "found 'ab'; expected sin"),
        (frames(2, 1), {"alphabet": ["", "a"]}, ConfigError, r"found the shape \(2, 4\); expected"),
        (np.zeros((2, 4)) + 1, {}, DataError, "found NaN, or more than 0; expected natural logar"),
        (np.full((2, 4), np.nan), {}, DataError, "found NaN, or more than 0"),
        (
            np.log10([[1e-9] * 4, [0.7, 0.1, 0.1, 0.1]]),
            {},
            DataError,
            "probabilities of frame 1 sum to 1.96; expected at most 1: natural logarithms, as log",
        ),
        ([[0.0] * 4, [0.0]], {}, ConfigError, "log_probs: .*; expected an array of numbers"),
        (frames(2, 1), {"model": "exp/a"}, ConfigError, "model: found str; expected what charlm.l"),
        (torch.zeros(2, 4, requires_grad=True), {}, ConfigError, "log_probs: .*requires grad.*det"),
        (frames(2, 1), {"beta": math.nan}, ConfigError, "--beta nan: expected -100000 to 1"),
        (frames(2, 1), {"alpha": math.inf}, ConfigError, "--alpha inf: expected 0 to 100000"),
        (frames(2, 1), {"beam_width": 0}, ConfigError, "--beam-width 0: expected 1 or more"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    log_probs: object, options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ctc_beam_search(log_probs, **{"alphabet": ALPHABET, **options})


def test_a_beam_of_one_holds_what_may_become_a_known_word(load: Load) -> None:
    log_probs = np.log([[0.001, 0.9, 0.05]])  # z begins no word
    options = {"alphabet": ["", "z", "a"], "model": load("n-gram model"), "beam_width": 1}
    texts = [
        ctc_beam_search(log_probs, alpha=1.0, beta=0.0, unk_offset=offset, **options)[0].text
        for offset in (-20.0, 20.0)
    ]
    assert texts == ["a", "z"]
    options["model"] = load("spelling n-gram model")  # which spells z as what it is: unlikely
    assert ctc_beam_search(log_probs, alpha=1.0, beta=0.0, **options)[0].text == "a"
