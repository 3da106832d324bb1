"""ARPA files mixed with each other, and written as one: mixtures by hand over all their words."""

import math
from pathlib import Path
from types import ModuleType

import pytest

from charlm import ngram_baseline
from charlm.errors import CharlmError
from charlm.ngram.files.kenlm_model import BINARY_MAGIC, KenLMModel
from charlm.ngram.files.load import NgramModel, load_ngram
from charlm.scoring.evaluation import token_scores
from charlm.scoring.evaluation.mix import mix

PROBS = {"<unk>": 0.1, "</s>": 0.3, "a": 0.4, "b": 0.2}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with a text, a corpus, and a unigram model."""
    monkeypatch.chdir(tmp_path)
    Path("lm").write_text(arpa({**PROBS, "<s>": 0}))
    Path("text").write_text("a b\nzz\n")
    Path("corpus").mkdir()
    Path("corpus/valid.txt").write_text("a a b\na\nb b zz\n")
    Path("corpus/test.txt").write_text("a b\nzz\n")


def perplexity(probs: list[float]) -> float:
    return math.prod(probs) ** (-1 / len(probs))


def arpa(probs: dict[str, float], bigrams: str = "") -> str:
    lines = [f"{math.log10(p) if p else -99}\t{word}\t0" for word, p in probs.items()]
    n_bigrams = f"ngram 2={len(bigrams.splitlines())}\n" if bigrams else ""
    more = f"\\2-grams:\n{bigrams}\n\n" if bigrams else ""
    header = f"\\data\\\nngram 1={len(probs)}\n{n_bigrams}\n\\1-grams:\n"
    return header + "\n".join(lines) + f"\n\n{more}\\end\\\n"


def test_unigram_models_make_one_arpa_file_that_is_their_mixture() -> None:
    Path("other").write_text(arpa({"b": 0.5, "<s>": 0, "a": 0.1, "</s>": 0.2, "<unk>": 0.2}))
    result = mix(["lm", "other"], data="corpus", arpa="both.arpa")
    assert 0 < result.streams[0].weight < 1
    assert result.arpa is not None
    assert (result.arpa.path, result.arpa.sizes) == ("both.arpa", (5,))
    assert result.arpa.ppl == pytest.approx(result.mixture.ppl, rel=1e-6)
    read = ngram_baseline("corpus/test.txt", lm="both.arpa").texts[0]
    assert read.by_state["sentence"].ppl == pytest.approx(result.mixture.ppl, rel=1e-5)


def test_an_n_gram_that_one_model_lists_has_the_mixtures_probability_in_the_file() -> None:
    Path("other").write_text(arpa({**PROBS, "<s>": 0}, bigrams=f"{math.log10(0.7)}\ta b"))
    mix(["lm", "other"], text="text", weights=[0.25, 0.75], arpa="both.arpa")
    a_b = next(line for line in Path("both.arpa").read_text().splitlines() if "a b" in line)
    assert 10 ** float(a_b.split()[0]) == pytest.approx(0.25 * PROBS["b"] + 0.75 * 0.7)


# A word that `lm` lacks, `<unk>` between the marks, and b without a word behind it.
OTHER = {"zz": 0.25, "<s>": 0, "<unk>": 0.05, "</s>": 0.3, "a": 0.4}


def test_weights_that_are_given_need_no_text() -> None:
    Path("other").write_text(arpa(OTHER, bigrams=f"{math.log10(0.7)}\ta zz"))
    told: list[str] = []
    made = mix(["lm", "other"], weights=".3,.7", arpa="both.arpa", on_stage=told.append)
    mix(["lm", "other"], text="text", weights=".3,.7", arpa="again.arpa")
    assert Path("both.arpa").read_bytes() == Path("again.arpa").read_bytes()
    assert made.arpa is not None
    assert (made.words, made.mixture.ppl, made.arpa.ppl, told) == ((), None, None, [])
    assert [each.n_lacking for each in made.streams] == [1, 1]


@pytest.mark.parametrize("out", [None, "both.arpa"])
def test_arpa_files_of_different_words_are_mixed_over_all_of_them(out: str | None) -> None:
    Path("other").write_text(arpa(OTHER, bigrams=f"{math.log10(0.7)}\ta zz"))
    Path("text").write_text("a b\nzz new a zz\n")
    result = mix(["lm", "other"], text="text", weights=[0.25, 0.75], arpa=out)
    assert result.words == ("a", "b", "</s>", "zz", "<unk>", "a", "zz", "</s>")
    # `lm` gives nothing to zz, whose probability is not that of its `<unk>`, nor `other` to b.
    own = [0.4, 0.2, 0.3, 0, 0.1, 0.4, 0, 0.3]
    others = [0.4, 0, 0.3, 0.25, 0.05, 0.4, 0.7, 0.3]
    both = [0.25 * one + 0.75 * other for one, other in zip(own, others, strict=True)]
    assert 10.0**result.log10_probs == pytest.approx(both)
    assert [each.n_zeroprobs for each in result.streams] == [2, 1]
    assert [each.n_lacking for each in result.streams] == [1, 1]
    assert result.streams[0].ppl == pytest.approx(perplexity([p for p in own if p]))
    shared = {(each.signature or "").split("|vocab:")[1][:12] for each in result.streams}
    assert len(shared) == 1  # the perplexities are of the same task
    if out is not None:
        again = ngram_baseline("text", lm=out).texts[0]
        assert result.arpa is not None
        assert again.by_state["sentence"].ppl == pytest.approx(result.arpa.ppl, rel=1e-5)
        assert result.arpa.sizes == (6, 1)


def test_a_word_that_an_arpa_file_lists_with_probability_0_is_not_one_that_it_lacks() -> None:
    Path("zero").write_text(arpa({"<unk>": 0.3, "<s>": 0, "</s>": 0.3, "a": 0.4, "b": 0}))
    result = mix(["lm", "zero"], text="text", weights=[0.5, 0.5], arpa="both.arpa")
    assert [each.n_lacking for each in result.streams] == [0, 0]
    assert all("|vocab:" not in (each.signature or "") for each in result.streams)


def test_a_kenlm_binary_is_asked_in_its_own_words(
    kenlm: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not list them, so that it cannot be asked for those of ARPA files beside it."""

    def load(path: str | Path, *, encoding: str) -> NgramModel:
        model = load_ngram(path, encoding=encoding)
        if path == "binary":
            assert isinstance(model, KenLMModel)
            model.words = None  # as of a file in KenLM's own format
        return model

    monkeypatch.setattr(token_scores, "load_ngram", load)
    Path("other").write_text(arpa(OTHER))
    words = {**PROBS, "<s>": 0, "zz": 0.1, "new": 0.1}
    Path("binary").write_text(arpa(words, bigrams=f"{math.log10(0.7)}\ta b"))
    Path("text").write_text("a b\nzz\n")
    result = mix(["lm", "other", "binary"], text="text")
    assert result.words == ("a", "b", "</s>", "zz", "</s>")
    assert [each.n_lacking for each in result.streams] == [1, 1, 0]
    assert [each.n_wasted for each in result.streams] == [0, 0, 0]
    Path("text").write_text("a new\n")
    with pytest.raises(CharlmError) as caught:
        mix(["lm", "other", "binary"], text="text")
    assert str(caught.value) == (
        "lm and binary: token 2 is '<unk>' in the one and 'new' in the other; expected the same "
        "words; different vocabularies mix only if all are of ARPA files; estimate an n-gram model "
        "with --vocab RUN"
    )


