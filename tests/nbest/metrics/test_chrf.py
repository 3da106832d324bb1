"""chrF of single sentences against sacrebleu and by hand; of corpora: test_bleu.py."""

import numpy as np
import pytest
import sacrebleu

from charlm.nbest.metrics.chrf import ChrF


def test_a_sentence_alone_has_sacrebleus_sentence_chrf() -> None:
    pairs = [("ab cab", "ab cáb"), ("a", "a"), ("ab", "cc"), ("", "a"), ("a", ""), ("", "")]
    found = ChrF().errors_alone(np.array(list(ChrF().count(pairs))))
    wanted = [sacrebleu.sentence_chrf(own, [reference]).score for reference, own in pairs]
    assert (100 * (1 - found)).tolist() == pytest.approx(wanted, abs=1e-9)


def test_a_wrong_ending_costs_a_part_of_a_word() -> None:
    # By hand, "ab" for "ac": one of two letters and none of one pair; precision = recall = 1/4.
    assert ChrF().error(np.array(next(iter(ChrF().count([("ac", "ab")]))))) == pytest.approx(0.75)


def test_the_signature_says_what_sacrebleus_says() -> None:
    metric = sacrebleu.CHRF()
    score = metric.corpus_score(["a"], [["a"]])
    name, _, rest = ChrF().signature.partition("|beta:2|")
    assert (name, score.name, rest) == ("chrf", "chrF2", str(metric.get_signature()))
