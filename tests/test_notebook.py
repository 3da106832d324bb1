"""How notebooks show results: texts are escaped, words are coloured by their surprisal."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import charlm
from charlm import Model, SentenceScore
from charlm.notebook import bits_of, coloured_html, table_html
from charlm.scoring.likelihood.sampling.sampling import SampledSentence

HOSTILE = "</table><script>alert(1)</script>&"


@pytest.fixture(scope="module")
def model(tiny_run: Path) -> Model:
    return charlm.load(tiny_run, device="cpu")


def texts_of(html: str) -> list[str]:
    """The texts of markup that must be well-formed."""
    return [text for text in ET.fromstring(f"<div>{html}</div>").itertext() if text.strip()]


def strengths(html: str) -> list[float]:
    return [float(found) for found in re.findall(r"rgba\(213, 94, 0, ([\d.]+)\)", html)]


def test_bits_are_of_base_two() -> None:
    assert bits_of([0.0, -1.0]) == pytest.approx((0.0, 3.321928))
    score = SentenceScore(("a",), (True,), (-0.30103, -0.60206))
    assert score.bits == pytest.approx((1.0, 2.0), abs=1e-5)


def test_the_less_a_word_was_expected_the_stronger_its_colour_up_to_a_limit() -> None:
    html = coloured_html([(["a", "b", "c", "d"], (0.0, 8.0, 16.0, 99.0, -0.1))])
    assert strengths(html) == [0.0, 0.35, 0.7, 0.7, 0.0]
    assert texts_of(html) == ["a", "b", "c", "d", "</s>"]


@pytest.mark.parametrize(
    ("words", "direction"),
    [
        (["1", "\u0645\u0627", "a"], "rtl"),
        (["1", "a", "\u0645"], "ltr"),
        (["1", "."], "ltr"),
        (["<unk>", "<unk>:\u0645\u0627", "a"], "rtl"),
    ],
)
def test_a_sentence_runs_as_its_first_letter_does(words: list[str], direction: str) -> None:
    (paragraph,) = ET.fromstring(f"<div>{coloured_html([(words, (1.0,) * 4)])}</div>")
    assert paragraph.get("dir") == direction


def test_words_that_look_like_markup_are_text_in_a_notebook() -> None:
    assert HOSTILE in texts_of(coloured_html([([HOSTILE], (1.0,))]))
    rows = [(HOSTILE, HOSTILE)]
    assert texts_of(table_html((HOSTILE, ""), rows, told=[HOSTILE])) == [HOSTILE] * 4


def test_a_sentence_that_was_cut_shows_no_end(model: Model) -> None:
    cut = SampledSentence(("the", "cat"), (-1.0, -1.0), is_finished=False)
    assert texts_of(cut._repr_html_()) == ["the", "cat"]
    assert texts_of(model.score("the cat")._repr_html_()) == ["the", "cat", "</s>"]


def test_a_model_and_its_neighbours_are_tables(model: Model, tiny_run: Path) -> None:
    assert {str(tiny_run), "tiny", f"{len(model.words)}"} < set(texts_of(model._repr_html_()))
    hood = model.neighbours("catz", k=2)
    told, _, _, *cells = texts_of(hood._repr_html_())
    assert told == f"catz, outside the vocabulary, at {hood.tap}"
    assert cells[::2] == [near.word for near in hood.nearest]
    assert cells[1] == f"{hood.nearest[0].similarity:.3f}"


def test_a_comparison_is_a_table_of_perplexities(tiny_run: Path, corpus_dir: Path) -> None:
    found = charlm.compare_kn(data=corpus_dir, model=tiny_run, order=2, samples=100)
    texts = texts_of(found._repr_html_())
    (group,) = found.groups
    for system in group.systems:
        ppl = system.by_state["sentence"].perplexity.ppl
        assert f"{ppl:.2f}" in texts[texts.index(system.name) :][:3]
