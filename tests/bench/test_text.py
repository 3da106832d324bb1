"""The generated text: fixed by its seed, with the whole vocabulary, as repetitive as real text."""

from pathlib import Path

import numpy as np

from charlm.bench.text import N_WORDS, corpus, sentences, spellings
from charlm.text.corpus.sentences import read_sentences
from charlm.text.vocabulary.vocabulary import inventory_of


def test_a_seed_gives_the_same_sentences_and_another_others() -> None:
    assert list(sentences(500, seed=1)) == list(sentences(500, seed=1))
    assert list(sentences(500, seed=1)) != list(sentences(500, seed=2))


def test_as_many_tokens_come_as_were_asked_for() -> None:
    assert sum(len(words) + 1 for words in sentences(1234)) in (1233, 1234)


def test_a_whole_text_has_every_word_and_as_many_as_the_penn_treebank() -> None:
    assert inventory_of(sentences(2000, is_full=True)).n_words == N_WORDS


def test_700_tokens_have_about_360_distinct_words_as_in_the_penn_treebank() -> None:
    drawn = [{w for words in sentences(700, seed=i) for w in words} for i in range(20)]
    assert 330 < np.mean([len(words) for words in drawn]) < 390


def test_frequent_words_are_short_and_none_is_longer_than_19_letters() -> None:
    lengths = [len(word) for word in spellings(5000)]
    assert np.mean(lengths[:100]) + 2 < np.mean(lengths[-1000:])
    assert max(lengths) <= 19


def test_the_made_corpus_has_three_texts_and_is_gone_afterwards() -> None:
    with corpus(None, n_tokens=1000) as folder:
        sizes = [len(list(read_sentences(folder / f"{s}.txt"))) for s in ("train", "valid", "test")]
        assert all(sizes)
    assert not folder.exists()


def test_a_corpus_that_is_given_is_taken_as_it_is(tmp_path: Path) -> None:
    with corpus(tmp_path, n_tokens=1000) as folder:
        assert folder == tmp_path
    assert tmp_path.exists()
