"""A model's distributions along a text, and averages over histories: against slow loops."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch

from charlm.errors import DataError
from charlm.ngram.estimation import estimate
from charlm.ngram.reshaping.ngram_set import Closure, context_rows, extended, union
from charlm.ngram.word_ids import END as NGRAM_END
from charlm.ngram.word_ids import START, words_of
from charlm.run.stored_weights import load_run
from charlm.scoring.export import averages_over_text
from charlm.scoring.export.averages_over_text import (
    StreamModel,
    distributions,
    drawn_followers,
    ngram_ids,
    ngram_numbers,
    sampled_text,
)
from charlm.scoring.export.history_averages import PRIOR, HistoryAverages
from charlm.scoring.likelihood.nll import FormVectors, sentence_nlls
from charlm.text.corpus.tokens import END, UNK

TEXT = [[4, 5, 2, 3], [2, 1], [], [4, 5, 2, 2, 3], [4, 5]]
IDS = np.array([number for words in TEXT for number in (*words, END)], np.int32)

Gram = tuple[int, ...]


@pytest.fixture
def vectors(tiny_run: Path) -> FormVectors:
    run = load_run(tiny_run)
    return FormVectors(run.model, run.inventory)


def model_of(vectors: FormVectors, *, carries_state: bool) -> StreamModel:
    return StreamModel(vectors, carries_state, "exp/a")


def closure_of(vectors: FormVectors, *, order: int = 3) -> Closure:
    words = words_of(vectors.inventory)
    return union([estimate(ngram_ids(IDS), words=words, order=order).model])


def grams_of(closure: Closure) -> list[list[Gram]]:
    """The n-grams of each order as words."""
    results: list[list[Gram]] = [[(word,) for word in range(len(closure.words))]]
    for n in range(2, closure.order + 1):
        contexts = closure.contexts(n).tolist()
        lasts = closure.last_words(n).tolist()
        results.append(
            [(*results[-1][row], word) for row, word in zip(contexts, lasts, strict=True)]
        )
    return results


def test_ids_of_both_kinds_of_model_stand_for_the_same_words(vectors: FormVectors) -> None:
    words = words_of(vectors.inventory)
    numbers = ngram_numbers(vectors.inventory.n_words)
    asked = np.array([UNK, 5, END, END], np.int32)
    shown = [words[number] for number in ngram_ids(asked)]
    assert shown == ["<s>", "<unk>", vectors.inventory.words[5], "</s>", "<s>", "</s>"]
    assert [words[number] for number in numbers] == list(vectors.inventory.words)


@pytest.mark.parametrize("n_streams", [1, 3, 1000])
def test_distributions_without_a_carried_state_are_those_of_the_sentences(
    vectors: FormVectors, n_streams: int
) -> None:
    model = model_of(vectors, carries_state=False)
    sentences = [np.array([*words, END], np.int32) for words in TEXT]
    expected = np.concatenate(sentence_nlls(vectors, sentences, spellings=[]))
    found: dict[int, float] = {}
    length = -(-len(IDS) // min(n_streams, len(IDS)))
    firsts: list[int] = []
    for t, (_, probs_BV) in enumerate(distributions(model, IDS, n_streams=n_streams)):
        for row in range(len(probs_BV)):
            place = row * length + t
            found[place] = -float(probs_BV[row, IDS[place]].log())
            if t == 0 and (place == 0 or IDS[place - 1] == END):
                firsts.append(place)
    assert sorted(found) == list(range(len(IDS)))
    # A stream that begins inside a sentence does not know the words before it.
    known = [place for place in found if _is_known(place, length)]
    assert len(known) >= len(IDS) // 2 or n_streams == 1000
    for place in known:
        assert found[place] == pytest.approx(float(expected[place]), abs=1e-5)


def _is_known(place: int, length: int) -> bool:
    """Whether the begin of the sentence lies in the same stream."""
    ends = np.flatnonzero(IDS[:place] == END)
    begin = int(ends[-1]) + 1 if len(ends) else 0
    return begin // length == place // length


def slow_averages(vectors: FormVectors, closure: Closure) -> dict[Gram, tuple[float, int]]:
    """Sum of P(w | history) and number of positions for each n-gram: one position at a time."""
    model = vectors.model
    numbers = ngram_numbers(vectors.inventory.n_words).tolist()
    sums: dict[Gram, list[float]] = defaultdict(list)
    with torch.no_grad():
        state, before = model.context.initial_state(1), END
        history: list[int] = []
        for word in ngram_ids(IDS).tolist():
            if word == START:
                history = [START]
                continue
            x_TBE = vectors.vocabulary_VE[before][None, None]
            h_TBH, state = model.context(x_TBE, state)
            probs = model.output.log_probs(h_TBH[0])[0].exp().tolist()
            for grams in grams_of(closure):
                for gram in grams:
                    n_before = len(gram) - 1
                    if gram[-1] != START and list(gram[:-1]) == history[len(history) - n_before :]:
                        sums[gram].append(probs[numbers.index(gram[-1])])
            history.append(word)
            before = numbers.index(word)
    return {gram: (sum(each), len(each)) for gram, each in sums.items()}


def test_averages_are_means_over_all_positions_behind_a_context(vectors: FormVectors) -> None:
    closure = closure_of(vectors)
    averages = HistoryAverages(closure)
    model = model_of(vectors, carries_state=True)
    n_read: list[int] = []
    averages.add_text(distributions(model, IDS, n_streams=1), on_tokens=n_read.append)
    assert n_read == list(range(1, len(IDS) + 1))
    prior = [np.full(len(level), -1.0) for level in closure.levels]
    found = averages.log10_probs(prior)
    slow = slow_averages(vectors, closure)
    n_compared = 0
    for grams, log10s in zip(grams_of(closure), found, strict=True):
        for gram, log10 in zip(grams, log10s, strict=True):
            total, n = slow.get(gram, (0.0, 0))
            if gram[-1] != START:
                expected = (total + PRIOR * 0.1) / (n + PRIOR)
                assert 10**log10 == pytest.approx(expected, abs=1e-6), gram
                n_compared += n > 0
    assert n_compared > 25


def test_of_a_frequent_context_so_many_occurrences_are_taken(vectors: FormVectors) -> None:
    closure = closure_of(vectors, order=2)
    averages = HistoryAverages(closure, most=2)
    steps = distributions(model_of(vectors, carries_state=True), IDS, n_streams=1)
    averages.add_text(steps, on_tokens=[].append)
    assert averages.n_occurrences[0].tolist() == [len(IDS)]
    assert averages.n_occurrences[1].max() == 2
    begins = closure.contexts(2) == START
    assert averages.sums[1][begins].sum() <= 2.0


def test_a_text_in_several_streams_has_nearly_the_same_contexts(vectors: FormVectors) -> None:
    closure = closure_of(vectors)
    model = model_of(vectors, carries_state=True)
    counts = []
    for n_streams in (1, 2):
        averages = HistoryAverages(closure)
        averages.add_text(distributions(model, IDS, n_streams=n_streams), on_tokens=[].append)
        counts.append(averages.n_occurrences)
    for one, two in zip(*counts, strict=True):
        assert (two <= one).all()
        assert one.sum() - two.sum() <= 1  # one context of two words is cut


def test_context_rows_are_the_words_before_each_position(vectors: FormVectors) -> None:
    closure = closure_of(vectors, order=4)
    grams, ids = grams_of(closure), ngram_ids(IDS)
    histories: list[Gram] = []
    for word in ids.tolist():
        if word == START:
            history: Gram = (START,)
            continue
        histories.append(history)
        history = (*history, word)
    found = context_rows(closure, ids)
    assert len(found) == 3
    for length, rows in enumerate(found, 1):
        shown = [grams[length - 1][row] if row >= 0 else None for row in rows]
        expected = [
            each[-length:] if len(each) >= length and each[-length:] in grams[length - 1] else None
            for each in histories
        ]
        assert shown == expected


def test_a_closure_is_extended_by_n_grams_in_its_own_numbering(vectors: FormVectors) -> None:
    closure = closure_of(vectors, order=4)
    n_words = len(closure.words)
    before = grams_of(closure)
    new_bigrams = np.array([0 * n_words + 9, 4 * n_words + NGRAM_END, 9 * n_words + 9], np.int64)
    row = before[1].index((5, 6))
    suffix = np.array([6 * n_words + 9], np.int64)
    trigram = np.array([row * n_words + 9], np.int64)
    additions = [np.empty(0, np.int64), np.concatenate([new_bigrams, suffix]), trigram]
    additions.append(np.empty(0, np.int64))
    after = grams_of(extended(closure, additions))
    assert set(after[1]) == {*before[1], (0, 9), (4, NGRAM_END), (9, 9), (6, 9)}
    assert set(after[2]) == {*before[2], (5, 6, 9)}
    assert after[3] == before[3] != []
    assert after[1] == sorted(after[1])
    wanted = extended(closure, additions)
    for n in (2, 3, 4):
        below = after[n - 2]
        for gram, suffix_row in zip(after[n - 1], wanted.levels[n - 1].suffixes, strict=True):
            assert below[suffix_row] == gram[1:]


def test_an_n_gram_without_its_suffix_extends_nothing(vectors: FormVectors) -> None:
    closure = closure_of(vectors)
    row = grams_of(closure)[1].index((5, 6))
    trigram = np.array([row * len(closure.words) + 9], np.int64)
    with pytest.raises(ValueError, match="suffix"):
        extended(closure, [np.empty(0, np.int64), np.empty(0, np.int64), trigram])


def test_followers_come_as_often_as_the_model_says(vectors: FormVectors) -> None:
    model = model_of(vectors, carries_state=True)
    n_drawn = 1000
    drawn = drawn_followers(model, IDS, n_drawn=n_drawn, seed=3, on_tokens=[].append, n_streams=2)
    assert drawn.shape == (len(IDS), n_drawn)
    length = -(-len(IDS) // 2)
    for t, (_, probs_BV) in enumerate(distributions(model, IDS, n_streams=2)):
        for row, probs in enumerate(probs_BV.numpy()):
            counts = np.bincount(drawn[row * length + t], minlength=len(probs))
            assert np.abs(counts - n_drawn * probs).max() < 1.01  # one number decides all draws


def test_sampled_text_is_whole_sentences_of_the_model(
    vectors: FormVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(averages_over_text, "LEAST_LENGTH", 200)
    told: list[int] = []
    model = model_of(vectors, carries_state=True)
    ids = sampled_text(model, 500, seed=1, on_tokens=told.append)
    assert ids[-1] == END
    assert 400 < len(ids) <= 500
    assert told == list(range(2, 501, 2))  # two streams
    assert (ids == sampled_text(model, 500, seed=1, on_tokens=[].append)).all()
    other = sampled_text(model, 500, seed=2, on_tokens=[].append)
    assert len(other) != len(ids) or (other != ids).any()


def test_a_model_that_ends_no_sentence_is_told(vectors: FormVectors) -> None:
    with torch.no_grad():
        vectors.model.output.words.bias[END] = -1e9
    model = model_of(vectors, carries_state=False)
    with pytest.raises(DataError) as caught:
        sampled_text(model, 30, seed=1, on_tokens=[].append)
    assert str(caught.value) == (
        "exp/a: ended no sentence in 30 tokens; expected sentences; draw more tokens, or train it "
        "longer"
    )
