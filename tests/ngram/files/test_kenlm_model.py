"""KenLM gives charlm's answers for charlm's files; what it cannot read is refused beforehand."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from charlm.errors import ConfigError, DataError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import estimate
from charlm.ngram.files import kenlm_model
from charlm.ngram.files.arpa_reading import read_arpa
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.files.load import QueryEngine, load_ngram
from charlm.ngram.word_ids import UNK, WordIds, encode

HOW = "pip install 'charlm[kenlm]' (README.md: how for Python 3.13 and newer)"
TEXT = [line.split() for line in ("the cat sat", "the dog sat on the mat", "a cat", "", "the cat")]
ASKED = [line.split() for line in ("the cat sat on the dog", "", "zebra the mat", "mat", "a a a")]


def estimated(order: int) -> BackoffModel:
    word_ids = WordIds()
    ids = encode(TEXT, word_ids)
    return estimate(ids, words=word_ids.words, order=order).model


@pytest.mark.usefixtures("kenlm")
@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.parametrize("suffix", ["arpa", "arpa.gz"])
def test_kenlm_answers_as_we_do(tmp_path: Path, order: int, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    model = estimated(order)
    write_arpa(model, path)
    ours, theirs = model.score(ASKED), load_ngram(path, engine="kenlm").score(ASKED)
    np.testing.assert_allclose(theirs.log10_probs, ours.log10_probs, rtol=0, atol=1e-5)
    assert theirs.word_ids.tolist() == ours.word_ids.tolist()
    assert theirs.lengths.tolist() == ours.lengths.tolist()


@pytest.mark.usefixtures("kenlm")
def test_kenlm_reads_a_file_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.arpa")
    model = estimated(2)
    write_arpa(model, path)
    theirs = load_ngram(path, engine="kenlm").score(ASKED)
    np.testing.assert_allclose(theirs.log10_probs, model.score(ASKED).log10_probs, atol=1e-5)


@pytest.mark.usefixtures("kenlm")
@pytest.mark.parametrize("unk", ["-99\t<unk>\n", ""])
def test_what_has_no_probability_has_none_behind_a_back_off_above_1(
    tmp_path: Path, unk: str
) -> None:
    path = tmp_path / "a.arpa"
    unigrams = f"{unk}-99\t<s>\t0.2\n-0.5\t</s>\n-0.5\ta\t1.5\n-99\tb\t0.3\n"
    n = unigrams.count("\n")
    head = f"\\data\\\nngram 1={n}\nngram 2=1\n\n\\1-grams:\n"
    path.write_text(f"{head}{unigrams}\n\\2-grams:\n-0.1\t<s> a\n\n\\end\\\n")
    asked = [["a", "b", "zz"]]
    ours, theirs = (load_ngram(path, engine=each).score(asked) for each in ("charlm", "kenlm"))
    assert ours.log10_probs.tolist()[1:3] == [-np.inf, -np.inf]
    np.testing.assert_allclose(theirs.log10_probs, ours.log10_probs, rtol=0, atol=1e-5)


@pytest.mark.usefixtures("kenlm")
def test_kenlm_says_nothing_of_a_file_without_unk(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.arpa"
    unigrams = "\\1-grams:\n-99\t<s>\t0\n-.3\t</s>\n-.3\ta\t0\n\n"
    bigrams = "\\2-grams:\n-.1\t<s> a\n\n\\end\\\n"
    path.write_text(f"\\data\\\nngram 1=3\nngram 2=1\n\n{unigrams}{bigrams}")
    scores = load_ngram(path, engine="kenlm").score([["a", "b"]])
    assert np.isneginf(scores.log10_probs).tolist() == [False, True, False]
    os.write(2, b"what follows is shown")
    assert capfd.readouterr() == ("", "what follows is shown")


@pytest.mark.parametrize("engine", ["kenlm", "charlm"])
def test_without_marks_words_get_what_kenlms_query_n_gives_them(
    tmp_path: Path, kenlm: Any, engine: QueryEngine
) -> None:
    write_arpa(estimated(3), tmp_path / "a.arpa")
    judge = kenlm.Model(str(tmp_path / "a.arpa"))
    expected = [
        answer for words in ASKED for answer in judge.full_scores(" ".join(words), False, False)
    ]
    found = load_ngram(tmp_path / "a.arpa", engine=engine).score(ASKED, marked=False)
    log10s, lengths, oovs = zip(*expected, strict=True)
    np.testing.assert_allclose(found.log10_probs, log10s, rtol=0, atol=1e-5)
    assert tuple(found.lengths.tolist()) == lengths
    assert tuple((found.word_ids == UNK).tolist()) == oovs
    assert len(found.log10_probs) == sum(map(len, ASKED))


@pytest.mark.usefixtures("kenlm")
def test_the_engine_is_kenlm_where_it_is_installed_and_ours_for_unigrams(tmp_path: Path) -> None:
    for order in (1, 2):
        write_arpa(estimated(order), tmp_path / f"{order}.arpa")
    assert isinstance(load_ngram(tmp_path / "2.arpa"), kenlm_model.KenLMModel)
    assert isinstance(load_ngram(tmp_path / "1.arpa"), BackoffModel)
    assert isinstance(load_ngram(tmp_path / "2.arpa", engine="charlm"), BackoffModel)


def test_without_kenlm_ours_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kenlm", None)
    write_arpa(estimated(2), tmp_path / "a.arpa")
    assert isinstance(load_ngram(tmp_path / "a.arpa"), BackoffModel)
    with pytest.raises(ConfigError) as caught:
        load_ngram(tmp_path / "a.arpa", engine="kenlm")
    assert str(caught.value) == (
        f"kenlm: not installed; expected its Python module; {HOW}, or take --engine charlm and an "
        "ARPA file"
    )


def test_a_folder_that_is_called_kenlm_is_not_taken_for_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kenlm").mkdir()  # KenLM's source code, as people clone it
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "kenlm", raising=False)
    assert not kenlm_model.has_kenlm()
    monkeypatch.delitem(sys.modules, "kenlm", raising=False)


def test_a_kenlm_that_does_not_load_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kenlm.py").write_text("raise ImportError('kenlm.so: undefined symbol: x\\nmore')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kenlm", raising=False)
    write_arpa(estimated(2), tmp_path / "a.arpa")
    assert isinstance(load_ngram(tmp_path / "a.arpa"), BackoffModel)
    with pytest.raises(ConfigError) as caught:
        load_ngram(tmp_path / "a.arpa", engine="kenlm")
    assert str(caught.value) == (
        f"kenlm: does not load (kenlm.so: undefined symbol: x); expected its Python module; {HOW}, "
        "or take --engine charlm and an ARPA file"
    )


@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_a_comparison_with_a_missing_kenlm_is_skipped_and_fails_where_it_is_required(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    required: str,
    outcome: type[BaseException],
) -> None:
    monkeypatch.setitem(sys.modules, "kenlm", None)
    monkeypatch.setenv("CHARLM_REQUIRE_KENLM", required)
    with pytest.raises(outcome, match="KenLM's Python module is not installed"):
        request.getfixturevalue("kenlm")


@pytest.mark.usefixtures("kenlm")
def test_kenlms_numbers_of_words_are_those_of_the_file(tmp_path: Path) -> None:
    lines = ["\\data\\", "ngram 1=4", "ngram 2=1", "", "\\1-grams:", "-1\tb\t0", "-1\t</s>"]
    lines += ["-1\t<unk>", "-99\t<s>\t0", "", "\\2-grams:", "-0.5\t<s> b", "", "\\end\\", ""]
    (tmp_path / "a.arpa").write_text("\n".join(lines))
    scores = load_ngram(tmp_path / "a.arpa", engine="kenlm").score([["b", "zz"]])
    assert scores.word_ids.tolist() == [1, 0, 2]  # KenLM reserves 0 for <unk>, wherever it stands


@pytest.mark.usefixtures("kenlm")
def test_kenlm_is_not_shown_a_header_that_claims_too_much(tmp_path: Path) -> None:
    write_arpa(estimated(3), tmp_path / "a.arpa")
    text = (tmp_path / "a.arpa").read_text()
    size = len(estimated(3).orders[2])
    (tmp_path / "a.arpa").write_text(text.replace(f"ngram 3={size}", "ngram 3=1000000000000"))
    with pytest.raises(DataError, match=r"a.arpa: the header claims 10000000000\d\d n-grams; expe"):
        load_ngram(tmp_path / "a.arpa", engine="kenlm")
    with pytest.raises(
        DataError, match=r"a.arpa:\d+: \d+ 3-grams; expected 1000000000000, as the h"
    ):
        load_ngram(tmp_path / "a.arpa")


@pytest.mark.usefixtures("kenlm")
def test_what_kenlm_refuses_is_said_in_one_line(tmp_path: Path) -> None:
    write_arpa(estimated(3), tmp_path / "a.arpa")
    text = (tmp_path / "a.arpa").read_text()
    (tmp_path / "a.arpa").write_text(text.replace("\\3-grams:", "\\4-grams:"))
    with pytest.raises(DataError, match=r"a.arpa: KenLM does not take it \(.+\); expected an ARPA"):
        load_ngram(tmp_path / "a.arpa", engine="kenlm")
    write_arpa(estimated(1), tmp_path / "1.arpa")
    with pytest.raises(
        DataError, match=r"1.arpa: order 1; KenLM expects 2 or more; use --engine c"
    ):
        load_ngram(tmp_path / "1.arpa", engine="kenlm")


@pytest.mark.usefixtures("kenlm")
@pytest.mark.parametrize("odd", ["made by hand\n{}", "{}trailing words\n", "\ufeff{}"])
def test_what_kenlm_refuses_and_is_legal_is_read_by_us(tmp_path: Path, odd: str) -> None:
    model = estimated(3)
    write_arpa(model, tmp_path / "a.arpa")
    text = odd.format((tmp_path / "a.arpa").read_text())
    (tmp_path / "b.arpa").write_text(text, encoding="utf-8")
    found = load_ngram(tmp_path / "b.arpa")
    assert isinstance(found, BackoffModel)
    assert found.sizes == model.sizes


@pytest.mark.usefixtures("kenlm")
def test_what_kenlm_refuses_and_is_broken_is_told_with_its_line(tmp_path: Path) -> None:
    write_arpa(estimated(2), tmp_path / "a.arpa")
    text = (tmp_path / "a.arpa").read_text().replace("\tthe cat", "\tthe catt")
    (tmp_path / "a.arpa").write_text(text)
    with pytest.raises(
        DataError, match=r"a.arpa:\d+: found '.+the catt'; expected words of the 1-g"
    ):
        load_ngram(tmp_path / "a.arpa")


def test_a_binary_is_for_kenlm_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "a.bin"
    binary.write_bytes(kenlm_model.BINARY_MAGIC + b" format version 5\n")
    with pytest.raises(ConfigError) as refused:
        load_ngram(binary, engine="charlm")
    assert str(refused.value) == (
        f"{binary}: KenLM's binary; expected --engine kenlm, or an ARPA file"
    )
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(ConfigError) as missed:
        load_ngram(binary)
    assert str(missed.value) == (
        f"{binary}: KenLM's binary; expected KenLM's Python module to read it; {HOW}, or take an "
        "ARPA file"
    )


def test_our_answers_do_not_change_through_a_file(tmp_path: Path) -> None:
    model = estimated(4)
    write_arpa(model, tmp_path / "a.arpa")
    scores = read_arpa(tmp_path / "a.arpa").score(ASKED)
    np.testing.assert_allclose(scores.log10_probs, model.score(ASKED).log10_probs, atol=2e-7)
