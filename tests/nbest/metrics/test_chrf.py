"""chrF from summed counts: sacrebleu's figure for any choice and for single sentences."""

import numpy as np
import pytest
import sacrebleu

from charlm.nbest.hypotheses import Hypothesis, NbestList
from charlm.nbest.metrics.chrf import ChrF
from charlm.nbest.metrics.metric_names import metric_named

LETTERS = list("aábc.")


def random_lists(seed: int, *, n_lists: int) -> tuple[list[NbestList], dict[str, tuple[str, ...]]]:
    """Lists of four hypotheses; some texts are empty or shorter than the longest n-grams."""
    generator = np.random.default_rng(seed)

    def text() -> tuple[str, ...]:
        sizes = generator.integers(1, 5, size=generator.integers(0, 6)).tolist()
        return tuple("".join(generator.choice(LETTERS, size=size)) for size in sizes)

    lists = [
        NbestList(str(number), tuple(Hypothesis(text(), {}, "x:1") for _ in range(4)))
        for number in range(n_lists)
    ]
    return lists, {nbest.id: text() for nbest in lists}


@pytest.mark.parametrize("seed", range(8))
def test_summed_counts_give_sacrebleus_corpus_chrf_for_every_choice(seed: int) -> None:
    lists, references = random_lists(seed, n_lists=1 + 2 * seed)
    metric = metric_named("chrf")
    statistics = metric.statistics(lists, references)
    for rank in range(4):
        sums_K = np.sum([counts_HK[rank] for counts_HK in statistics], axis=0)
        wanted = sacrebleu.corpus_chrf(
            [" ".join(nbest.hypotheses[rank].words) for nbest in lists],
            [[" ".join(references[nbest.id]) for nbest in lists]],
        )
        assert 100 * (1 - metric.error(sums_K)) == pytest.approx(wanted.score, abs=1e-9)


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
