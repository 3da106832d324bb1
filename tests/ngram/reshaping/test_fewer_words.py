"""A model without some of its words, against sums of the whole model's probabilities."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charlm.errors import ConfigError
from charlm.ngram.backoff import BackoffModel
from charlm.ngram.baseline import ngram_baseline
from charlm.ngram.estimation import estimate
from charlm.ngram.files.arpa_reading import read_arpa
from charlm.ngram.files.arpa_writing import write_arpa
from charlm.ngram.reshaping.fewer_words import limited_to
from charlm.ngram.word_ids import MARKS, WordIds, encode

LETTERS = "abcdef"
words = st.sampled_from("aaaabbbccddef")
sentences = st.lists(st.lists(words, max_size=8), min_size=1, max_size=25)


def last_prob(model: BackoffModel, sentence: list[str]) -> float:
    """P(last word | words before) in a sentence."""
    score = model.score([sentence])
    return float(10.0 ** score.log10_probs[len(sentence) - 1])


@settings(max_examples=60)
@given(
    text=sentences,
    order=st.integers(1, 5),
    prune=st.sampled_from([(0,), (0, 0, 1), (0, 1, 2)]),
    with_unk=st.booleans(),
    kept=st.sets(st.sampled_from(LETTERS)),
    asked=st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=5),
)
def test_words_that_stay_keep_their_probabilities_and_unk_gets_the_others(
    text: list[list[str]],
    order: int,
    prune: tuple[int, ...],
    with_unk: bool,
    kept: set[str],
    asked: list[list[str]],
) -> None:
    if with_unk:
        text = [["<unk>" if word == "b" else word for word in each] for each in text]
    word_ids = WordIds(MARKS)
    ids = encode([*text, [*LETTERS]], word_ids)
    whole = estimate(ids, words=word_ids.words, order=order, prune=prune[:order]).model
    fewer = limited_to(kept, whole)
    assert fewer.words == tuple(w for w in whole.words if w in kept or w in MARKS)
    others = ["<unk>", *(word for word in whole.words if word not in {*kept, *MARKS})]
    for sentence in asked:
        *before, last = [word if word in kept else "<unk>" for word in sentence]
        same = others if last == "<unk>" else [last]
        expected = sum(last_prob(whole, [*before, word]) for word in same)
        assert last_prob(fewer, [*before, last]) == pytest.approx(expected, rel=1e-12)
        end = whole.score([[*before, last]]).log10_probs[-1]
        assert fewer.score([[*before, last]]).log10_probs[-1] == end


def test_a_file_without_unk_and_without_suffixes_gives_it_what_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.arpa"
    path.write_text(
        "\\data\\\nngram 1=5\nngram 2=2\nngram 3=1\n\n"
        "\\1-grams:\n-0.301030\t</s>\n-99\t<s>\t-0.1\n-0.903090\ta\t-0.2\n-0.903090\tb\t-0.3\n"
        "-0.602060\tc\n\n\\2-grams:\n-0.5\t<s> a\t-0.4\n-0.7\tb a\n\n"
        "\\3-grams:\n-0.25\t<s> a b\n\n\\end\\\n"  # `a b` is not listed
    )
    whole = read_arpa(path)
    fewer = limited_to({"a"}, whole)
    assert fewer.words == (*MARKS, "a")
    assert fewer.sizes == (4, 2, 1)  # <s> a; a <unk>; <s> a <unk>
    assert fewer.orders[0].log10_probs[0] == pytest.approx(np.log10(0.125 + 0.25), abs=1e-6)
    b, c = (last_prob(whole, ["a", word]) for word in "bc")
    assert last_prob(fewer, ["a", "<unk>"]) == pytest.approx(b + c, rel=1e-12)
    assert limited_to({"a", "b", "c"}, whole).sizes[0] == 5  # nothing goes, <unk> stays unlisted


def test_probabilities_of_four_decimals_never_make_unk_more_than_certain(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_text(
        "\\data\\\nngram 1=5\nngram 2=2\n\n\\1-grams:\n-0.6021\t</s>\n-99\t<s>\n"
        "-0.6021\ta\t-99\n-0.6021\tb\n-0.6021\tc\n\n"
        "\\2-grams:\n-0.5228\ta b\n-0.1549\ta c\n\n\\end\\\n"  # 0.300054 + 0.700003
    )
    write_arpa(limited_to({"a"}, read_arpa(tmp_path / "a.arpa")), tmp_path / "b.arpa")
    assert "\n0\ta <unk>\n" in (tmp_path / "b.arpa").read_text()
    assert last_prob(read_arpa(tmp_path / "b.arpa"), ["a", "c"]) == 1.0


def test_a_list_of_words_limits_a_file_for_other_programs(corpus_dir: Path, tmp_path: Path) -> None:
    whole, fewer, listed = (tmp_path / name for name in ("whole.arpa", "fewer.arpa", "words.txt"))
    train, test = corpus_dir / "train.txt", corpus_dir / "test.txt"
    ngram_baseline(train=train, order=3, out=whole)
    kept = sorted(set(train.read_text().split()))[::2]
    listed.write_text("\n".join([*kept, "nowhere"]))
    result = ngram_baseline(test, lm=whole, limit_vocab=listed, out=fewer)
    assert result.model.sizes[0] == len({*kept, *MARKS})
    assert result.model.lacking == ("nowhere",)
    assert "|limit-vocab:" in result.texts[0].signatures["sentence"]
    again = ngram_baseline(test, lm=fewer).texts[0].by_state["sentence"].ppl
    assert result.texts[0].by_state["sentence"].ppl == pytest.approx(again, rel=1e-5)
    with pytest.raises(ConfigError, match=r"^--limit-vocab: prunes no model on the disk, where l"):
        ngram_baseline(train=train, lmplz=sys.executable, limit_vocab=listed, out=fewer)
    listed.write_text("NOWHERE\n")
    with pytest.raises(ConfigError, match=r"words.txt: .*whole.arpa has none of its words; expect"):
        ngram_baseline(test, lm=whole, limit_vocab=listed)
