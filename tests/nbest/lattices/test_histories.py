"""What models read along the histories of a lattice."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from charlm.nbest.lattices.histories import History, ScorerHistories
from charlm.nbest.lattices.lattice import Lattice
from charlm.nbest.lattices.lattice_options import LatticeOptions
from charlm.nbest.lattices.rescore import rescore_with
from charlm.nbest.scorer import WordLogProbs, Words
from charlm.nbest.scorers import FunctionScorer, NgramScorer, SameWords
from charlm.ngram.estimation import estimate
from charlm.ngram.word_ids import WordIds, encode
from charlm.text.corpus.normalisation.normalisation import Normalisation
from charlm.text.corpus.tokens import END_WORD

Read = Callable[..., list[Lattice]]


def test_an_old_model_reads_labels_as_they_stand_and_new_ones_by_their_own_rules(
    read: Read,
) -> None:
    heard: dict[str, set[tuple[str, ...]]] = {"nn": set(), "old_lm": set()}

    def listening(name: str) -> ScorerHistories:
        def answer(sentences: Sequence[Sequence[str]]) -> list[list[float]]:
            heard[name].update(map(tuple, sentences))
            return [[-1.0] * len(s) + [-0.5] for s in sentences]

        return ScorerHistories(FunctionScorer(answer))

    options = LatticeOptions(
        rules=Normalisation(lower=True, split_hyphens=True),
        is_known=lambda token: token != "[laugh]",
        weights={"nn": 1.0, "old_lm": 1.0, "oov": -10.0},
        recombine=1,
    )
    models = {"nn": listening("nn"), "old_lm": listening("old_lm")}
    lattice = read("u\n0 1 WELL-KNOWN\n0 1 SO\n1 2 [laugh]\n2 3 <eps>\n3 4 E\n4\n\n")
    found = next(rescore_with(lattice, models, options=options))
    scores = {h.words: h.features for h in found.nbest.hypotheses}
    # Two or three words and an end; the labels are three, and an end, whatever the new model reads.
    assert scores["SO", "[laugh]", "E"]["nn"] == -2.5
    assert scores["WELL-KNOWN", "[laugh]", "E"]["nn"] == -3.5
    assert {found["old_lm"] for found in scores.values()} == {-3.5}
    assert ("WELL-KNOWN", "[laugh]", "E") in heard["old_lm"]
    assert {("so", "e"), ("well", "known", "e")} <= heard["nn"]
    assert not any("[laugh]" in words for words in heard["nn"])


@pytest.mark.parametrize("is_mixed", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_an_ngram_model_hears_no_words_before_its_context(order: int, is_mixed: bool) -> None:
    heard: list[Words] = []

    class Listening(NgramScorer):
        def score(self, sentences: Sequence[Words], *, memory: object = None) -> list[WordLogProbs]:
            heard.extend(sentences)
            return super().score(sentences, memory=memory)

    word_ids = WordIds()
    ids = encode([["a", "b", "a"], ["b", "a"], ["a"], ["b", "b", "a", "a"]], word_ids)
    scorer = Listening(estimate(ids, words=word_ids.words, order=order).model)
    words = ["a", "b", "new", "a", "b", "b", "a"]
    (whole,) = scorer.score([words])
    heard.clear()
    history, requests = History(), []
    for word in words:
        requests.append((history, word))
        history = history.then(word)
    guarded = SameWords(scorer, {"a", "b"}.__contains__, other="nn") if is_mixed else scorer
    found = ScorerHistories(guarded).log_probs([*requests, (history, END_WORD)])
    np.testing.assert_array_equal(found, whole.log_probs)
    assert max(map(len, heard)) == order
