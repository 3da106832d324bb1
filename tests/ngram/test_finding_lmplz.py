"""Where lmplz is searched for; and the real one, if it is on the PATH or at $CHARLM_LMPLZ."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import Estimate, estimate
from charlm.ngram.files.arpa_reading import read_arpa
from charlm.ngram.lmplz import LmplzResult, estimate_with_lmplz, find_lmplz
from charlm.ngram.word_ids import WordIds, encode

LMPLZ = os.environ.get("CHARLM_LMPLZ") or shutil.which("lmplz")
live = pytest.mark.skipif(LMPLZ is None, reason="no lmplz on the PATH or at $CHARLM_LMPLZ")
HOW = "build it from KenLM's source with cmake and Boost, and name it with --lmplz PATH"

Sentences = list[list[str]]
Play = Callable[[str], Path]
TextOf = Callable[[str], Sentences]


def test_a_given_program_is_taken_wherever_it_lies(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = play("")
    monkeypatch.chdir(program.parent)
    assert find_lmplz("lmplz") == program
    assert find_lmplz(program) == program


def test_without_one_given_lmplz_is_looked_for_on_the_path(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = play("")
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_lmplz(None) == program


def test_no_lmplz_on_the_path_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        find_lmplz(None)
    assert str(caught.value) == f"lmplz: not on the PATH; expected KenLM's; {HOW}"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("missing", f"no such file; expected KenLM's lmplz; {HOW}"),
        (".", f"is a folder; expected KenLM's lmplz; {HOW}"),
        ("plain", "may not be run; expected a program; try chmod +x"),
    ],
)
def test_a_given_path_that_is_no_program_is_told(tmp_path: Path, name: str, found: str) -> None:
    (tmp_path / "plain").write_text("")
    path = tmp_path / name
    with pytest.raises(ConfigError) as caught:
        find_lmplz(path)
    assert str(caught.value) == f"--lmplz {path}: {found}"


def both(
    sentences: Sentences, out: Path, *, order: int, prune: Sequence[int]
) -> tuple[BackoffModel, LmplzResult, Estimate]:
    """The model and the result of lmplz, and our estimate."""
    program = find_lmplz(LMPLZ)
    result = estimate_with_lmplz(sentences, out, program=program, order=order, prune=prune)
    word_ids = WordIds()
    ids = encode(sentences, word_ids)
    return read_arpa(out), result, estimate(ids, words=word_ids.words, order=order, prune=prune)


@live
@pytest.mark.parametrize("prune", [(0,), (0, 0, 1), (1,), (1, 1, 2)])
@pytest.mark.parametrize(("name", "order"), [("two", 3), ("tiny", 4), ("made", 3), ("made", 6)])
def test_lmplz_and_our_estimator_agree(
    name: str, order: int, prune: Sequence[int], text_of: TextOf, tmp_path: Path
) -> None:
    theirs, result, ours = both(text_of(name), tmp_path / "a.arpa", order=order, prune=prune)
    assert result.n_ngrams == tuple(map(len, ours.model.orders))
    assert result.fallback_orders == ours.fallback_orders
    assert theirs.words == ours.model.words
    for found, expected in zip(ours.model.orders, theirs.orders, strict=True):
        assert found.keys.tolist() == expected.keys.tolist()
        for name_of_column in ("log10_probs", "log10_backoffs"):
            columns = (getattr(each, name_of_column) for each in (found, expected))
            np.testing.assert_allclose(*columns, rtol=0, atol=1e-6)


@live
def test_with_unk_in_the_text_lmplz_differs_by_its_own_unk_alone(
    text_of: TextOf, tmp_path: Path
) -> None:
    sentences = [
        ["<unk>" if word == "moka2" else word for word in words] for words in text_of("made")
    ]
    theirs, result, ours = both(sentences, tmp_path / "a.arpa.xz", order=3, prune=(0,))
    assert result.n_ngrams == tuple(map(len, ours.model.orders))
    assert theirs.words == ours.model.words
    n_words = len(theirs.words) - 1
    # The share of the word that lmplz adds is 1 / (V + 1) of the unigrams' back-off.
    gaps = 10 ** ours.model.orders[0].log10_probs - 10 ** theirs.orders[0].log10_probs
    assert np.delete(gaps, 1) == pytest.approx(gaps[0], abs=1e-7)
    lost = 1 - (10 ** np.delete(theirs.orders[0].log10_probs, 1)).sum()
    assert gaps[0] == pytest.approx(lost / n_words, abs=1e-7)


@live
def test_lmplz_says_itself_what_it_does_not_take(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        both([["a", "<s>"]], tmp_path / "a.arpa", order=3, prune=(0,))
    assert "Special word <s> is not allowed in the corpus." in str(caught.value)
