"""chrF of single sentences against sacrebleu and by hand; of corpora: test_bleu.py."""

import numpy as np
import pytest
import sacrebleu

from charlm.nbest.metrics.chrf import ChrF

PAIRS = [("ab cab", "ab cáb"), ("a", "a"), ("ab", "cc"), ("", "a"), ("a", ""), ("", "")]
MARKED = [("(ab) ba, a.", "(ab ba , a ."), ("'a' -", "a' --"), ("ab... ¿ab?", "ab. «ab»")]


@pytest.mark.parametrize("of_words", [0, 2])
def test_a_sentence_alone_has_sacrebleus_sentence_chrf(of_words: int) -> None:
    chrf, pairs = ChrF(of_words=of_words), PAIRS + MARKED
    found = chrf.errors_alone(np.array(list(chrf.count(pairs))))
    wanted = [
        sacrebleu.sentence_chrf(own, [reference], word_order=of_words).score
        for reference, own in pairs
    ]
    assert (100 * (1 - found)).tolist() == pytest.approx(wanted, abs=1e-9)


def test_a_wrong_ending_costs_a_part_of_a_word() -> None:
    # By hand, "ab" for "ac": one of two letters and none of one pair; precision = recall = 1/4.
    assert ChrF().error(np.array(next(iter(ChrF().count([("ac", "ab")]))))) == pytest.approx(0.75)


@pytest.mark.parametrize("pluses", ["", "++"])
def test_the_signature_says_what_sacrebleus_says(pluses: str) -> None:
    metric = sacrebleu.CHRF(word_order=len(pluses))
    score = metric.corpus_score(["a"], [["a"]])
    name, _, rest = ChrF(of_words=len(pluses)).signature.partition("|beta:2|")
    assert (name, score.name) == (f"chrf{pluses}", f"chrF2{pluses}")
    assert rest == str(metric.get_signature())
