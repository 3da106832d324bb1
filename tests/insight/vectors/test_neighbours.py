"""Nearest words: a hand-made encoder with known cosines, and a slow loop over a trained run."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from charlm.errors import ConfigError
from charlm.insight.vectors import cache, search
from charlm.insight.vectors.inputs import open_vectors
from charlm.insight.vectors.neighbourhood import Neighbourhood
from charlm.insight.vectors.neighbours import neighbours
from charlm.insight.vectors.nn_options import VectorsOptions
from charlm.insight.vectors.run_neighbours import neighbours_in, vectors_in
from charlm.insight.vectors.taps import Vectors
from charlm.model.contract import Encoder
from charlm.model.forms import Forms, FormTable
from charlm.model.language_model import LanguageModel
from charlm.run.stored_weights import LoadedRun, load_run
from charlm.scoring.likelihood import nll
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.vocabulary.vocabulary import UNK_LETTER, inventory_of

RunOf = Callable[..., LoadedRun]

HALF = round(math.sqrt(0.5), 6)
WORDS = ["b", "ab", "ba", "c", "aaab", "a"]  # by falling count


class LetterCounts(Encoder):
    """Tap `counts`: how many a and b a form has; tap `mirrored`: the two in the other order."""

    def __init__(self, *, reads_spelling: bool = True) -> None:
        super().__init__()
        self.dim = 2
        self.reads_spelling = reads_spelling
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, forms: Forms) -> Tensor:
        return self.taps(forms)["mirrored"]

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        a, b = 6, 7  # ids by falling count
        # `<unk>` gets the direction of a, so that it would be a nearest neighbour
        counts = [((forms.letters_NL == a) | (forms.letters_NL == UNK_LETTER)).sum(1)]
        counts.append((forms.letters_NL == b).sum(1))
        vectors_NE = torch.stack(counts, dim=1) * self.scale
        return {"counts": vectors_NE, "mirrored": vectors_NE.flip(1)}


@pytest.fixture
def run_of(in_memory: RunOf) -> RunOf:
    """A run in memory, of which only the encoder and the vocabulary matter."""

    def make(encoder: Encoder, *, normalisation: Normalisation | None = None) -> LoadedRun:
        text = [[word] * (len(WORDS) - rank + 1) for rank, word in enumerate(WORDS)]
        text.append(["aaaaaaaa"])  # makes a the most frequent letter, and is <unk> itself
        inventory = inventory_of(text, normalisation=normalisation)
        assert inventory.words[2:] == tuple(WORDS)
        assert inventory.characters[:2] == ("a", "b")
        narrow = {"type": "lstm", "dim": 2}  # the output's vectors are of two numbers, too
        run = in_memory(inventory, {"type": "word", "dim": 2}, context=narrow)
        joined = LanguageModel(encoder, run.model.context, run.model.output)
        return replace(run, model=joined)

    return make


def hoods(
    run: LoadedRun, words: str | list[str], *, k: int = 10, **options: object
) -> tuple[Neighbourhood, ...]:
    """The neighbours in a run that is loaded already."""
    opened = open_vectors(VectorsOptions(**options), vectors=Vectors(run))  # type: ignore[arg-type]
    return neighbours_in(opened, words, k=k)


def test_words_come_by_falling_cosine_and_equal_ones_by_id(run_of: RunOf) -> None:
    (found,) = hoods(run_of(LetterCounts()), "a", at="counts")
    assert (found.word, found.form, found.is_known, found.tap) == ("a", "a", True, "counts")
    # aaab is (3, 1); ab and ba (1, 1); b (0, 1); c (0, 0): no direction, so no similarity
    assert found.nearest == (
        ("aaab", round(3 / math.sqrt(10), 6)),
        ("ab", HALF),
        ("ba", HALF),
        ("b", 0.0),
        ("c", 0.0),
    )


def test_a_word_outside_the_vocabulary_is_read_by_its_spelling(run_of: RunOf) -> None:
    (found,) = hoods(run_of(LetterCounts()), ["bbbz"], k=2, at="counts")
    assert not found.is_known
    assert found.nearest == (("b", 1.0), ("ab", HALF))


def test_a_zero_vector_is_like_nothing_and_gives_no_nan(run_of: RunOf) -> None:
    (found,) = hoods(run_of(LetterCounts()), ["c"], at="counts")
    assert [near.similarity for near in found.nearest] == [0.0] * 5
    assert [near.word for near in found.nearest] == ["b", "ab", "ba", "aaab", "a"]


def test_the_end_the_unknown_word_and_the_word_itself_are_no_neighbours(run_of: RunOf) -> None:
    run = run_of(LetterCounts())
    found = hoods(run, ["a", "aa", "<unk>", "</s>", "<unk>:a"], k=100, at="counts")
    names = [[near.word for near in each.nearest] for each in found]
    assert all(not {"<unk>", "</s>"} & set(each) for each in names)
    assert ["a" in each for each in names] == [False, True, True, True, False]
    assert [len(each) for each in names] == [5, 6, 6, 6, 5]
    assert [each.is_known for each in found] == [True, False, True, True, False]
    assert found[4].form == "a"


class Gated(LetterCounts):
    """Has a further tap of one number, as a gate has."""

    def taps(self, forms: Forms) -> dict[str, Tensor]:
        taps = super().taps(forms)
        return {"gate": taps["counts"].sum(1, keepdim=True), **taps}


def test_a_tap_of_one_number_has_values_but_no_neighbours(run_of: RunOf) -> None:
    run = run_of(Gated())
    with pytest.raises(ConfigError) as caught:
        hoods(run, ["ab"], at="gate")
    assert str(caught.value) == (
        "at: 'gate' is one number a form, which has no direction; expected a tap of vectors; "
        "leave it out for the last"
    )
    assert vectors_in(Vectors(run), ["ab", "c"], at="gate").tolist() == [[2], [0]]


def test_the_last_tap_is_taken_where_none_is_said(run_of: RunOf) -> None:
    run = run_of(LetterCounts())
    (last,) = hoods(run, ["abb"], k=1)
    assert last.tap == "mirrored"
    assert vectors_in(Vectors(run), ["abb"]).tolist() == [[2, 1]]
    assert vectors_in(Vectors(run), ["abb", "a"], at="counts").tolist() == [[1, 2], [1, 0]]


def test_several_taps_answer_one_after_the_other(run_of: RunOf) -> None:
    run = run_of(LetterCounts())
    found = hoods(run, ["a", "abb"], k=2, at=["mirrored,counts", "counts"])
    asked = [(each.tap, each.word) for each in found]
    assert asked == [("mirrored", "a"), ("mirrored", "abb"), ("counts", "a"), ("counts", "abb")]
    for each in found:
        assert hoods(run, each.word, k=2, at=each.tap) == (each,)


def test_all_taps_are_those_that_are_no_gates(run_of: RunOf) -> None:
    found = hoods(run_of(Gated()), ["ab"], k=1, at="all")
    assert [each.tap for each in found] == ["counts", "mirrored", "output"]


def test_the_output_has_vectors_of_words_alone(run_of: RunOf) -> None:
    run = run_of(LetterCounts())
    with torch.no_grad():
        run.model.output.words.weight.zero_()  # type: ignore[union-attr]  # a softmax
        for row, direction in ((2, [1.0, 0.0]), (3, [1.0, 1.0]), (6, [-1.0, 0.0])):
            run.model.output.words.weight[row] = torch.tensor(direction)  # type: ignore[union-attr]
    (found,) = hoods(run, "b", at="output")
    assert found.nearest == (("ab", HALF), ("ba", 0.0), ("c", 0.0), ("a", 0.0), ("aaab", -1.0))
    assert vectors_in(Vectors(run), ["ab"], at="output").tolist() == [[1, 1]]
    message = (
        "word 'abb': not in the vocabulary of toy, and 'output' reads no spellings; expected one "
        "of its 8 words, or another tap"
    )
    with pytest.raises(ConfigError) as caught:
        hoods(run, "abb", at="output")
    assert str(caught.value) == message
    with pytest.raises(ConfigError) as caught:
        vectors_in(Vectors(run), ["abb"], at="output")
    assert str(caught.value) == message
    beside = hoods(run, "abb", at="counts,output")
    assert [len(each.nearest) for each in beside] == [6, 0]


def test_neighbours_do_not_depend_on_the_sizes_of_blocks(
    monkeypatch: pytest.MonkeyPatch, run_of: RunOf
) -> None:
    run = run_of(LetterCounts())
    words = ["a", "bbbz", "c"]
    whole = hoods(run, words)
    monkeypatch.setattr(nll, "FORMS_AT_ONCE", 2)
    monkeypatch.setattr(cache, "WORDS_AT_ONCE", 3)
    monkeypatch.setattr(search, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(search, "CANDIDATES_AT_ONCE", 2)
    monkeypatch.setattr(search, "SCORES_AT_ONCE", 8)  # one query at a time
    assert hoods(run, words) == whole
    assert vectors_in(Vectors(run), words).shape == (3, 2)


def test_the_normalisation_of_the_run_is_applied_unless_raw(run_of: RunOf) -> None:
    run = run_of(LetterCounts(), normalisation=Normalisation(lower=True))
    (read,) = hoods(run, ["AB"], k=1, at="counts")
    assert (read.word, read.form, read.is_known) == ("AB", "ab", True)
    (raw,) = hoods(run, ["aB"], k=1, at="counts", raw=True)
    assert (raw.form, raw.is_known) == ("aB", False)
    assert hoods(run, ["\ufeffa"], k=1, at="counts", raw=True)[0].form == "\ufeffa"
    (lowered,) = hoods(run, ["aB"], k=1, at="counts", raw=True, lower=True)
    assert (lowered.form, lowered.is_known) == ("ab", True)


@pytest.mark.parametrize("raw", [False, True])
def test_lower_case_is_that_of_the_runs_language(run_of: RunOf, raw: bool) -> None:
    turkish = Normalisation(lower=True, dotless_i=True)
    run = run_of(LetterCounts(), normalisation=turkish)
    (read,) = hoods(run, ["aIİb"], k=1, at="counts", raw=raw, lower=True)
    assert read.form == "a\u0131ib"


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (["a"], {"at": "highway"}, "at: found 'highway'; expected one of counts, mirrored, output"),
        ([], {}, "words: found none; expected at least one"),
        (["a", ""], {}, "word '': is read as nothing; expected one word"),
        ([" \t"], {"raw": True}, "word ' \\t': is read as nothing; expected one word"),
        (["a b"], {}, "word 'a b': is read as 2 words (a, b); expected one word"),
        (
            ["zz"],
            {},
            "word 'zz': the model of toy knows none of its characters; expected a spelling in the "
            "3 that it knows",
        ),
        (
            ["A"],
            {},
            "word 'A': the model of toy knows none of its characters; expected a spelling in the "
            "3 that it knows; it knows 'a', in lower case",
        ),
        (["a\nb"], {"raw": True}, "word 'a\\nb': is read as 2 words (a, b); expected one word"),
        (["a-,b"], {}, "word 'a-,b': is read as 4 words (a, -, ,, b); expected one word"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    words: list[str], options: dict[str, object], message: str, run_of: RunOf
) -> None:
    run = run_of(LetterCounts(), normalisation=Normalisation(tokenise="simple"))
    with pytest.raises(ConfigError) as caught:
        hoods(run, words, **options)  # type: ignore[arg-type]  # wrong ones, too
    assert str(caught.value) == message


def test_an_encoder_that_reads_no_spelling_knows_its_words_alone(run_of: RunOf) -> None:
    run = run_of(LetterCounts(reads_spelling=False))
    assert hoods(run, ["a"])[0].is_known
    with pytest.raises(ConfigError) as caught:
        hoods(run, ["a", "aab"])
    assert str(caught.value) == (
        "word 'aab': not in the vocabulary of toy, which does not read spellings; expected one of "
        "its 8 words, or a run with a character encoder"
    )


def slow_neighbours(run: LoadedRun, form: str, *, at: str) -> list[tuple[str, float]]:
    """All words but three by their cosine, one form at a time, in float64."""

    def vector(spelling: str) -> np.ndarray:
        table = FormTable(run.inventory, [spelling], ids=[run.inventory.n_words])
        with torch.no_grad():
            return run.model.encoder.taps(table.forms(np.array([0])))[at][0].double().numpy()

    asked = vector(form)
    cosines = []
    for number, word in enumerate(run.inventory.words):
        if word not in ("</s>", "<unk>", form):
            other = vector(word)
            dot = sum(x * y for x, y in zip(asked, other, strict=True))
            cosines.append((-dot / (np.linalg.norm(asked) * np.linalg.norm(other)), number))
    return [(run.inventory.words[number], -cosine) for cosine, number in sorted(cosines)]


@pytest.mark.parametrize("at", ["char-cnn", "highway"])
def test_a_trained_run_agrees_with_a_slow_loop_over_all_words(tiny_run: Path, at: str) -> None:
    words = ["cat", "looked", "misinformed", "loooooked"]
    found = neighbours(words, model=tiny_run, k=4, at=at, device="cpu")
    run = load_run(tiny_run)
    assert [each.is_known for each in found] == [True, True, False, False]
    for word, each in zip(words, found, strict=True):
        expected = slow_neighbours(run, word, at=at)
        assert [near.word for near in each.nearest] == [name for name, _ in expected[:4]]
        cosines = [cosine for _, cosine in expected[:4]]
        assert [near.similarity for near in each.nearest] == pytest.approx(cosines, abs=2e-6)


def test_a_neighbourhood_as_json_names_its_parts(run_of: RunOf) -> None:
    (found,) = hoods(run_of(LetterCounts()), ["a"], k=1, at="counts")
    assert found.to_dict() == {
        "word": "a",
        "form": "a",
        "known": True,
        "at": "counts",
        "nearest": [{"word": "aaab", "similarity": round(3 / math.sqrt(10), 6)}],
    }