def test_the_words_of_arpa_files_are_compared_in_their_encoding() -> None:
    for name in ("latin", "other"):
        text = arpa({"<s>": 0, "<unk>": 0.1, "</s>": 0.3, "ä": 0.6})
        Path(name).write_text(text, encoding="latin-1")
    Path("text").write_text("ä\n", encoding="latin-1")
    result = mix(["latin", "other"], text="text", encoding="latin-1")
    assert result.words == ("ä", "</s>")
    assert [each.n_lacking for each in result.streams] == [0, 0]


def test_what_is_no_arpa_file_makes_none_of_a_mixture(uniform: Path) -> None:
    uniform.rename("run")
    Path("x").write_text("\tp( a | <s> ) \t= [2gram] 0.5 [ -0.30103 ]\n")
    Path("binary").write_bytes(BINARY_MAGIC)
    for stream in ("run", "x", "binary"):
        with pytest.raises(CharlmError) as caught:
            mix(["lm", stream], text="text", weights=[0.5, 0.5], arpa="both.arpa", device="cpu")
        assert str(caught.value) == (
            f"{stream}: not an ARPA file; expected --arpa with ARPA files alone; `charlm export "
            "--arpa` makes one of a run"
        )
    with pytest.raises(CharlmError, match=r"^--out z and --arpa z: one file for two results; "):
        mix(["lm", "lm"], text="text", weights=[0.5, 0.5], arpa="z", out="z")
    with pytest.raises(CharlmError, match=r"^--arpa no/z: "):
        mix(["lm", "lm"], text="text", weights=[0.5, 0.5], arpa="no/z")
    with pytest.raises(CharlmError, match=r"^--arpa z\.klm: names KenLM's binary; expected \.arpa"):
        mix(["lm", "lm"], text="text", weights=[0.5, 0.5], arpa="z.klm")
    assert not Path("both.arpa").exists()
