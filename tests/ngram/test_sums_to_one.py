"""The probabilities of all words after any context sum to 1, whatever the text."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from charlm.ngram.backoff import BackoffModel
from charlm.ngram.estimation import estimate
from charlm.ngram.word_ids import MARKS, START, WordIds, encode

LETTERS = "abcdef"
UNSEEN = ("owl", "fox", "emu")
PRUNINGS = ((0,), (0, 0, 1), (0, 1, 2), (0, 0, 0, 3), (1,), (2, 2, 3))

# Few words with a skewed distribution, so that counts above 1 occur in every order.
words = st.sampled_from("aaaabbbccddef")
sentences = st.lists(st.lists(words, max_size=8), min_size=1, max_size=25)


def assert_sums_to_one(model: BackoffModel, contexts: Sequence[Sequence[str]]) -> None:
    """Over all words but `<s>`, after each of `contexts`, sentence starts."""
    n_words = len(model.words)
    predicted = np.delete(np.arange(n_words, dtype=np.int32), START)
    for context in contexts:
        head = [START, *(model.word_ids[word] for word in context)]
        rows = [[*head, word] for word in predicted]
        scores = model.score_ids(np.array(rows, np.int32).ravel())
        last = scores.log10_probs.reshape(len(predicted), -1)[:, -1]
        assert abs(np.sum(10.0**last) - 1) < 1e-9


@settings(max_examples=150)
@given(
    text=sentences,
    order=st.integers(1, 6),
    prune=st.sampled_from(PRUNINGS),
    with_unk=st.booleans(),
    unseen=st.sampled_from([(), UNSEEN]),
    others=st.lists(st.lists(words, max_size=6), max_size=5),
)
def test_probabilities_of_every_context_sum_to_one(
    text: list[list[str]],
    order: int,
    prune: tuple[int, ...],
    with_unk: bool,
    unseen: tuple[str, ...],
    others: list[list[str]],
) -> None:
    if with_unk:
        text = [["<unk>" if word == "b" else word for word in each] for each in text]
    word_ids = WordIds((*MARKS, *unseen))
    ids = encode(text, word_ids)
    model = estimate(ids, words=word_ids.words, order=order, prune=prune[:order]).model
    heard = [each[:n] for each in text[:10] for n in range(len(each) + 1)]
    assert_sums_to_one(model, [*heard, *others, ["nobody", *LETTERS]])
