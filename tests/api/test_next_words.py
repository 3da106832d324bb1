"""`charlm.next_words`: the likeliest words are those to which a sentence's score says so."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError, DataError


@pytest.fixture
def arpa(corpus_dir: Path, tmp_path: Path) -> Path:
    charlm.ngram_baseline(data=corpus_dir, order=2, out=tmp_path / "kn.arpa")
    return tmp_path / "kn.arpa"


@pytest.mark.parametrize("beginning", ["", "the", "a zebra looked"])
@pytest.mark.parametrize("kind", ["run", "exported", "n-gram"])
def test_every_word_has_the_probability_that_it_has_in_a_sentence(
    beginning: str, kind: str, tiny_run: Path, tiny_onnx: Path, arpa: Path
) -> None:
    model = charlm.load({"run": tiny_run, "exported": tiny_onnx, "n-gram": arpa}[kind])
    found = model.next_words(beginning, k=len(model.words))
    n = len(beginning.split())
    scores = model.score_many(f"{beginning} {word}" for word in model.words[1:])
    expected = {score.words[n]: score.log10_probs[n] for score in scores}
    expected["</s>"] = model.score(beginning).log10_probs[n]
    log10s = [each.log10_prob for each in found.likeliest]
    assert log10s == sorted(log10s, reverse=True)
    assert dict(found.likeliest) == pytest.approx(expected, abs=1e-5)
    assert math.fsum(each.probability for each in found.likeliest) == pytest.approx(1, abs=1e-4)
    assert found.known == tuple(word != "zebra" for word in beginning.split())


def test_each_model_answers_and_n_gram_models_read_what_the_first_run_reads(
    tiny_run: Path, tiny_onnx: Path, arpa: Path
) -> None:
    found = charlm.next_words(["the", "cat"], model=[tiny_run, tiny_onnx], lm=arpa, k=2)
    assert [each.model for each in found] == [str(tiny_run), str(tiny_onnx), str(arpa)]
    assert found[0] == charlm.load(tiny_run).next_words("the cat", k=2)
    assert found[2] == charlm.load(arpa).next_words("the cat", k=2)
    assert "<td>" in found[0]._repr_html_()
    assert found[2].to_dict() == {
        "model": str(arpa),
        "words": ["the", "cat"],
        "known": [True, True],
        "likeliest": [{"word": w, "log10_prob": p} for w, p in found[2].likeliest],
    }


def test_what_cannot_be_asked_is_refused(tiny_run: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="-k 0: expected 1 or more"):
        charlm.load(tiny_run).next_words("the", k=0)
    with pytest.raises(DataError, match="found a line end"):
        charlm.next_words("the\ncat", model=tiny_run)
    with pytest.raises(DataError, match=r"none\.arpa: no such file"):
        charlm.next_words("the", lm=tmp_path / "none.arpa")


def test_a_gpu_for_n_gram_models_alone_is_refused(arpa: Path) -> None:
    with pytest.raises(ConfigError, match="^--device cuda:7: found no --model"):
        charlm.next_words("the", lm=arpa, device="cuda:7")


def test_back_offs_that_make_more_than_1_are_refused_as_in_a_sentence(tmp_path: Path) -> None:
    unigrams = "-1 <unk>\n-99 <s> 3\n-1 </s>\n-0.5 a -0.1\n"
    text = f"\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n{unigrams}"
    (tmp_path / "a.arpa").write_text(f"{text}\n\\2-grams:\n-0.3 a a\n\n\\end\\\n")
    model = charlm.load(tmp_path / "a.arpa")
    asked: list[Callable[[], object]] = [
        lambda: model.score("a"),
        model.next_words,
        lambda: model.step(model.start(), ["a"]),
        lambda: charlm.sample(lm=tmp_path / "a.arpa"),
    ]
    for ask in asked:
        with pytest.raises(DataError, match="its back-offs are broken"):
            ask()
