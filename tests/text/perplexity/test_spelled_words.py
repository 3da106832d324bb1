"""What spelled words add to the figures of a text, by hand."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from charlm.text.perplexity.perplexity import Counts, Evaluation, Log10Sums, Perplexity
from charlm.text.perplexity.spelled_words import Spelling, spelling_of
from charlm.text.vocabulary.vocabulary import Inventory

PER_LETTER = math.log(10)  # a probability of 1/10 a letter


class Tenths:
    """Spells any word with 1/10 a letter."""

    inventory = Inventory(("</s>", "<unk>", "the"), (1, 1, 1), ("t",))
    sha256 = "abcdef0123456789"

    def log_probs(self, spellings: Sequence[str]) -> npt.NDArray[np.float64]:
        return np.array([-PER_LETTER * len(each) for each in spellings])


def evaluation(spelling: Spelling | None, *, n_zeroprobs: int = 0) -> Evaluation:
    counts = Counts(n_sentences=1, n_words=3, n_oov=2, n_characters=10, n_bytes=12)
    sums = Log10Sums(-4.0, -1.5, n_zeroprobs)
    return Evaluation(
        "t", counts, {"sentence": Perplexity(counts, sums)}, {"sentence": "s"}, spelling=spelling
    )


def test_forms_outside_the_vocabulary_are_spelled() -> None:
    spelling = spelling_of(["cat", "<unk>:Dogs"], Tenths())
    assert spelling == Spelling(pytest.approx(-7), n_words=2, n_characters=9)
    assert spelling.obstacle is None
    assert spelling.bits_per_character == pytest.approx(7 * math.log2(10) / 9)


@pytest.mark.parametrize(
    ("tokens", "obstacle"),
    [
        (["<unk>", "cat", "<unk>"], "unspelled words, <unk> in the text itself: 2"),
        (
            ["<unk>:the", "cat", "the"],
            "words that are <unk> for the model or in the text, though the speller's vocabulary "
            "has them: 2",
        ),
    ],
)
def test_a_word_that_cannot_be_spelled_leaves_no_figure(tokens: list[str], obstacle: str) -> None:
    spelling = spelling_of(tokens, Tenths())
    assert (spelling.n_words, spelling.obstacle) == (1, obstacle)
    result = evaluation(spelling)
    assert (result.open_obstacle, result.open_by_state) == (obstacle, {})
    told = result.to_dict()["open_vocabulary"]
    assert told == {"obstacle": obstacle, "spelling": spelling.to_dict()}


def test_figures_of_an_open_vocabulary_have_the_same_denominators() -> None:
    result = evaluation(Spelling(-8.0, n_words=2, n_characters=9))
    opened = result.open_by_state["sentence"]
    assert opened.ppl == pytest.approx(10 ** (12 / 4))
    assert opened.bits_per_character == pytest.approx(12 * math.log2(10) / 10)
    assert opened.bits_per_byte == pytest.approx(12 * math.log2(10) / 12)
    assert opened.ppl_known == result.by_state["sentence"].ppl_known
    assert result.to_dict()["open_vocabulary"]["sentence"] == opened.to_dict()
    assert result.by_state["sentence"].ppl == 10


def test_a_token_of_no_probability_leaves_no_figure() -> None:
    result = evaluation(Spelling(-8.0, 2, 9), n_zeroprobs=1)
    assert (result.open_obstacle, result.open_by_state) == ("1 tokens have no probability", {})


def test_nobody_asked_and_nothing_is_told() -> None:
    result = evaluation(None)
    assert result.open_by_state == {}
    assert "open_vocabulary" not in result.to_dict()


def test_spellings_of_blocks_add_up() -> None:
    assert Spelling(-1.0, 1, 2, 3, 4) + Spelling(-2.0, 10, 20, 30, 40) == Spelling(
        -3.0, 11, 22, 33, 44
    )
    assert Spelling().bits_per_character is None
