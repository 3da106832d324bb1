"""`charlm.sample --lm`: sentences drawn from an n-gram model."""

import sys
from collections import Counter
from pathlib import Path

import pytest

import charlm
from charlm.errors import ConfigError, DataError
from charlm.scoring.likelihood.sampling.sampling import Sample


@pytest.fixture(scope="module")
def arpa(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ngrams") / "kn3.arpa"
    charlm.ngram_baseline(train=corpus_dir / "train.txt", order=3, out=path)
    return path


def drawn(arpa: Path, **options: object) -> Sample:
    return charlm.sample(lm=arpa, threads=1, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("prefix", ["", "the cat", "the <unk>"])
def test_log10_probs_are_those_of_the_model(arpa: Path, prefix: str) -> None:
    model = charlm.load(arpa)
    found = drawn(arpa, n=12, prefix=prefix, max_length=6, temperature=1.5, top_k=9, top_p=0.9)
    assert found.model == arpa
    assert {each.is_finished for each in found.sentences} == {True, False}
    for each in found.sentences:
        text = " ".join(each.words)
        assert text.startswith(prefix)
        n_drawn = len(each.words) + each.is_finished
        assert each.log10_probs == pytest.approx(model.score(text).log10_probs[:n_drawn])


def test_a_sentence_is_the_same_in_any_batch_and_of_any_number(arpa: Path) -> None:
    nine = drawn(arpa, n=9, seed=4).sentences
    assert drawn(arpa, n=9, seed=4, batch_size=2).sentences == nine
    assert drawn(arpa, n=3, seed=4).sentences == nine[:3]
    assert drawn(arpa, n=9, seed=5).sentences != nine


def test_first_words_come_as_often_as_the_model_says(arpa: Path) -> None:
    n = 4000
    first = Counter((*each.words, "</s>")[0] for each in drawn(arpa, n=n, max_length=1).sentences)
    for word in charlm.load(arpa).next_words(k=5).likeliest:
        expected = word.probability * n
        assert abs(first[word.word] - expected) < 4 * expected**0.5


def test_unk_is_never_drawn_where_it_is_not_wanted(arpa: Path) -> None:
    assert any("<unk>" in each.words for each in drawn(arpa, n=200).sentences)
    assert not any("<unk>" in each.words for each in drawn(arpa, n=200, no_unk=True).sentences)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": "the zebra"}, "'zebra' is no word of "),
        ({"model": "exp/first"}, "--model: says nothing of the n-gram model of --lm"),
        ({"open_vocabulary": True}, "--open-vocabulary: says nothing of the n-gram model of --lm"),
        ({"device": "cuda"}, "--device cuda: found no --model, and only models use it"),
        ({"precision": "bf16"}, "--precision bf16: found no --model, and only models use it"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    arpa: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        drawn(arpa, **options)
    assert message in str(caught.value)


def test_a_file_that_is_missing_is_asked_for_as_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none.arpa: no such file; expected an ARPA file"):
        charlm.sample(lm=tmp_path / "none.arpa")


def test_standard_input_is_read_beside_a_file_of_its_name(
    arpa: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("not the model\n")
    with open(arpa) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        found = drawn(Path("-"), n=3)
    assert found.sentences == drawn(arpa, n=3).sentences
