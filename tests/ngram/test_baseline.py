"""A baseline's way: estimated or loaded, written, measured; options that contradict each other."""

from pathlib import Path
from typing import Any

import pytest

from charlm import ConfigError, DataError, ngram_baseline
from charlm.ngram.source import ModelInfo
from charlm.text.inventory import inventory_of

LMPLZ_THAT_SAYS_NO = "#!/bin/sh\ncat > /dev/null\necho it broke >&2\nexit 1\n"


def sentence_ppl(result: Any) -> float:
    return float(result.texts[0].by_state["sentence"].ppl)


def test_a_corpus_directory_is_trained_on_and_measured(corpus_dir: Path) -> None:
    heard: list[ModelInfo] = []
    result = ngram_baseline(data=corpus_dir, order=3, on_model=heard.append)
    assert heard == [result.model]
    assert result.model.source == str(corpus_dir / "train.txt")
    assert result.model.order == len(result.model.sizes) == 3
    assert result.texts[0].name == str(corpus_dir / "test.txt")
    assert "|split:test|" in result.texts[0].signatures["sentence"]
    assert "|lm:kn3|train:" in result.texts[0].signatures["sentence"]


def test_a_model_that_is_kept_answers_as_before(corpus_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "kn.arpa.gz"
    before = ngram_baseline(data=corpus_dir, order=3, out=out)
    assert before.to_dict()["n_bytes"] == out.stat().st_size
    for engine in ("auto", "charlm"):
        after = ngram_baseline([corpus_dir / "test.txt"], lm=out, engine=engine)
        assert sentence_ppl(after) == pytest.approx(sentence_ppl(before), rel=1e-5)
        assert "|lm:3gram|model:" in after.texts[0].signatures["sentence"]


def test_a_loaded_model_can_be_written_again(corpus_dir: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "1.arpa.gz", tmp_path / "2.arpa"
    ngram_baseline(train=corpus_dir / "train.txt", order=3, out=first)
    ngram_baseline(lm=first, out=second, start="srilm")
    assert "\n-99\t<s>\t" in second.read_text()
    result = ngram_baseline(corpus_dir / "test.txt", lm=second)
    expected = ngram_baseline(corpus_dir / "test.txt", lm=first)
    assert sentence_ppl(result) == pytest.approx(sentence_ppl(expected), rel=1e-6)


def test_a_vocabulary_is_a_file_or_a_run(corpus_dir: Path, tmp_path: Path) -> None:
    words = [line.split() for line in (corpus_dir / "train.txt").read_text().splitlines()]
    inventory = inventory_of(words, size=8)
    inventory.save(tmp_path / "vocab.json")
    by_file = ngram_baseline(data=corpus_dir, vocab=tmp_path / "vocab.json", order=2)
    by_run = ngram_baseline(data=corpus_dir, vocab=tmp_path, order=2)
    assert by_file.model.sizes[0] == 9  # the words, `<s>` besides
    assert sentence_ppl(by_file) == sentence_ppl(by_run)
    assert f"|vocab:{inventory.sha256[:12]}|" in by_file.texts[0].signatures["sentence"]


def test_pruning_stands_in_the_signature_and_leaves_ngrams_out(corpus_dir: Path) -> None:
    whole = ngram_baseline(data=corpus_dir, order=3)
    pruned = ngram_baseline(data=corpus_dir, order=3, prune="0 0 1")
    assert pruned.model.sizes[2] < whole.model.sizes[2]
    assert "|lm:kn3|prune:0,0,1|" in pruned.texts[0].signatures["sentence"]


def test_lmplz_is_asked_where_it_is_named(corpus_dir: Path, tmp_path: Path) -> None:
    program = tmp_path / "lmplz"
    program.write_text(LMPLZ_THAT_SAYS_NO)
    program.chmod(0o755)
    with pytest.raises(DataError, match="it broke"):
        ngram_baseline(data=corpus_dir, lmplz=program)
    assert [path.name for path in tmp_path.iterdir()] == ["lmplz"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, r"^expected one of --train TEXT, --lm MODEL, or --data DIR alone$"),
    ({"train": "t", "lm": "m"}, r"^expected one of --train TEXT, --lm MODEL, or --data DIR alone$"),
    ({"files": ["a"], "data": "d"}, r"^found both files and --data; expected one of them; give ei"),
    ({"train": "t"}, r"^nothing to do: expected --out FILE, or texts to measure$"),
    ({"lm": "m"}, r"^nothing to do: expected --out FILE, or texts to measure$"),
    ({"train": "t", "engine": "x"}, r"^--engine 'x': expected one of auto, charlm, kenlm, lmplz$"),
    ({"lm": "m", "engine": "lmplz"}, r"^lmplz estimates, and --lm loads; expected one of them; dr"),
    ({"lm": "m", "lmplz": "l"}, r"^lmplz estimates, and --lm loads; expected one of them; drop ei"),
    ({"train": "t", "engine": "kenlm"}, r"^--engine kenlm: expected --engine charlm or lmplz to e"),
    (
        {"train": "t", "engine": "charlm", "lmplz": "l"},
        r"^--engine charlm and --lmplz: expected --engine charlm or lmplz to estimate a model$",
    ),
    ({"train": "t", "start": "x"}, r"^--start 'x': expected one of lmplz, srilm$"),
    ({"train": "t", "prune": "0,x"}, r"^--prune '0,x': expected counts from unigrams on, as 0,0,1"),
    ({"train": "t", "prune": ""}, r"^--prune '': expected counts from unigrams on, as 0,0,1$"),
    ({"train": "t", "lmplz": "nowhere"}, r"^--lmplz nowhere: .+; expected KenLM's lmplz"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_options_that_make_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    out = {} if "nothing to do" in message else {"out": "x.arpa"}
    with pytest.raises(ConfigError, match=message):
        ngram_baseline(**options, **out)


def test_an_empty_training_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DataError, match=r"a.txt: no sentence; expected one a line$"):
        ngram_baseline(train=tmp_path / "a.txt", out=tmp_path / "a.arpa")
